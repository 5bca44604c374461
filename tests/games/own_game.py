"""The game of docs/own_game.md, as the page has it."""

import hashlib
import importlib.util
import os
import re
import sys
import tempfile
from pathlib import Path
from types import ModuleType

_FOLDER = tempfile.TemporaryDirectory(prefix="own-game-")
PAGE = Path(__file__).parents[2] / "docs" / "own_game.md"


def source() -> str:
    """The blocks of the page, one behind the other."""
    return "\n\n".join(
        re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    )


def module(before: str = "", after: str = "") -> ModuleType:
    """The page as a module, with one text in place of another; ``own_game`` if nothing is changed.

    Machine code is kept by content and by the time of the file, which is therefore the same always.
    """
    text = source()
    assert before in text, before
    name = f"own_game_{hashlib.blake2b(after.encode(), digest_size=4).hexdigest()}" if after else "own_game"
    file = Path(_FOLDER.name) / name / f"{name}.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text.replace(before, after, 1), encoding="utf-8")
    os.utime(file, (0, 0))
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec and spec.loader
    made = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
