"""Result of Skat's card play from any position with open hands and perfect play."""

import numpy as np

from games.bits import each, lowest
from games.compiling import kernel
from games.skat.cards import NULL, NUM_CARDS, NUM_PLAYS, matadors_of, points_of
from games.skat.rules import OVER, PLAY
from games.skat.state import aside_of, twelve_of
from games.skat.values import BIDS, judge
from search.scripted.skat.solver.layout import (
    ALIKE,
    CARD_AT,
    JOINED,
    PLACE_OF,
    POINTS_AT,
    RUNS,
    SUIT_AT,
    TRUMPS,
    places_of,
)
from search.scripted.skat.solver.minimax import (
    DEAL,
    EVERY_TRICK,
    GENERATIONS,
    NO_TRICK,
    NODE,
    NUM_NODES,
    POINTS,
    legal_places,
    linked_places,
    play,
    search,
)


class Solver:
    """Values of positions and of cards, for the true states of ``games.skat`` (``STATE[B]``) in card play or at its
    end; ``ValueError`` names a row that is not.

    In suit games and grand, *points* are the soloist's card points at the end, the two cards laid aside included. In
    null, and where the soloist has to take every trick, they are 1 if it wins and 0 if not.

    It keeps a table of 8 bytes an entry between calls; results do not depend on earlier calls. Not thread-safe: make
    one solver per thread.

    Args:
        entries: size of the table, a power of two.
    """

    def __init__(self, entries: int = 1 << 17) -> None:
        if entries < 1 or entries & (entries - 1):
            raise ValueError(f"entries={entries}: the solver's table needs a power of two")
        self._table = np.zeros(entries, np.int64)
        self._deal, self._nodes = np.zeros(1, DEAL), np.zeros(NUM_NODES, NODE)

    @property
    def nodes(self) -> int:
        """Positions searched so far."""
        return int(self._deal["nodes"][0])

    def wins(self, states: np.ndarray) -> np.ndarray:
        """``bool[B]``: whether the soloist wins its game: with 61 points, or 90 or every trick where that was announced
        or the bid needs it."""
        wins = np.zeros(len(states), np.bool_)
        wins_batch(self._deal[0], self._nodes, self._table, _checked(states), wins)
        return wins

    def points(self, states: np.ndarray) -> np.ndarray:
        """``int64[B]``: the soloist's points."""
        points = np.zeros(len(states), np.int64)
        points_batch(self._deal[0], self._nodes, self._table, _checked(states), points)
        return points

    def card_wins(self, states: np.ndarray) -> np.ndarray:
        """``bool[B, 32]``: whether the soloist wins after each card; False for cards that may not be played."""
        wins = np.zeros((len(states), NUM_CARDS), np.bool_)
        card_wins_batch(self._deal[0], self._nodes, self._table, _checked(states), wins)
        return wins

    def lines(self, states: np.ndarray, real: np.ndarray) -> np.ndarray:
        """``int64[B, 30]``: the cards that are played from here on if every card keeps the soloist's points, -1 behind
        the last. The rules may end a deal before that.

        Args:
            real: ``int64[B, 3, N]``: cards that each seat really played from here on, in order, -1 behind them. Of
                cards that are equally good a seat plays the one of these that is its next, else the lowest.
        """
        cards = np.full((len(states), NUM_PLAYS), -1, np.int64)
        lines_batch(self._deal[0], self._nodes, self._table, _checked(states), real, cards)
        return cards


def _checked(states: np.ndarray) -> np.ndarray:
    public = states["public"]
    ready = ((public["phase"] == PLAY) | (public["phase"] == OVER)) & (public["soloist"] >= 0)
    if not ready.all():
        raise ValueError(
            f"row {int(np.argmin(ready))}: the solver needs a declared game; play the deal to its first lead"
        )
    return states


# ---- from states to nodes --------------------------------------------------------------------------------------------


@kernel
def _contract(state):
    """``(aim, target)``: the soloist's aim, and the number that wins; unreachable where nothing can win. A bid above
    the plain game's value needs more than was announced."""
    public = state["public"]
    game, modifier, hand, bid = public["game"], public["modifier"], 1 - public["picked_up"], BIDS[public["bid"]]
    if game == NULL:
        return NO_TRICK, np.int64(1)
    matadors = matadors_of(game, twelve_of(state))
    for target in (61, 90):
        if judge(game, matadors, hand, modifier, target, 9, 1, bid)[0]:
            return POINTS, np.int64(target)
    return EVERY_TRICK, np.int64(1 if judge(game, matadors, hand, modifier, 120, 10, 0, bid)[0] else 2)


@kernel
def _is_lost(aim, public):
    """Whether a game for tricks is already lost."""
    won = public["tricks"][public["soloist"]]
    if aim == NO_TRICK:
        return won > 0
    return aim == EVERY_TRICK and won < public["tricks"].sum()


@kernel
def _set_up(deal, nodes, table, state):
    """Write a state into ``deal`` and ``nodes[0]``; returns ``(got, target)``: the soloist's points so far, and the
    points that win."""
    public = state["public"]
    game, soloist, turn = public["game"], public["soloist"], max(public["turn"], 0)
    aim, target = _contract(state)
    counting = 1 if aim == POINTS else 0
    deal["aim"], deal["trumps"], deal["joined"], deal["alike"] = aim, TRUMPS[game], JOINED[game], ALIKE[game]
    for place in range(NUM_CARDS):
        deal["suit_at"][place] = SUIT_AT[game, place]
        deal["points_at"][place] = POINTS_AT[game, place] * counting
    node, trick = nodes[0], public["trick"]
    for i in range(3):
        node["hands"][i] = places_of(game, state["hands"][(turn + i) % 3])
    node["soloist"] = (soloist - turn) % 3
    node["played"] = public["num_played"] % 3
    node["led"] = node["best"] = node["winner"] = 0
    if trick != 0:
        node["best"] = places_of(game, trick & public["shown"][public["winner"]])
        node["led"] = SUIT_AT[game, lowest(places_of(game, trick & public["shown"][(turn - node["played"]) % 3]))]
        node["winner"] = (public["winner"] - turn) % 3
    node["trick"] = points_of(trick) * counting
    left = state["hands"][0] | state["hands"][1] | state["hands"][2] | trick
    node["rest"] = points_of(left) if aim == POINTS else (0 if _is_lost(aim, public) else 1)
    _renew(deal, table)
    _lower(deal, game, node["hands"])
    return points_of(public["taken"][soloist] | aside_of(state)) * counting, target


