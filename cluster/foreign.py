"""Checks of foreign files and names, so that they harm nobody who reads or prints them. Imports no module of ours."""

import json
from typing import Any

LONGEST_NAME = 80
"""Letters of a name or an ID that are shown."""


def parse_json(text: str | bytes) -> Any:
    """A JSON value; ``ValueError`` also for one that is nested too deeply to be read."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def check_format(found: Any, reads: int) -> None:
    """``ValueError`` for the ``format`` number of a file that is not the one that this program reads. Whatever is
    written to be read again has one, which is increased when the meaning of what is written changes."""
    if type(found) is not int or found != reads:
        said = "no format number" if found is None else f"format {shown(found)}"
        raise ValueError(f"{said}: this program reads format {reads}")


def stays_below(name: str) -> bool:
    """Whether a name of a file, its parts apart by slashes, leads to below the directory that it is taken for."""
    return not {"", ".", ".."} & {*name.split("/")} and not {"\\", "\0"} & {*name}


def printable(text: object, kept: str = "") -> str:
    """Text without characters that would do something to a terminal, or hide in it, but for those that are ``kept``."""
    return "".join(one if one.isprintable() or one in kept else "?" for one in str(text))


def shown(text: object, longest: int = LONGEST_NAME) -> str:
    """``printable`` text, no longer than a page or a table can show."""
    whole = str(text)
    return printable(whole if len(whole) <= longest else f"{whole[: longest - 1]}…")
