"""Alpha-beta with a transposition table (Kupferschmid and Helmert, "A Skat player based on Monte Carlo simulation",
2006).

Hands are open. A value is the soloist's points from here on, without those it has already, so that it does not depend
on the earlier play. A search tests whether they reach a number (a zero-width window) and returns a bound.
All cards are sets of places (``search.scripted.skat.solver.layout``).
"""

import numpy as np

from games.bits import count, lowest
from games.compiling import kernel
from games.skat.cards import HAND_SIZE, NUM_CARDS, NUM_PLAYS
from search.scripted.skat.solver.layout import LONGEST_RUN, NUM_RUNS

POINTS, NO_TRICK, EVERY_TRICK = range(3)
"""The soloist's aim: card points; or one point at the end if it has taken no trick, or every trick."""

DEAL = np.dtype(
    [
        ("aim", np.int64),
        ("trumps", np.int64),
        ("joined", np.int64),  # layout.JOINED
        ("alike", np.int64),  # layout.ALIKE
        ("suit_at", np.int64, NUM_CARDS),  # layout.SUIT_AT
        ("points_at", np.int64, NUM_CARDS),  # card points, 0 unless they are the aim
        ("runs", np.int64, (NUM_RUNS, 2)),  # layout.RUNS
        ("lowered", np.int64, (NUM_RUNS, 1 << LONGEST_RUN)),  # part of a run -> its owners moved to the lowest places
        ("generation", np.int64),  # marks the deal's entries in the table
        ("nodes", np.int64),  # positions searched so far
    ]
)
"""Constants of a deal's search."""

NODE = np.dtype(
    [
        ("hands", np.int64, 3),  # of the seat to act and the seats after it
        ("soloist", np.int64),  # seats from the one to act
        ("played", np.int64),  # cards on the table: 0 to 2
        ("led", np.int64),  # places of the suit led, 0 before the lead
        ("best", np.int64),  # the card that wins the trick so far, 0 before the lead
        ("winner", np.int64),  # who played it, counted like the soloist
        ("trick", np.int64),  # points on the table
        ("rest", np.int64),  # points that the soloist can still get, those on the table included
        ("key", np.int64),  # in the table, where a trick begins
        ("moves", np.int64, HAND_SIZE),  # cards to try: ``score << 5 | place``
    ]
)
"""A position with its search data. A search has one for each card played and one more."""
NUM_NODES = NUM_PLAYS + 1

GENERATIONS = 1 << 15
_BOUND = np.int64(127)
_OWN = ~(np.int64((1 << 14) - 1) << 34)
"""The bits of an entry's key: 32 places, the leading seat, and the generation; the others are two bounds."""


# ---- the table: bounds of positions at the beginning of tricks -------------------------------------------------------


@kernel
def _key(deal, node):
    """Key of a position. Only the order of ranks matters, so cards of equal worth are moved to the lowest places with
    the same owners; this merges many positions."""
    left = node["hands"][0] | node["hands"][1] | node["hands"][2]
    places = left
    for i in range(NUM_RUNS):
        first, length = deal["runs"][i, 0], deal["runs"][i, 1]
        part = left >> first & ((np.int64(1) << length) - 1)
        places ^= (part ^ deal["lowered"][i, part]) << first
    return places | node["soloist"] << 32 | deal["generation"] << 48


@kernel
def _slot(table, key):
    return np.int64(np.uint64(key) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(30)) & (len(table) - 1)


@kernel
def _bounds(deal, table, node):
    """``(least, most)``: bounds of the soloist's points from here on."""
    node["key"] = _key(deal, node)
    entry = table[_slot(table, node["key"])]
    if entry & _OWN == node["key"]:
        return entry >> 34 & _BOUND, entry >> 41 & _BOUND
    return np.int64(0), node["rest"]


@kernel
def _store(table, node, least, most):
    table[_slot(table, node["key"])] = node["key"] | least << 34 | most << 41


# ---- moves -----------------------------------------------------------------------------------------------------------


@kernel
def _seen_from(to_act, seat):
    """A seat's index relative to the seat to act."""
    return seat - to_act if seat >= to_act else seat - to_act + 3


@kernel
def play(deal, node, after, place):
    """Write the position after a card into ``after``; returns the soloist's points by it.

    A lost game for tricks has no points left.
    """
    card, place_points = np.int64(1) << place, deal["points_at"][place]
    led = deal["suit_at"][place] if node["played"] == 0 else node["led"]
    best, winner = node["best"], node["winner"]
    if card & (led | deal["trumps"]) != 0 and card > best:
        best, winner = card, np.int64(0)
    trick, gain, to_act = node["trick"] + place_points, np.int64(0), np.int64(1)
    after["rest"] = node["rest"]
    if node["played"] < 2:
        after["played"], after["led"], after["best"], after["trick"] = node["played"] + 1, led, best, trick
    else:
        to_act = winner
        after["played"] = after["led"] = after["best"] = after["trick"] = 0
        after["rest"] -= trick
        if winner == node["soloist"]:
            gain = trick
        if deal["aim"] != POINTS and (winner == node["soloist"]) == (deal["aim"] == NO_TRICK):
            after["rest"] = 0
    for i in range(3):
        after["hands"][_seen_from(to_act, i)] = node["hands"][i] ^ (card if i == 0 else 0)
    after["winner"] = _seen_from(to_act, winner)
    after["soloist"] = _seen_from(to_act, node["soloist"])
    return gain


