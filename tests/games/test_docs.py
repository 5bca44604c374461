"""The generated pages say what the code says."""

from pathlib import Path

import pytest
import yaml

from games.docs import PAGES, main, page
from games.registry import make_game

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("name", PAGES)
def test_the_committed_page_is_what_the_code_gives(name: str) -> None:
    game = make_game(*PAGES[name])
    committed = (ROOT / "docs" / "games" / f"{name}.md").read_text(encoding="utf-8")
    assert committed == page(game), "run python -m games.docs"


def test_every_token_is_on_the_page_of_hearts() -> None:
    text = page(make_game("hearts"))
    assert all(f"`{name}`" in text for name in make_game("hearts").vocabulary.names)


def test_the_check_notices_a_page_out_of_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--directory", str(tmp_path)]) == 0
    assert main(["--check", "--directory", str(tmp_path)]) == 0
    (tmp_path / "hearts.md").write_text("older")
    assert main(["--check", "--directory", str(tmp_path)]) == 1
    assert str(tmp_path / "hearts.md") in capsys.readouterr().err


@pytest.mark.parametrize("name", PAGES)
def test_the_config_of_the_game_gives_the_game_of_the_page(name: str) -> None:
    config = yaml.safe_load((ROOT / "conf" / "game" / f"{name}.yaml").read_text(encoding="utf-8"))
    game, documented = make_game(config["name"], config["options"]), make_game(*PAGES[name])
    assert (game.name, game.options) == (documented.name, documented.options)
