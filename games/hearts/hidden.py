"""Where the cards can lie that one seat has not seen, and so whether its history could have happened and what can come
next: judged exactly at every point. Each observed play restricts what the rest of that seat's hand may be, and the
cards never seen must fit into the hands of the others within those restrictions (Hall's condition)."""

import numpy as np

from games.bits import BIT, count, lowest, mark
from games.compiling import kernel
from games.game import ACTION, END
from games.hearts.cards import ALL_CARDS, DIRECTIONS, PASSED_AT, POSITIONS, RECEIVED_AT
from games.hearts.rules import first_place, rest_after
from games.hearts.view import can_lead_first, next_of, own_legal, sorted_card

_DIRECTION_TOKEN, _POSITION_TOKEN = np.int64(DIRECTIONS), np.int64(POSITIONS)


@kernel
def room(view, seat):
    """Cards another seat still holds, from the first lead on."""
    return 13 - count(view["shown"][seat])


@kernel
def unseen(view):
    """``int64`` set of the cards that lie in the hands of the others, from the first lead on."""
    shown = view["shown"]
    return ALL_CARDS & ~(view["hand"] | shown[0] | shown[1] | shown[2] | shown[3])


@kernel
def is_consistent(view):
    """Whether some deal and some legal play of the others give this history.

    Until the first lead nothing but the order of the cards restricts a history. From then on the unseen cards must
    be divisible among the other seats: no set of seats may be the only home of more cards than it has room for.
    """
    if view["ended"] != 0 or view["refuted"] != 0:
        return False
    public = view["public"]
    if public["turn"] < 0:
        return True
    for seats in range(8):
        at_home, places = _only_home(view, seats, 0, ALL_CARDS)
        if count(at_home) > places:
            return False
    return True


@kernel
def _only_home(view, seats, turn, rest):
    """``(cards, places)``: the unseen cards that only ``seats`` may hold, and how many cards these still hold;
    ``seats`` is a set of the others: bit 0 left, 1 across, 2 right. ``turn`` holds none but ``rest``."""
    cards, places = unseen(view), 0
    for seat in range(1, 4):
        if seats >> (seat - 1) & 1 != 0:
            places += room(view, seat)
        else:
            cards &= ~(view["possible"][seat] & (rest if seat == turn else ALL_CARDS))
    return cards, places


@kernel
def possible_tokens(view):
    """``int64`` set of the tokens after which the history is still consistent, bit ``t`` for token ``t``."""
    following, length = next_of(view), view["length"]
    if following == END or not is_consistent(view):
        return np.int64(0)
    if following == ACTION:  # what a seat may do by the rules it can always have done
        return own_legal(view)
    if length == 0:
        tokens = np.int64(0b1111 if view["public"]["pass_cards"] != 0 else 0b0001)
        return tokens << _DIRECTION_TOKEN
    if length < PASSED_AT:
        return _sorted_cards(view["dealt"], ALL_CARDS & ~view["dealt"], PASSED_AT - 1 - length)
    if length < first_place(view["public"]) - 1:
        drawable = ALL_CARDS & ~view["dealt"] & ~view["received"]
        return _sorted_cards(view["received"], drawable, RECEIVED_AT + 2 - length)
    return _leaders(view) if view["public"]["turn"] < 0 else _plays(view)


@kernel
def mark_possible(view, row):
    """Mark ``possible_tokens`` in ``bool[V]``, given all False."""
    mark(possible_tokens(view), row)


@kernel
def _leaders(view):
    """Set of the tokens of the seats that can be the leader."""
    tokens = np.int64(0)
    for leader in range(4):
        if can_lead_first(view, leader):
            tokens |= np.int64(1) << (_POSITION_TOKEN + leader)
    return tokens


@kernel
def _plays(view):
    """Set of the cards that another seat, whose turn it is, can play in a consistent history. Cards that say the same
    about the rest of its hand are looked at together."""
    public = view["public"]
    turn = public["turn"]
    cards, untried = np.int64(0), unseen(view) & view["possible"][turn]
    while untried != 0:
        rest, alike, left = rest_after(public, lowest(untried)), np.int64(0), untried
        while left != 0:
            card = lowest(left)
            if rest_after(public, card) == rest:
                alike |= BIT[card]
            left &= left - 1
        untried &= ~alike
        if rest >= 0:
            cards |= _fitting(view, turn, rest, alike)
    return cards


@kernel
def _fitting(view, turn, rest, cards):
    """Those of ``cards`` after which the unseen ones can be divided: ``turn`` has played one, and holds none but
    ``rest``. Where some seats are the only home of one card too many, it is one of these that must be played."""
    for seats in range(8):
        at_home, places = _only_home(view, seats, turn, rest)
        too_many = count(at_home) - places + (seats >> (turn - 1) & 1)
        if too_many > 1:
            return np.int64(0)
        if too_many == 1:
            cards &= at_home
    return cards


@kernel
def _sorted_cards(before, drawable, num_missing):
    """Set of the cards that ``sorted_card`` lets come next."""
    cards, left = np.int64(0), drawable
    while left != 0:
        card = lowest(left)
        if sorted_card(card, before, drawable, num_missing):
            cards |= BIT[card]
        left &= left - 1
    return cards
