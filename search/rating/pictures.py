"""Pictures of a round robin, as PNG files."""

import math

from search.rating.ratings import Ratings
from search.rating.report import label, title
from search.tournament.pictures import draw_heat_map, png


def heat_map(ratings: Ratings) -> bytes:
    """Points a hand that each player is ahead of each other one, best player first."""
    names = [label(rated) for rated in ratings.players]
    columns = [str(place + 1) for place in range(len(names))]
    rows = [f"{name}  {column}" for name, column in zip(names, columns, strict=True)]
    return draw_heat_map(ratings.between("ahead"), rows, columns, ("", "against"), title(ratings))


def strength(ratings: Ratings) -> bytes:
    """Rating against time a turn, with bars of one standard error."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.add_subplot()
    times = [1000 * rated.seconds_per_turn for rated in ratings.players]
    middle = math.sqrt(min(times) * max(times))
    for rated, time in zip(ratings.players, times, strict=True):
        axes.errorbar(time, rated.rating, yerr=rated.standard_error, fmt="o", color="C0", capsize=3)
        side, offset = ("right", -6) if time > middle else ("left", 6)  # names stand inside
        at, by = (time, rated.rating), (offset, 4)
        axes.annotate(label(rated), at, by, textcoords="offset points", ha=side, fontsize="small")
    axes.set_xscale("log")
    axes.margins(x=0.1)
    axes.grid(alpha=0.3)
    axes.set_xlabel("time a turn, ms")
    axes.set_ylabel("rating")
    axes.set_title(title(ratings), fontsize="medium", wrap=True)
    return png(figure)
