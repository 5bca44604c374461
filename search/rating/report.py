"""A table of ratings for people to read."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from search.rating.ratings import RatedPlayer, Ratings
from search.tournament.report import interval, signed
from search.tournament.seatings import PAIRS


def render(ratings: Ratings) -> RenderableType:
    """The table as rich prints it, and below it how likely each player is stronger than each other one."""
    table = Table(title=title(ratings))
    table.add_column("")
    table.add_column("player", overflow="fold")
    for heading in ("rating", "s.e.", "score", "points ahead", "95 %", "ms a turn"):
        table.add_column(heading, justify="right", no_wrap=True)
    for place, rated in enumerate(ratings.players, 1):
        table.add_row(
            str(place),
            Text(label(rated)),
            f"{rated.rating:z.0f}",
            f"{rated.standard_error:.0f}",
            f"{rated.score:.1%}",
            signed(rated.ahead),
            interval(rated.low, rated.high),
            f"{1000 * rated.seconds_per_turn:.3g}",
        )
    return Group(table, _superiority(ratings))


def _superiority(ratings: Ratings) -> Table:
    """The likelihood that each player is stronger than each other one, per cent."""
    table = Table(title="row stronger than column, %")
    table.add_column("")
    for place in range(len(ratings.players)):
        table.add_column(str(place + 1), justify="right", no_wrap=True)
    for place, row in enumerate(ratings.between("superiority")):
        table.add_row(str(place + 1), *("" if value != value else f"{100 * value:.1f}" for value in row))
    return table


def label(rated: RatedPlayer) -> str:
    """What a player is called, with a mark if it looks at cards that it should not see."""
    return f"{rated.player} (sees hidden cards)" if rated.sees_hidden else rated.player


def title(ratings: Ratings, with_zero: bool = True) -> str:
    """Game, size, and where 0 is."""
    zero = f"; {ratings.anchor or 'the mean'} is 0" if with_zero else ""
    each = ", North/South against East/West" if ratings.seating == PAIRS else ""
    return f"{ratings.game}: {len(ratings.players)} players, {ratings.deals} deals a pair{each}{zero}"
