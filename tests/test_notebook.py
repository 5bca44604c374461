"""The notebooks of the docs run from their first cell to their last."""

import json
from pathlib import Path

import matplotlib as mpl
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_runs_and_shows_what_it_showed(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mpl.use("agg")
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    names: dict[str, object] = {}
    for cell in cells:
        exec(compile("".join(cell["source"]), path.name, "exec"), names)  # a cell after the other, as Jupyter does
        told = capsys.readouterr().out
        shown = "".join(
            "".join(output.get("text", "")) for output in cell["outputs"] if output["output_type"] == "stream"
        )
        assert told.splitlines()[:1] == shown.splitlines()[:1]
    assert all(cell["outputs"] or "import" in "".join(cell["source"]) for cell in cells)
