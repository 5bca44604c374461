"""Every way a Skat deal can end: passed in, and each soloist's wins and losses (paper 001, section 6.2).

The table comes from the scoring itself: every game, announcement and bid is judged with every result.
"""

from functools import cache
from itertools import product

import numpy as np

from games.compiling import kernel
from games.outcome_keys import labelling, points_of
from games.outcomes import OutcomeTable
from games.skat.cards import ALL_CARDS, GRAND, NULL, NUM_TRUMPS, OUVERT, matadors_of
from games.skat.cards import points_of as card_points_of
from games.skat.rules import OVER, score
from games.skat.state import aside_of, twelve_of
from games.skat.values import BIDS, judge, write_points
from games.skat.view import played, twelve_seen

_RESULTS = ((0, 0), (30, 3), (31, 3), (60, 3), (61, 3), (89, 3), (90, 3), (120, 10))
"""Card points and tricks of the soloist on either side of every limit."""

_WINS, _LOSSES = ((61, 9), (90, 9), (120, 10)), ((60, 9), (89, 9), (119, 9))
"""Card points and tricks with which a soloist just wins, or just does not, whatever was announced and bid."""

key_of, label_of = labelling(3)


def game_results(trump_ouvert: bool = True) -> set[tuple[bool, int]]:
    """Every ``(won, value)`` that a declared game can have.

    Without trump ouvert the bids are left out as well that only its value makes possible; what is left is the paper's
    count.
    """
    forms = [form for form in _forms() if trump_ouvert or form[0] == NULL or form[3] != OUVERT]
    results, bids = set(), BIDS
    if not trump_ouvert:
        bids = np.array(sorted({value for _, value in _judged(forms, BIDS[:1])} & {int(bid) for bid in BIDS}))
    for won, value in _judged(forms, bids):
        results.add((won, value))
    return results


def _forms() -> list[tuple[int, int, int, int]]:
    """``(game, matadors, hand, modifier)`` of every game that can be declared."""
    forms = [(NULL, 0, hand, modifier) for hand in (0, 1) for modifier in (0, OUVERT)]
    for game in range(GRAND + 1):
        for matadors in range(1, int(NUM_TRUMPS[game]) + 1):
            forms += [(game, matadors, 0, 0), *((game, matadors, 1, modifier) for modifier in range(4))]
    return forms


def _judged(forms: list[tuple[int, int, int, int]], bids: np.ndarray) -> set[tuple[bool, int]]:
    """``(won, value)`` of every form with every result under every bid; null is not declared below the bid."""
    results = set()
    for (game, matadors, hand, modifier), (points, tricks), bid in product(forms, _RESULTS, bids):
        won, value, overbid = judge(game, matadors, hand, modifier, points, tricks, 10 - tricks, int(bid))
        if game != NULL or not overbid:
            results.add((bool(won), int(value)))
    return results


@cache
def build(scoring: int, trump_ouvert: bool = True) -> tuple[OutcomeTable, np.ndarray]:
    """The outcome table of a scoring (an index of ``SCORINGS``), and the keys of its labels (``int64[K]``, ascending).

    Utilities: ``relative``, the default, is equation 5: own points less the mean of the others', over 100. ``own`` is
    one's own points, over 100.
    """
    points, keys = np.zeros(3, np.int64), []
    keys.append(int(key_of(points, 0)))
    for soloist, (won, value) in product(range(3), sorted(game_results(trump_ouvert))):
        write_points(scoring, soloist, won, value, points)
        keys.append(int(key_of(points, 0)))
    ascending = np.unique(np.array(keys, np.int64))
    table = points_of(ascending, 3)
    relative = (table[:, 0] - table[:, 1:].mean(axis=1)) / 100
    return OutcomeTable(table, {"relative": relative, "own": table[:, 0] / 100}, "relative"), ascending


def games(table: OutcomeTable, scoring: int) -> tuple[np.ndarray, np.ndarray]:
    """``int64[K]`` twice: the soloist, relative to the observer, and the value of its game; -1 and 0 where all
    passed. A soloist that wins has the most points, one that loses the fewest, either way at least 18 away
    from the others'."""
    away = np.abs(table.points - np.median(table.points, axis=1, keepdims=True))
    soloists = np.where(away.max(axis=1) == 0, -1, away.argmax(axis=1))
    points = table.points[np.arange(len(soloists)), soloists].astype(np.int64)
    premium = 50 if scoring == 0 else 0
    values = np.where(points > 0, points - premium, (-points - premium) // 2)
    return soloists, np.where(soloists < 0, 0, values)


# ---- open hands ----------------------------------------------------------------------------------------------------


@kernel
def decided_labels(states, seats, won, keys, labels):
    """Write how a game would end that the soloist wins (``bool[B]``) or loses into ``int32[B]``, as one seat
    (``int64[B]``) sees it: just as declared and bid, no further than the card points taken so far ask for. States are
    in card play or at its end."""
    points = np.zeros(3, np.int64)
    for i in range(len(states)):
        _decide(states[i], won[i], points)
        labels[i] = label_of(points, seats[i], keys)


@kernel
def _decide(state, wins, points):
    """Write the points of a game that the soloist wins or loses: by the first result that the rules judge so."""
    public = state["public"]
    game, modifier, hand, bid = public["game"], public["modifier"], 1 - public["picked_up"], BIDS[public["bid"]]
    soloist, taken, aside = public["soloist"], public["taken"], aside_of(state)
    matadors = 0 if game == NULL else matadors_of(game, twelve_of(state))
    least = card_points_of(taken[soloist] | aside)
    most = 120 - card_points_of(taken[(soloist + 1) % 3] | taken[(soloist + 2) % 3])
    for limit, tricks in _WINS if wins else _LOSSES:
        if game == NULL:
            tricks = 0 if wins else 1
        had = min(max(limit, least), most)
        well, value, _ = judge(game, matadors, hand, modifier, had, tricks, 10 - tricks, bid)
        if well == wins:
            break
    write_points(public["scoring"], soloist, wins, value, points)


# ---- batches -------------------------------------------------------------------------------------------------------


@kernel
def state_labels(states, keys, labels):
    """Write the label seen from each seat of every row into ``int32[B, 3]``, -1 before the end."""
    points = np.zeros(3, np.int64)
    for i in range(len(states)):
        public = states[i]["public"]
        labels[i] = -1
        if public["turn"] < 0:
            score(public, twelve_of(states[i]), aside_of(states[i]), points)
            for seat in range(3):
                labels[i, seat] = label_of(points, seat, keys)


@kernel
def view_labels(views, keys, labels):
    """Write the label seen by the observer of every row into ``int32[B]``, -1 before the end."""
    points = np.zeros(3, np.int64)
    for i in range(len(views)):
        view = views[i]
        labels[i] = -1
        if view["public"]["phase"] == OVER and view["due"] == 0 and view["ended"] == 0:
            score(view["public"], twelve_seen(view), ALL_CARDS & ~played(view), points)
            labels[i] = label_of(points, view["seat"], keys)
