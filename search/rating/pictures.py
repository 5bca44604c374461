"""Pictures of a round robin, as PNG files."""

from search.rating.ratings import Ratings
from search.rating.report import label, title
from search.tournament.pictures import draw_heat_map, draw_leads, png


def heat_map(ratings: Ratings) -> bytes:
    """Points a hand that each player is ahead of each other one, best player first."""
    names = [label(rated) for rated in ratings.players]
    columns = [str(place + 1) for place in range(len(names))]
    rows = [f"{name}  {column}" for name, column in zip(names, columns, strict=True)]
    ahead = ratings.between("ahead")
    return draw_heat_map(ahead, rows, columns, ("", "against"), title(ratings, with_zero=False), around_zero=True)


def leads(ratings: Ratings, player: str = "") -> bytes:
    """How far one player is ahead of each other one, best player first (paper 002, Figure 3).

    Args:
        player: whose leads; empty for the best.
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
