"""A tournament for people to read, laid out as Tables 2 and 3 of paper 001."""

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from search.arena.tournament.result import Indicator, TournamentResult, lead
from search.arena.tournament.seatings import PAIRS

_MOST_PAIRED = 4
"""Entrants of which every pair is shown."""
_PLAIN_WIDTH = 120
"""Columns of wide tables where output goes to a file."""


def render(result: TournamentResult) -> RenderableType:
    """The result as rich prints it: points per hand, then differences with interval and p."""
    table = Table(title=title(result))
    table.add_column("points per hand", overflow="fold")
    for column in result.columns:
        table.add_column(column.name, justify="right", no_wrap=True)
    for section in sections(result):
        for row in section:
            table.add_row(*row, end_section=row is section[-1])
    more = []
    if result.variants:
        more.append(_below("by kind of deal, with 95 % intervals", variant_rows(result), no_wrap=True))
    if result.indicators:
        said = "mean (standard deviation) over deals; below it the 95 % interval of the mean"
        more.append(_below(said, indicator_rows(result)))
    if result.by_seat:
        more.append(_below("every game and seat weighed alike (paper 004)", seat_rows(result), no_wrap=True))
    return Group(table, *more, *map(Text, footer(result)))


def _below(said: str, rows: list[list[str]], no_wrap: bool = False) -> Table:
    """A further table; names of the columns first. Without ``no_wrap`` cells have lines of their own."""
    table = Table(title=said, show_lines=not no_wrap)
    for name in rows[0]:
        table.add_column(name, justify="right", no_wrap=no_wrap, overflow="ellipsis" if no_wrap else "fold")
    for row in rows[1:]:
        table.add_row(*row)
    return table


def indicator_rows(result: TournamentResult) -> list[list[str]]:
    """What deals show beside points: names of the columns, then a row for each with the entrants' figures."""
    rows = [["", *_letters(result)]]
    for name, figures in result.indicators.items():
        texts = (_figure(figures[player]) if player in figures else "-" for player in result.players)
        rows.append([name, *texts])
    return rows


def seat_rows(result: TournamentResult) -> list[list[str]]:
    """``TournamentResult.by_seat``: names of the columns, then a row for each figure."""
    rows = [["by games and seats", *_letters(result), "A - B", "95 % interval"]]
    for name, column in result.by_seat.items():
        (pair,) = column.comparisons
        points = (f"{column.points[player]:z.3g}" for player in result.players)
        rows.append([name, *points, f"{pair.delta:+z.3g}", interval(pair.low, pair.high, "+z.3g")])
    return rows


def _figure(one: Indicator) -> str:
    form = "z.2f" if abs(one.mean) >= 1 or not one.mean else "z.3g"
    ends = "" if one.low is None else f"\n{interval(one.low, one.high, form)}"
    return f"{one.mean:{form}} ({one.deviation:{form}}){ends}"


def variant_rows(result: TournamentResult) -> list[list[str]]:
    """The kinds of deals: names of the columns, then a row for each kind with its deals, the points of each entrant
    and, for two entrants, the difference, each with its interval; empty for a game without kinds."""
    if not result.variants:
        return []
    letters, two = _letters(result), len(result.players) == 2
    rows = [["kind", "deals", *letters, *(["A - B"] if two else [])]]
    for variant in result.variants:
        column, row = variant.column, [variant.column.name, str(variant.deals)]
        for player in result.players:
            row.append(_with_interval(column.points[player], variant.intervals[player] or (None, None), "z.2f"))
        if two:
            (pair,) = column.comparisons
            row.append(_with_interval(pair.delta, (pair.low, pair.high), "+z.2f"))
        rows.append(row)
    return rows


def _with_interval(figure: float, ends: tuple[float | None, float | None], form: str) -> str:
    return f"{figure:{form}}" + ("" if ends[0] is None else f" ({interval(*ends, form)})")