@kernel
def _renew(deal, table):
    """Invalidate all entries of the table."""
    deal["generation"] += 1
    if deal["generation"] == GENERATIONS:
        deal["generation"] = 1
        table[:] = 0


@kernel
def _lower(deal, game, hands):
    """Write ``lowered``: each part of a run moved to the lowest places with the same owners, in order."""
    for i in range(len(RUNS[game])):
        first, length = RUNS[game, i]
        deal["runs"][i, 0], deal["runs"][i, 1] = first, length
        for highest in range(length):
            owner = np.int64(0)
            for seat in range(3):
                if hands[seat] >> (first + highest) & 1 != 0:
                    owner = hands[seat] >> first
            for part in range(1 << highest):
                lowered, place = deal["lowered"][i, part], 0
                while lowered >> place != 0 or (owner >> place & 1 == 0 and place < highest):
                    place += 1
                deal["lowered"][i, part | 1 << highest] = lowered | np.int64(1) << place


# ---- questions -------------------------------------------------------------------------------------------------------


@kernel
def _reaches(deal, nodes, table, depth, need):
    """Whether the soloist gets ``need`` points from ``nodes[depth]`` on."""
    return search(deal, nodes, table, np.int64(depth), np.int64(need)) >= need


@kernel
def _value(deal, nodes, table, depth, guess):
    """The soloist's points from ``nodes[depth]`` on, by bisection from ``guess``."""
    least, most = np.int64(0), nodes[depth]["rest"]
    need = guess
    while least < most:
        need = min(max(need, least + 1), most)
        bound = search(deal, nodes, table, np.int64(depth), np.int64(need))
        if bound >= need:
            least = bound
        else:
            most = bound
        need = (least + most + 1) // 2
    return least


@kernel
def wins_batch(deal, nodes, table, states, wins):
    """Write whether the soloist wins every row."""
    for row in range(len(states)):
        got, target = _set_up(deal, nodes, table, states[row])
        wins[row] = _reaches(deal, nodes, table, 0, target - got)


@kernel
def points_batch(deal, nodes, table, states, points):
    """Write the soloist's points of every row."""
    for row in range(len(states)):
        got, target = _set_up(deal, nodes, table, states[row])
        points[row] = got + _value(deal, nodes, table, 0, target - got)


@kernel
def card_wins_batch(deal, nodes, table, states, wins):
    """Write whether the soloist wins after each legal card of every row."""
    for row in range(len(states)):
        got, target = _set_up(deal, nodes, table, states[row])
        game, before = states[row]["public"]["game"], 0
        same = linked_places(deal, nodes[0]) & deal["alike"]
        for place in each(legal_places(nodes[0])):
            if same >> place & 1 != 0:
                wins[row, CARD_AT[game, place]] = wins[row, CARD_AT[game, before]]
            else:
                need = target - got - play(deal, nodes[0], nodes[1], place)
                wins[row, CARD_AT[game, place]] = _reaches(deal, nodes, table, 1, need)
            before = place


@kernel
def _keeps(deal, nodes, table, depth, game, card, value):
    """Whether a card is legal at ``nodes[depth]``, and after it the soloist gets ``value`` points from there on: at
    least, if the card is its own, else at most. The position after it is in ``nodes[depth + 1]`` then."""
    place = PLACE_OF[game, card]
    if legal_places(nodes[depth]) >> place & 1 == 0:
        return False
    left = value - play(deal, nodes[depth], nodes[depth + 1], place)
    if nodes[depth]["soloist"] == 0:
        return _reaches(deal, nodes, table, depth + 1, left)
    return not _reaches(deal, nodes, table, depth + 1, left + 1)


@kernel
def _keeping(deal, nodes, table, depth, game, value, wanted):
    """The card that keeps ``value``: ``wanted`` if it does, -1 being none, else the lowest that does."""
    if wanted >= 0 and _keeps(deal, nodes, table, depth, game, wanted, value):
        return np.int64(wanted)
    card = np.int64(0)
    while card < NUM_CARDS - 1 and not _keeps(deal, nodes, table, depth, game, card, value):
        card += 1
    return card


@kernel
def lines_batch(deal, nodes, table, states, real, cards):
    """Write the cards that are played if every one of them keeps the value of every row."""
    for row in range(len(states)):
        got, target = _set_up(deal, nodes, table, states[row])
        game, soloist = states[row]["public"]["game"], states[row]["public"]["soloist"]
        value, turns, depth = _value(deal, nodes, table, 0, target - got), np.zeros(3, np.int64), 0
        while nodes[depth]["hands"][0] != 0:
            seat = (soloist - nodes[depth]["soloist"]) % 3
            wanted = real[row, seat, turns[seat]] if turns[seat] < real.shape[2] else np.int64(-1)
            card = _keeping(deal, nodes, table, depth, game, value, wanted)
            value -= play(deal, nodes[depth], nodes[depth + 1], PLACE_OF[game, card])
            cards[row, depth] = card
            turns[seat] += 1
            depth += 1
