"""Result of a measurement of values: its record, and its table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from games.game import Game
from search.arena.recorded import Recorded
from search.arena.values.measure import Estimate, Part

_POINTS, _AHEAD, _UTILITY = "points", "points ahead of the mean of the others", "units of the utility"


@dataclass(frozen=True)
class ValuesResult(Recorded):
    """A measurement with its settings."""

    WHAT = "a measurement of values"

    utility: str
    """Name of the utility of values and reference."""
    unit: str
    """Unit of printed regrets."""
    unit_per_utility: float
    """Units per 1 of the utility; ``parts`` hold regrets in units of the utility."""
    player: str
    """Player of the deals."""
    playouts: str
    """Player of the playouts."""
    worlds: int
    seed: int
    parts: tuple[Part, ...]
    """Thirds of the deal, then all."""
    settings: dict[str, Any]
    """All else that the figures depend on: networks, number of decisions, grid, search and engine settings."""

    @property
    def baseline(self) -> str:
        """Name of the ArgmaxVal* that players are compared with: the first one."""
        return next(name for name in self.parts[-1].regrets if name.startswith("argmax_val"))

    @property
    def depends_on(self) -> dict[str, Any]:
        """See ``Recorded``."""
        names = ("game", "game_options", "utility", "player", "playouts", "worlds", "seed")
        return {**self.settings, **{name: getattr(self, name) for name in names}}


def unit_of(game: Game, utility: np.ndarray) -> tuple[str, float]:
    """Unit for a utility (``float32[K]``): its name, and the number of units in 1 of the utility.

    Points if the utility is linear in a seat's own points; the lead if it is linear in the lead over the mean of the
    others (equation 4 of paper 001: 26 of them); else the utility's own unit.
    """
    points = game.outcomes.points.astype(np.float64)
    own, others = points[:, 0], points[:, 1:].sum(axis=1) / max(points.shape[1] - 1, 1)
    for name, amount in ((_POINTS, own), (_AHEAD, own - others)):
        slope = _slope(utility.astype(np.float64), amount)
        if slope:
            return name, abs(slope)
    return _UTILITY, 1.0


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    """The slope of y over x where all lie on one line, else 0."""
    x, y = x - x.mean(), y - y.mean()
    slope = float((x * y).sum() / max((x * x).sum(), 1e-12))
    return slope if np.allclose(slope * x, y, atol=1e-3) else 0.0


def render(result: ValuesResult) -> RenderableType:
    """The result as rich prints it: correlation and R2, then the regret of every way to choose."""
    parts = result.parts
    table = Table(title=f"values in {result.game}: {parts[-1].decisions} decisions, {result.worlds} worlds each")
    table.add_column("with 95 % intervals", overflow="fold")
    for part in parts:
        table.add_column(part.name, justify="right", no_wrap=True)

    def row(name: str, cell: Callable[[Part], str], end: bool = False) -> None:
        table.add_row(name, *(cell(part) for part in parts), end_section=end)

    row("decisions", lambda part: str(part.decisions))
    row("legal actions", lambda part: f"{part.actions:.1f}", end=True)
    row("correlation within decisions", lambda part: _written(part.correlation))
    row("  at most", lambda part: _number(part.correlation_at_most))
    row("R2 of single playouts", lambda part: _written(part.r2))
    row("  at most", lambda part: _number(part.r2_at_most), end=True)
    table.add_row("regret of choosing", *([""] * len(parts)))
    scale, digits = result.unit_per_utility, 2 if result.unit_per_utility > 1 else 4
    for name in parts[-1].regrets:
        row(f"  {name}", lambda part, name=name: _written(part.regrets[name], scale, digits))  # type: ignore[misc]
    if parts[-1].gains:
        table.add_section()
        table.add_row(f"less regret than {result.baseline}", *([""] * len(parts)))
    for name in parts[-1].gains:
        row(f"  {name}", lambda part, name=name: _written(part.gains[name], scale, digits))  # type: ignore[misc]
    note = f"regret in {result.unit}; deals by {result.player}, worlds played out by {result.playouts}"
    return Group(table, Text(note))


def _written(estimate: Estimate, scale: float = 1.0, digits: int = 2) -> str:
    """``value ± half the interval``; ``-`` for an unknown one. Of a game that is won or lost decisions differ by
    thousandths, which takes four ``digits``."""
    if estimate.value is None:
        return "-"
    text = _number(scale * estimate.value, digits)
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} ± {_number(scale * (estimate.high - estimate.low) / 2, digits)}"


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:z.{digits}f}"