def sections(result: TournamentResult) -> list[list[list[str]]]:
    """Rows of the table, the name of each first, then a text for every column: the points of the entrants, then a
    section for every pair of them; of many entrants for every pair with A."""
    points = []
    for player, letter in zip(result.players, _letters(result), strict=True):
        name = marked(result, player, f" ({letter})")
        points.append([name, *(f"{column.points[player]:z.2f}" for column in result.columns)])
    pairs = enumerate(result.columns[0].comparisons)
    shown = [k for k, pair in pairs if len(result.players) <= _MOST_PAIRED or pair.a == result.players[0]]
    return [points, *(_pair(result, k) for k in shown)]


def marked(result: TournamentResult, player: str, letter: str = "") -> str:
    """An entrant's name, with a mark if it sees hidden cards."""
    return f"{player}{letter}{' (sees hidden cards)' if player in result.sees_hidden else ''}"


def _pair(result: TournamentResult, k: int) -> list[list[str]]:
    compared = [column.comparisons[k] for column in result.columns]
    a, b = (_letters(result)[result.players.index(name)] for name in (compared[0].a, compared[0].b))
    return [
        [f"Δ = {a} - {b}", *(signed(one.delta) for one in compared)],
        ["95 % interval", *(interval(one.low, one.high) for one in compared)],
        ["Wilcoxon p", *(_probability(one.p_value) for one in compared)],
    ]


def ahead_text(result: TournamentResult, column: int = -1) -> str:
    """``lead`` as text."""
    ahead, low, high = lead(result, column)
    return f"{signed(ahead)} ({interval(low, high)})"


def matched(result: TournamentResult) -> str:
    """The first players of a tournament, and its deals."""
    names = [marked(result, name) for name in result.players[:2]]
    more = f" and {len(result.players) - 2} more" if len(result.players) > 2 else ""
    pairs, dealt = " of pairs" if result.seating == PAIRS else "", f" of {result.dealt}" if result.dealt else ""
    return f"{' against '.join(names)}{more}, {result.deals} deals{pairs}{dealt}"


def signed(value: float) -> str:
    """A number with sign and two decimals; zero is ``+0.00``, never ``-0.00``."""
    return f"{value:+z.2f}"


def interval(low: float | None, high: float | None, form: str = "+z.2f") -> str:
    """``low..high``, or ``-`` without an interval."""
    return "-" if low is None or high is None else f"{low:{form}}..{high:{form}}"


def _letters(result: TournamentResult) -> list[str]:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return [*alphabet, *(a + b for a in alphabet for b in alphabet)][: len(result.players)]


def title(result: TournamentResult) -> str:
    """Title: game, size and meaning of the points."""
    better = "fewer points are better" if result.lower_is_better else "more points are better"
    matches = f"{result.matches} matches" + (" of pairs" if result.seating == PAIRS else "")
    game = f"{result.game} ({result.dealt})" if result.dealt else result.game
    return f"{game}: {result.deals} deals, {matches}; {better}"


def _probability(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def footer(result: TournamentResult) -> list[str]:
    """Lines below the tables: paper 002's total of pairs, the points of a series of deals, the time of a turn, and the
    settings that networks brought."""
    lines, total = [], result.pair_differential
    if total is not None:
        a_match = signed(total / result.matches)
        lines.append(f"total point differential of the pairs, A - B: {total:+.0f}, {a_match} a match (twice the Δ)")
    if result.series:
        means = (f"{player} {result.series * mean:z.0f}" for player, mean in result.columns[0].points.items())
        lines.append(f"points in {result.series} deals: {', '.join(means)}")
    times = (f"{player} {1000 * seconds:.3g} ms" for player, seconds in result.seconds_per_turn.items())
    return [*lines, f"time per turn: {', '.join(times)}", *_brought(result)]


def _brought(result: TournamentResult) -> list[str]:
    """A line with the settings that came with the networks; none in results that lack them."""
    networks = result.settings.get("checkpoints")
    records = networks.items() if isinstance(networks, dict) else ()
    said = {name: one["settings"] for name, one in records if isinstance(one, dict) and one.get("settings")}
    texts = (f"{name} " + ", ".join(f"{key}={value}" for key, value in these.items()) for name, these in said.items())
    return [f"settings of the networks: {'; '.join(texts)}"] if said else []


def wide_console() -> Console:
    """Console for tables with many columns: as wide as the terminal, 120 columns in a file."""
    return Console(width=None if Console().is_terminal else _PLAIN_WIDTH)
