"""Results of a sweep of tournaments: one table over all points, and a picture if one or two keys were swept.

All points play the same deals unless the sweep varies them, so differences between points are paired by deal, with far
narrower intervals than the points' own.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from os.path import commonprefix

import numpy as np
from rich.table import Table
from rich.text import Text

from cluster.errors import UserError
from cluster.files import storage
from cluster.foreign import printable
from search.arena.tournament.pictures import draw_heat_map, draw_leads
from search.arena.tournament.report import interval, marked, signed, wide_console
from search.arena.tournament.result import Lead, TournamentResult, lead
from search.arena.tournament.statistics import ends_of

HEAT_MAP, LEADS = "heat_map.png", "leads.png"
_LONG = 10


@dataclass(frozen=True)
class SweptPoint:
    """A finished point of a sweep."""

    values: dict[str, str]
    """Swept key -> value, as written."""
    result: TournamentResult


def report_sweep(directory: str, tried: Sequence[str] = ()) -> None:
    """Print one table over all points with results in ``directory``, also of earlier commands, and draw them: over one
    key as bars, over two as a heat map."""
    points = read_points(directory)
    if not points:
        return
    wide_console().print(render_sweep(points))
    pictures = {1: ("leads", LEADS, leads), 2: ("heat map", HEAT_MAP, heat_map)}
    if len(keys(points)) in pictures:
        what, name, draw = pictures[len(keys(points))]
        path = f"{directory.rstrip('/')}/{name}"
        storage.write_bytes_atomic(path, draw(points))
        print(f"{what}: {path}")


def read_points(directory: str) -> list[SweptPoint]:
    """The points in a directory, ordered by their values; reports and skips files without a result."""
    names = [name for name in storage.list_names(directory) if name.endswith(".json")]
    points = []
    for name in names:
        try:
            result = TournamentResult.read(f"{directory.rstrip('/')}/{name}")
            points.append(SweptPoint(dict(result.settings.get("overrides", {})), result))
        except UserError as error:
            print(printable(f"{name}: left out ({error})"), file=sys.stderr)
    return sorted(points, key=lambda point: [_order(point.values.get(key, "")) for key in keys(points)])


def keys(points: Sequence[SweptPoint]) -> list[str]:
    """All swept keys, in order of first appearance."""
    return list(dict.fromkeys(key for point in points for key in point.values))


def behind(best: TournamentResult, other: TournamentResult) -> Lead | None:
    """Gap of a result to the best one on the same deals: mean and 95 % interval of the differences by deal, in points
    per hand and seat; None for different deals."""
    played = ("game", "game_options", "seed", "first", "deals", "seating")
    same = all(getattr(best, name) == getattr(other, name) for name in played)
    if not same:
        return None
    differences = other.advantage_by_deal - best.advantage_by_deal
    return float(differences.mean()), *ends_of(np.round(differences, 9))


def render_sweep(points: Sequence[SweptPoint]) -> Table:
    """One row for each point: swept values, A's lead, its time a turn, and the gap to the best point."""
    best = max((point.result for point in points), key=lambda result: result.advantage)
    table = Table(title=printable(_title(points)))
    for key in _short(keys(points)):
        table.add_column(printable(key), justify="right", overflow="fold")
    alone = all(len(point.result.players) == 1 for point in points)
    for heading in ("points" if alone else "ahead", "95 %", "ms a turn", "to the best", "95 %, paired"):
        table.add_column(heading, justify="right", no_wrap=True)
    for point in points:
        result = point.result
        ahead, low, high = _lead(result)
        gap = None if result is best else behind(best, result)
        table.add_row(
            *(Text(_written(point.values.get(key, "-"))) for key in keys(points)),
            signed(ahead),
            interval(low, high),
            f"{1000 * result.seconds_per_turn[result.players[0]]:.3g}",
            "best" if result is best else signed(gap[0]) if gap else "-",
            interval(*gap[1:]) if gap else "",
        )
    return table


def leads(points: Sequence[SweptPoint]) -> bytes:
    """A PNG of the advantage at every value of the swept key, with its interval (paper 002, Figure 4)."""
    (key,) = keys(points)
    names = [f"{_short([key])[0]}={_written(point.values.get(key, ''))}" for point in points]
    if key == "players" and _opponent(points):
        names = _without_shared([marked(point.result, point.result.players[0]) for point in points])
    return draw_leads(names, [_lead(point.result) for point in points], _title(points))


def heat_map(points: Sequence[SweptPoint]) -> bytes:
    """A PNG of the advantage over the two swept keys; missing points stay blank."""
    across, down = reversed(keys(points))
    columns, rows = (sorted({point.values.get(key, "") for point in points}, key=_order) for key in (across, down))
    ahead = np.full((len(rows), len(columns)), np.nan)
    for point in points:
        place = rows.index(point.values.get(down, "")), columns.index(point.values.get(across, ""))
        ahead[place] = point.result.advantage
    return draw_heat_map(
        ahead,
        rows=[_written(value) for value in rows],
        columns=[_written(value) for value in columns],
        axes=_short([down, across]),
        title=_title(points),
    )


def _title(points: Sequence[SweptPoint]) -> str:
    """The players, as far as all points agree."""
    deals = {point.result.deals for point in points}
    players, opponent = {point.result.players for point in points}, _opponent(points)
    who = f"each against {opponent}" if opponent else "A against B"
    if len(players) == 1:
        who = " against ".join(players.pop())
    return f"{who}, {deals.pop()} deals a point" if len(deals) == 1 else who


def _opponent(points: Sequence[SweptPoint]) -> str:
    """The common opponent, with a mark if it sees hidden cards; empty where points differ in it."""
    others = {marked(point.result, player) for point in points for player in point.result.players[1:2]}
    two = all(len(point.result.players) == 2 for point in points)
    return others.pop() if two and len(others) == 1 else ""


def _lead(result: TournamentResult) -> Lead:
    """A's lead over all seatings, with an interval for one or two players only."""
    return lead(result, column=0) if len(result.players) <= 2 else (result.advantage, None, None)


def _without_shared(players: Sequence[str]) -> list[str]:
    """Names of players without the common parent directory of their networks."""
    networks = [name.partition("@")[2] for name in players if "@" in name]
    alike = commonprefix(networks) if len(networks) > 1 else ""  # noqa: RUF071 (cut at its last / right below)
    shared = alike.rpartition("/")[0]
    return [name.replace(f"@{shared}/", "@") for name in players] if shared else list(players)


def _short(names: Sequence[str]) -> list[str]:
    """Keys by their last part, if these are distinct."""
    last = [name.rpartition(".")[2] for name in names]
    return last if len(set(last)) == len(last) else list(names)


def _written(value: str) -> str:
    """A value for people: numbers of many digits, as sweepers draw them, with four."""
    is_text, number, _ = _order(value)
    return printable(value) if is_text or len(value) < _LONG else f"{number:.4g}"


def _order(value: str) -> tuple[bool, float, str]:
    """Sorts numbers by size, before texts: whether it is a text, the number, the text."""
    try:
        return False, float(value), ""
    except ValueError:
        return True, 0.0, value