@kernel
def linked_places(deal, node):
    """``int64`` set of the places of the hand to act that are equivalent to its next lower place of the suit: all
    between are gone."""
    hand = node["hands"][0]
    gone = ~(hand | node["hands"][1] | node["hands"][2] | node["best"]) & deal["joined"]
    above = hand << 1
    return (
        ((gone + (above & gone)) & ~gone | above & ~gone) & hand & deal["joined"]
    )  # carries run through the gone places


@kernel
def _foresee(deal, node, card, suit):
    """``(ours, certain)``: whether the side to act takes the trick with a card if every later seat that can beats it,
    and whether no later seat can change that."""
    winning, soloist = suit | deal["trumps"], node["soloist"]
    best, winner = node["best"], node["winner"]
    if card & winning != 0 and card > best:
        best, winner = card, np.int64(0)
    ours, certain = (winner == soloist) == (soloist == 0), True
    for i in range(1, 3 - node["played"]):
        if ours != ((i == soloist) == (soloist == 0)):
            hand = node["hands"][i]
            following = hand & suit
            if (following if following != 0 else hand) & winning > best:
                ours, certain = not ours, False
    return ours, certain


@kernel
def _score(deal, node, place, suit, ours):
    """Order of moves: first many points for the own side by a weak card, then few lost points; of leads, those with few
    answers."""
    points = 8 * (node["trick"] + deal["points_at"][place])
    score = points if ours else -points
    if node["played"] == 0:
        for i in range(1, 3):
            following = node["hands"][i] & suit
            score -= 8 * count(following if following != 0 else node["hands"][i])
    elif ours:
        score -= place
    return score + 1024


@kernel
def legal_places(node):
    """``int64`` set of the legal places of the seat to act."""
    following = node["hands"][0] & node["led"]
    return following if following != 0 else node["hands"][0]


@kernel
def _find_moves(deal, node):
    """Write the cards worth trying into ``moves``; returns their number.

    One of several linked cards of equal worth suffices. Where the trick's winner is certain, so does the most or least
    valuable of all linked cards.
    """
    left, linked, number = legal_places(node), linked_places(deal, node), 0
    while left != 0:
        card = left & -left
        left ^= card
        place = lowest(card)
        suit = deal["suit_at"][place] if node["played"] == 0 else node["led"]
        ours, certain = _foresee(deal, node, card, suit)
        if card & linked != 0:
            if card & deal["alike"] != 0 or (certain and not ours):
                continue
            if certain:
                number -= 1  # instead of the cheaper one before
        node["moves"][number] = _score(deal, node, place, suit, ours) << 5 | place
        number += 1
    return number


@kernel
def _take_best(moves, first, number):
    """Move the best of ``moves[first:number]`` to ``first``; returns its place."""
    for i in range(first + 1, number):
        if moves[i] > moves[first]:
            moves[first], moves[i] = moves[i], moves[first]
    return moves[first] & 31


# ---- the search ------------------------------------------------------------------------------------------------------


@kernel
def search(deal, nodes, table, depth, need):
    """A bound of the soloist's points from ``nodes[depth]`` on: a lower bound if it reaches ``need``, else an upper
    bound.

    Calls itself with arguments of the same types only: numba would compile a literal's type apart, and could not load
    from disk two functions that call each other (numba issue 6061).
    """
    deal["nodes"] += 1
    node = nodes[depth]
    least, most = np.int64(0), node["rest"]
    if node["played"] == 0:
        if need <= 0:
            return least
        if need > most or node["hands"][0] == 0:
            return most
        least, most = _bounds(deal, table, node)
        if least >= need:
            return least
        if most < need:
            return most
    maximising = node["soloist"] == 0
    value = np.int64(-1) if maximising else np.int64(1000)
    number = _find_moves(deal, node)
    for i in range(number):
        gain = play(deal, node, nodes[depth + 1], _take_best(node["moves"], i, number))
        found = gain + search(deal, nodes, table, depth + 1, need - gain)
        value = max(value, found) if maximising else min(value, found)
        if (value >= need) == maximising:
            break
    if node["played"] == 0:
        if value >= need:
            _store(table, node, value, most)
        else:
            _store(table, node, least, value)
    return value
