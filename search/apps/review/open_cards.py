"""Deals with all cards open: what each decision cost, and how perfect play would have gone on.
Nobody at the table knew.

Letters: ``D`` deals, ``P`` seats, ``M`` decisions or lines, ``V`` tokens, ``N`` actions from the first card on, ``T``
actions of a line, ``K`` outcome labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from games.game import Game, Next
from games.recorded_deals import RecordedDeals
from games.shards import Sequences
from search.apps.review.decisions import Decisions, marked
from search.apps.review.report import Change, DealNote, PerfectPlay, SeatNote, costliest
from search.players.support import Support


def hindsight(deals: RecordedDeals, decisions: Decisions, support: Support, utility: np.ndarray) -> np.ndarray | None:
    """``float64[M, V]``: what each legal action would have brought the seat if all played perfectly from there; NaN
    where the judge does not say, and in deals of which the file lacks the history of a seat. None where the game has no
    judge.

    Args:
        utility: ``float64[K]``: points of outcome labels.
    """
    game, sequences, seats = deals.game, deals.sequences, deals.game.num_players
    if support.rebuild is None or not support.hindsight:
        return None
    whole = [*starts_of(deals).values()]
    number = np.full(len(sequences), -1)
    for count, first in enumerate(whole):
        number[first : first + seats] = count
    values = np.full(decisions.values.shape, np.nan)
    rows = np.flatnonzero(number[decisions.row] >= 0)
    if len(rows):
        tokens = np.stack([sequences.tokens[first : first + seats] for first in whole])
        seat = sequences.seat[decisions.row[rows]].astype(np.int64)
        states = support.rebuild(game, tokens, number[decisions.row[rows]], seat, decisions.place[rows])
        labels = support.solvers[support.hindsight](game, states)
        values[rows] = np.where(labels >= 0, utility[labels], np.nan)
    return values


def starts_of(deals: RecordedDeals) -> dict[int, int]:
    """Deal -> its first history, of the deals with the histories of all seats."""
    sequences = deals.sequences
    starts = np.flatnonzero(np.diff(sequences.game, prepend=-1)).tolist()
    whole = [first for first in starts if _is_whole(sequences, first, deals.game.num_players)]
    return {int(sequences.game[first]): first for first in whole}


def _is_whole(sequences: Sequences, first: int, seats: int) -> bool:
    """Whether a deal that begins at this row has the histories of all seats, in their order."""
    rows = slice(first, first + seats)
    here, deal = sequences.seat[rows], sequences.game[rows]
    return len(here) == seats and bool((here == np.arange(seats)).all() and (deal == deal[0]).all())


# ---- perfect play ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Played:
    """The cards that were really played in some deals."""

    states: np.ndarray
    """``[N, D]``: before each action; after the last one too, and from there on the same."""
    seats: np.ndarray
    """``int64[N, D]``: who acts; -1 where a deal is over, or breaks off."""
    actions: np.ndarray
    """``int64[N, D]``: -1 there."""


def with_perfect_play(
    deals: RecordedDeals, notes: Sequence[DealNote], support: Support, utility: np.ndarray, most: int
) -> tuple[DealNote, ...]:
    """All deals again, with perfect play in the seats of those ``most`` in which the most was lost; without it where
    the game has no lines, where nobody played a card, and where the file lacks the history of a seat.

    Args:
        utility: ``float64[K]``: points of outcome labels.
    """
    if not (support.rebuild and support.line and support.hindsight):
        return tuple(notes)
    starts, chosen = starts_of(deals), dict[int, DealNote]()
    for deal in costliest(notes, most):
        if (first := starts.get(int(deals.sequences.game[deal.seats[0].row]), -1)) >= 0:
            chosen[first] = deal
    leads = _leads(deals, np.array([*chosen], np.int64)) if chosen else {}
    if not leads:
        return tuple(notes)
    played = _played(deals, leads, support)
    found = _perfect(deals.game, [chosen[first] for first in leads], played, support, utility)
    return tuple(found.get(id(deal), deal) for deal in notes)


def history_of(deals: RecordedDeals, seat: SeatNote, support: Support) -> tuple[np.ndarray, int]:
    """The history of a seat at the end of its line of perfect play (token ids ``[L']``), and how many tokens of it are
    from before the line."""
    perfect, game = seat.perfect, deals.game
    assert perfect is not None
    first = np.array([seat.row - seat.seat])  # a deal with a line has the histories of all seats, in their order
    played = _played(deals, _leads(deals, first), support)
    state, seats = played.states[perfect.start].copy(), np.array([seat.seat])
    before = int(game.histories(state, seats)[1][0])
    for name in perfect.line:
        game.play(state, np.array([game.vocabulary.names.index(name)]))
    tokens, lengths = game.histories(state, seats)
    return tokens[0, : lengths[0]], before


def _leads(deals: RecordedDeals, firsts: np.ndarray) -> dict[int, tuple[int, int]]:
    """First history of a deal (``int64[D]``) -> the seat that plays the first card, and the tokens that it has seen;
    deals without a card are left out."""
    seats = deals.game.num_players
    rows = (firsts[:, None] + np.arange(seats)).ravel()
    places = marked(deals, rows)[:, 2]
    views = deals.game.views(deals.sequences.tokens[rows], np.maximum(places, 0))
    leads = ((places >= 0) & (deals.game.next(views) == Next.ACTION)).reshape(-1, seats)
    return {
        int(first): (int(lead.argmax()), int(place[lead.argmax()]))
        for first, lead, place in zip(firsts, leads, places.reshape(-1, seats), strict=True)
        if lead.any()
    }


def _played(deals: RecordedDeals, leads: dict[int, tuple[int, int]], support: Support) -> _Played:
    """The play of deals with these first histories and leads: what a seat does is the next token of its history."""
    game, count = deals.game, np.arange(len(leads))
    tokens = np.stack([deals.sequences.tokens[first : first + game.num_players] for first in leads])
    assert support.rebuild is not None
    now = support.rebuild(game, tokens, count, *np.array([*leads.values()]).T)
    states, seats, actions = [now.copy()], list[np.ndarray](), list[np.ndarray]()
    while True:
        seat = game.to_move(now).astype(np.int64)
        places = np.minimum(game.histories(now, np.maximum(seat, 0))[1], tokens.shape[2] - 1)
        action = tokens[count, seat, places].astype(np.int64)
        going = (seat >= 0) & game.legal(now)[count, action]
        if not going.any():
            return _Played(np.stack(states), np.array(seats), np.array(actions))
        seats.append(np.where(going, seat, -1))
        actions.append(np.where(going, action, -1))
        some = now[going]
        game.play(some, action[going])
        now[going] = some
        states.append(now.copy())


def _perfect(
    game: Game, chosen: Sequence[DealNote], played: _Played, support: Support, utility: np.ndarray
) -> dict[int, DealNote]:
    """``id`` of a deal -> the deal with perfect play in its seats; one line from the first card, and one from each
    seat's own first card that changed the result."""
    changes = _changes(game, played, support, utility)
    starts = [
        [next((one.number for one in changes[deal] if one.seat == seat.seat), 0) for seat in note.seats]
        for deal, note in enumerate(chosen)
    ]
    wanted = sorted({(deal, start) for deal, own in enumerate(starts) for start in [0, *own]})
    lines = dict(zip(wanted, _lines(game, played, np.array(wanted), support, utility), strict=True))
    result = {}
    for deal, note in enumerate(chosen):
        seats = list[SeatNote]()
        for seat, start in zip(note.seats, starts[deal], strict=True):
            first, line = lines[deal, 0].points[seat.seat], lines[deal, start]
            perfect = PerfectPlay(first, tuple(changes[deal]), start, line.points[seat.seat], line.names)
            seats.append(replace(seat, perfect=perfect))
        result[id(note)] = replace(note, seats=tuple(seats))
    return result


def _changes(game: Game, played: _Played, support: Support, utility: np.ndarray) -> list[list[Change]]:
    """The actions of each deal that cost their seat something with all cards open, in order."""
    number, deal = np.nonzero(played.seats >= 0)
    labels, actions = (
        support.solvers[support.hindsight](game, played.states[number, deal]),
        played.actions[number, deal],
    )
    own = labels[np.arange(len(labels)), actions]
    lost = np.where(labels >= 0, utility[labels], -np.inf).max(axis=1) - utility[own]
    found = list[list[Change]]([] for _ in range(played.seats.shape[1]))
    for row in np.flatnonzero((own >= 0) & (lost > 0)):
        where = number[row], deal[row]
        card, cost = game.vocabulary.name(actions[row]), round(float(lost[row]), 4)
        change = Change(int(where[0]), int(played.seats[where]), card, cost)
        found[deal[row]].append(change)
    return found


@dataclass(frozen=True)
class _Line:
    """Perfect play to the end of a deal."""

    names: tuple[str, ...]
    """Names of its actions."""
    points: tuple[float, ...]
    """What each seat gets at its end."""


def _lines(game: Game, played: _Played, wanted: np.ndarray, support: Support, utility: np.ndarray) -> list[_Line]:
    """The lines from ``wanted`` (``int64[M, 2]``): deals, and actions that were done before."""
    deal, start = wanted.T
    states = played.states[start, deal]
    real = np.full((len(wanted), game.num_players, max(len(played.seats), 1)), -1)
    for row in range(len(wanted)):
        for seat in range(game.num_players):
            own = played.seats[start[row] :, deal[row]] == seat
            real[row, seat, : own.sum()] = played.actions[start[row] :, deal[row]][own]
    assert support.line is not None
    actions = support.line(game, states, real)
    ends = game.after(states, actions, (actions >= 0).sum(axis=1))
    points, name = utility[game.outcome(ends)].round(4).tolist(), game.vocabulary.name
    return [_Line(tuple(map(name, own[own >= 0].tolist())), tuple(points[row])) for row, own in enumerate(actions)]
