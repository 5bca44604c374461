"""A compiled game in the Python that its kernels are written in: what is out of bounds raises, with its line.

Compiled code does not look at indices, so one that is out of bounds reads or overwrites whatever lies there.
"""

import copy
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import CellType, CodeType, FunctionType, TracebackType
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from games import bits
from games.compiled import CompiledGame

_HERE, _GAMES = Path(__file__).parent, Path(__file__).parents[1]
_HELPERS = {
    str(_GAMES / f"{name}.py") for name in ("batches", "bits", "compiled", "dividing", "game", "hands", "histories")
}
"""Files that call a game's kernels, or that they call: a mistake is seldom there."""


def plain(game: CompiledGame) -> CompiledGame:
    """The same game on its kernels uncompiled; ``TypeError`` also for a set of cards that is no ``int64``. Kernels that
    its methods call by themselves stay compiled."""
    written, made = copy.copy(game), dict[Any, Any]()
    loops: Any = copy.copy(game.loops)
    for name, loop in vars(loops).items():
        setattr(loops, name, _plain(loop, made))
    written.loops = loops  # type: ignore[misc]
    features = {name: replace(each, fill=_plain(each.fill, made)) for name, each in game.features.items()}
    written.features = features
    return written


def place_of(trace: TracebackType | None) -> str:
    """The file, line and function where an error is seen, the game's own if it is in a helper."""
    frames = traceback.extract_tb(trace)
    helps = [frame.filename in _HELPERS or Path(frame.filename).parent == _HERE for frame in frames]
    own = [frame for frame, help_ in zip(frames, helps, strict=True) if not help_] or frames
    return f"{own[-1].filename}, line {own[-1].lineno}, in {own[-1].name}"


def _plain(value: Any, made: dict[Any, Any]) -> Any:
    """A kernel as a function that calls others as functions; any other value as it is."""
    if not isinstance(value, Dispatcher):
        return value
    if value not in made:
        function = value.py_func
        names = _names(function.__code__)
        known = {name: each for name, each in function.__globals__.items() if name in names or name.startswith("__")}
        cells = tuple(CellType(_plain(cell.cell_contents, made)) for cell in function.__closure__ or ())
        made[value] = FunctionType(function.__code__, known, function.__name__, function.__defaults__, cells)
        known |= {name: _plain(each, made) for name, each in known.items()}  # later: a kernel may call itself
        if function.__module__ == bits.__name__ and function.__code__.co_varnames[:1] == ("cards",):
            made[value] = _of_int64(made[value])
    return made[value]


def _names(code: CodeType) -> set[str]:
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inner)


def _of_int64(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a set of cards that looks at its type."""

    def checked(cards: Any, *others: Any) -> Any:
        if isinstance(cards, np.generic) and cards.dtype != np.int64:
            raise TypeError(f"{function.__name__} is given a set of cards that is {cards.dtype}; sets are int64")
        return function(cards, *others)

    return checked
