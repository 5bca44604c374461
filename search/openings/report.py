"""What first actions are worth: the record, and the table."""

from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from search.openings.measure import OpeningValue
from search.recorded import Recorded


@dataclass(frozen=True)
class OpeningsResult(Recorded):
    """Everything worth keeping."""

    WHAT = "openings"

    game: str
    game_options: dict[str, bool | int | str]
    deals: int
    seed: int
    actions: tuple[OpeningValue, ...]
    """As ``by_action`` orders them."""
    settings: dict[str, Any]
    """Path and id of the checkpoint, engine settings."""

    @property
    def depends_on(self) -> dict[str, Any]:
        """See ``Recorded``."""
        own = {name: getattr(self, name) for name in ("game", "game_options", "deals", "seed")}
        checkpoint, engine = self.settings["checkpoint"], self.settings["engine"]
        return {**own, "checkpoint": checkpoint["id"], "engine.precision": engine["precision"]}


def title(result: OpeningsResult) -> str:
    """Game and size."""
    return f"first decisions in {result.game}: {result.deals} deals"


def render(result: OpeningsResult) -> RenderableType:
    """The result as rich prints it: a row for each action."""
    table = Table(title=title(result))
    table.add_column("action")
    for heading in ("deals", "points", "95 %", "variance"):
        table.add_column(heading, justify="right", no_wrap=True)
    for value in result.actions:
        ends = "-" if value.low is None or value.high is None else f"{value.low:z.2f}..{value.high:z.2f}"
        variance = "-" if value.variance is None else f"{value.variance:.2f}"
        table.add_row(Text(value.action), str(value.deals), f"{value.mean:z.2f}", ends, variance)
    told = "points that the network, told all cards, expects the seat to make (minus q): mean and variance over deals"
    return Group(table, Text(told))
