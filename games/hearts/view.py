"""What one seat knows, rebuilt from its history alone, token by token.

Seats are relative to the observer: 0 itself, 1 left, 2 across, 3 right. ``games.hearts.hidden`` judges whether a
history could have happened.
"""

import numpy as np

from games.batches import advancing
from games.bits import BIT, count
from games.compiling import kernel
from games.game import ACTION, END, OBSERVATION
from games.hands import record, rule_out
from games.hearts.cards import (
    ALL_CARDS,
    DIRECTIONS,
    NUM_CARDS,
    PASSED_AT,
    POSITIONS,
    RECEIVED_AT,
    ROW,
    SORTED_CARDS,
    TWO_OF_CLUBS_SET,
)
from games.hearts.rules import PUBLIC, first_place, legal_plays, play_card, rest_after

VIEW = record(
    ("public", PUBLIC),  # seats relative
    "hand",  # cards the observer holds
    "dealt",  # cards it was dealt, as far as seen
    "passed",  # cards it has passed
    "received",  # cards it has received
    ("shown", np.int64, 4),  # cards each seat has played
    ("possible", np.int64, 4),  # cards each other seat may hold, meaningful from the first lead on
    "length",  # tokens taken in
    "ended",  # 1 after a token of a wrong kind
    "refuted",  # 1 once a token was seen that could not have come
    ("tokens", np.uint8, ROW),  # the tokens taken in, eos behind them
)

_DIRECTION_TOKEN, _POSITION_TOKEN = np.int64(DIRECTIONS), np.int64(POSITIONS)

# Places of the cards in the order by suit and rank: the cards that come after a card in that order.
_AFTER = np.zeros(NUM_CARDS, dtype=np.int64)
for _i, _card in enumerate(SORTED_CARDS):
    _AFTER[_card] = sum(1 << int(later) for later in SORTED_CARDS[_i + 1 :])


@kernel
def next_of(view):
    """A ``Next``: what the next token of the history is. Trick and ranks alone decide whose turn it is, so this holds
    for impossible histories too; one that leaves the observer no card to play ends."""
    public = view["public"]
    if view["ended"] != 0 or public["num_played"] == NUM_CARDS:
        return END
    length = view["length"]
    passing = public["direction"] != 0 and length >= PASSED_AT and length < RECEIVED_AT
    if not passing and public["turn"] != 0:
        return OBSERVATION
    return ACTION if view["hand"] != 0 else END


@kernel
def own_legal(view):
    """``int64`` set of the legal actions of the observer, whose turn it must be. In an impossible history whose hand
    the rules leave no card, every card of it."""
    if view["public"]["turn"] != 0:
        return view["hand"]
    legal = legal_plays(view["public"], view["hand"])
    return legal if legal != 0 else view["hand"]


# Each of these takes in a token of the right kind, and returns whether it could have come.


@kernel
def _see_direction(view, token):
    view["public"]["direction"] = token - DIRECTIONS
    return token == DIRECTIONS or view["public"]["pass_cards"] != 0


@kernel
def _sorted_card(token, before, drawable, num_missing):
    """Whether ``token`` is a card of ``drawable`` that comes after all of ``before`` in the order by suit and rank,
    and leaves at least ``num_missing`` later ones to be drawn."""
    if drawable & BIT[token] == 0:
        return False
    return _AFTER[token] & before == 0 and count(_AFTER[token] & drawable) >= num_missing


@kernel
def _see_dealt(view, token):
    dealt = view["dealt"]
    possible = _sorted_card(token, dealt, ALL_CARDS & ~dealt, PASSED_AT - 1 - view["length"])
    view["dealt"] = dealt | BIT[token]
    view["hand"] = view["dealt"]
    return possible


@kernel
def _see_own_pass(view, token):
    held = view["hand"] & BIT[token] != 0
    view["hand"] &= ~BIT[token]
    view["passed"] |= BIT[token]
    return held


@kernel
def _see_received(view, token):
    received = view["received"]
    drawable = ALL_CARDS & ~view["dealt"] & ~received
    possible = _sorted_card(token, received, drawable, RECEIVED_AT + 2 - view["length"])
    view["received"] = received | BIT[token]
    view["hand"] |= BIT[token]
    return possible


@kernel
def _see_leader(view, token):
    """From here on it is known where every card may be; unless the first lead is free, the leader holds the two of
    clubs."""
    leader = token - POSITIONS
    possible = _can_lead_first(view, leader)
    hand, passed = view["hand"], view["passed"]
    receiver, free = view["public"]["direction"], view["public"]["free_first_lead"] != 0
    for seat in range(1, 4):
        cards = ALL_CARDS & ~hand
        if seat != leader and not free:
            cards &= ~TWO_OF_CLUBS_SET
        if seat != receiver:
            cards &= ~passed
        view["possible"][seat] = cards
    view["public"]["turn"] = leader
    view["public"]["broken"] = 1 - view["public"]["must_break_hearts"]
    return possible


@kernel
def _can_lead_first(view, leader):
    """Whether this seat can be the leader, as far as the observer knows where the two of clubs is."""
    if view["public"]["free_first_lead"] != 0:
        return True
    if (leader == 0) != (view["hand"] & TWO_OF_CLUBS_SET != 0):
        return False
    return view["passed"] & TWO_OF_CLUBS_SET == 0 or leader == view["public"]["direction"]


@kernel
def _see_play(view, token):
    """Cards that were shown are neither in the observer's hand any more nor possible anywhere else."""
    card, public = BIT[token], view["public"]
    turn = public["turn"]
    if turn == 0:
        possible = legal_plays(public, view["hand"]) & card != 0
        view["hand"] &= ~card
    else:
        rest = rest_after(public, token)
        possible = rest >= 0 and view["possible"][turn] & card != 0
        view["possible"][turn] &= rest
        rule_out(view, card)
    view["shown"][turn] |= card
    play_card(public, token)
    return possible


@kernel
def is_of_kind(view, token):
    """Whether a token is a card where a card is due, or a direction or position where that is."""
    first, behind = np.int64(0), np.int64(NUM_CARDS)
    if view["length"] == 0:
        first, behind = _DIRECTION_TOKEN, _DIRECTION_TOKEN + 4
    elif view["length"] == first_place(view["public"]) - 1:
        first, behind = _POSITION_TOKEN, _POSITION_TOKEN + 4
    return token >= first and token < behind


@kernel
def _see(view, token):
    length, first = view["length"], first_place(view["public"])
    if length == 0:
        return _see_direction(view, token)
    if length < PASSED_AT:
        return _see_dealt(view, token)
    if length >= first:
        return _see_play(view, token)
    if length == first - 1:
        return _see_leader(view, token)
    if length < RECEIVED_AT:
        return _see_own_pass(view, token)
    return _see_received(view, token)


advance = advancing(next_of, is_of_kind, _see)
"""``(view, token)``: take in one token."""
