"""Text files of boards: a line for each row, the topmost first, a digit for each tile's colour from 0; empty lines
between boards, ``#`` before remarks."""

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

_OWN = Path(__file__).parent / "boards"
BOARDS = ("random", "balanced", "dominant")
"""What needs no file."""
_MAX_BYTES = 10_000_000


def find(name: str) -> Path:
    """The file of this name: one of ours, without its ending, or a path. ``ValueError`` where there is none."""
    own = _OWN / f"{name}.txt"
    path = own if own.is_file() else Path(name)
    if not path.is_file():
        ours = ", ".join(sorted(file.stem for file in _OWN.glob("*.txt")))
        raise ValueError(
            f"samegame option boards={name}: no such file; give random, balanced, dominant, {ours} or the path of a "
            "text file"
        )
    return path


def read(path: Path, rows: int, columns: int, colours: int) -> np.ndarray:
    """``int8[D, N]``: the boards of a file, 1 + colour, cells as ``games.samegame.board`` counts them. ``ValueError``
    naming file and line of what is no board of this size."""
    boards, above = list[np.ndarray](), list[list[int]]()
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: is no text file ({error})") from error
    for number, line in enumerate([*lines, ""], 1):
        text = line.partition("#")[0].strip()
        if text:
            above.append(_row(f"{path}, line {number}", text, columns, colours))
        elif above and not line.strip():
            if len(above) != rows:
                raise ValueError(f"{path}, line {number}: a board of {len(above)} rows ends here; rows={rows}")
            boards.append(np.array(above[::-1], np.int8).T.ravel() + 1)
            above = []
    if not boards:
        raise ValueError(f"{path}: holds no board")
    return np.stack(boards)


def digest(path: Path) -> str:
    """16 hex digits of a file's bytes."""
    return hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()


def check_recorded(file: str, options: Mapping[str, Any]) -> None:
    """``ValueError`` where options that stand in a ``file`` name another, unless its digest beside it says that whoever
    wrote them had the same one: else a file from anywhere could have any file opened here."""
    boards = str(options.get("boards", BOARDS[0]))
    if boards in BOARDS or (re.fullmatch(r"\w+", boards) and (_OWN / f"{boards}.txt").is_file()):
        return
    with suppress(OSError, ValueError):
        path = find(boards)
        if path.stat().st_size <= _MAX_BYTES and digest(path) == options.get("boards_digest"):
            return
    raise ValueError(
        f"{file}: names the boards in {boards[:80]!r}; a file may do so only with their boards_digest, and that is not "
        "of such a file here"
    )


def with_digest(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as ``check_recorded`` wants them."""
    boards = options.get("boards", BOARDS[0])
    return dict(options) if boards in BOARDS else {**options, "boards_digest": digest(find(str(boards)))}


def _row(place: str, text: str, columns: int, colours: int) -> list[int]:
    if len(text) != columns:
        raise ValueError(f"{place}: has {len(text)} tiles; columns={columns}")
    for cell, sign in enumerate(text, 1):
        if sign in ". ":
            raise ValueError(
                f"{place}: cell {cell} is empty; a board is full when it is dealt, no tile floats above it"
            )
        if not ("0" <= sign <= "8" and int(sign) < colours):
            raise ValueError(f"{place}: {sign!r} is no colour; colours={colours} are 0 to {colours - 1}")
    return [int(sign) for sign in text]
