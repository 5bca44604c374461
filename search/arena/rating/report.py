"""Ratings as a table, and pictures as PNG files."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from search.arena.rating.ratings import RatedPlayer, Ratings
from search.arena.tournament.pictures import draw_heat_map, draw_leads, png
from search.arena.tournament.report import interval, signed
from search.arena.tournament.seatings import PAIRS


def render(ratings: Ratings) -> RenderableType:
    """The table as rich prints it, and below it the likelihood that each player is stronger than each other one."""
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
    """A player's name, with a mark if it sees hidden cards."""
    return f"{rated.player} (sees hidden cards)" if rated.sees_hidden else rated.player


def title(ratings: Ratings, with_zero: bool = True) -> str:
    """Title: game, size, and the zero point."""
    zero = f"; {ratings.anchor or 'the mean'} is 0" if with_zero else ""
    each = ", North/South against East/West" if ratings.seating == PAIRS else ""
    return f"{ratings.game}: {len(ratings.players)} players, {ratings.deals} deals a pair{each}{zero}"


def heat_map(ratings: Ratings) -> bytes:
    """Points a hand that each player is ahead of each other one, best player first."""
    names = [label(rated) for rated in ratings.players]
    columns = [str(place + 1) for place in range(len(names))]
    rows = [f"{name}  {column}" for name, column in zip(names, columns, strict=True)]
    ahead = ratings.between("ahead")
    return draw_heat_map(ahead, rows, columns, ("", "against"), title(ratings, with_zero=False), around_zero=True)


def leads(ratings: Ratings, player: str = "") -> bytes:
    """Leads of one player over each other one, best player first (paper 002, Figure 3).

    Args:
        player: the leading player; empty for the best.
    """
    rated = next(one for one in ratings.players if player in ("", one.player))
    found = ratings.leads(rated.player)
    names = [label(other) for other in ratings.players if other is not rated]
    heading = f"{label(rated)} against each\n{title(ratings, with_zero=False)}"
    return draw_leads([f"against {name}" for name in names], found, heading)


def strength(ratings: Ratings) -> bytes:
    """Rating against time a turn, with bars of one standard error; players are numbered as in the table."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 5), layout="constrained")
    axes = figure.add_subplot()
    for place, rated in enumerate(ratings.players, 1):
        at, colour = (1000 * rated.seconds_per_turn, rated.rating), f"C{place - 1}"
        axes.errorbar(*at, rated.standard_error, fmt="o", color=colour, capsize=3, label=f"{place}  {label(rated)}")
        axes.annotate(str(place), at, (6, 4), textcoords="offset points", fontsize="small")
    figure.legend(loc="outside right upper", fontsize="small")
    axes.set_xscale("log")
    axes.margins(x=0.1)
    axes.grid(alpha=0.3)
    axes.set_xlabel("time a turn, ms")
    axes.set_ylabel("rating")
    axes.set_title(title(ratings), fontsize="medium", wrap=True)
    return png(figure)
