"""What one seat knows, rebuilt from its history alone, token by token.

Seats are relative to the observer: 0 itself, 1 left, 2 across, 3 right. ``games.hearts.hidden`` judges whether a
history could have happened.
"""

import numpy as np

from games.bits import count
from games.compiling import kernel
from games.game import Next
from games.hearts.cards import (
    ALL_CARDS,
    BIT,
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

VIEW = np.dtype(
    [
        ("public", PUBLIC),  # seats relative
        ("hand", np.int64),  # cards the observer holds
        ("dealt", np.int64),  # cards it was dealt, as far as seen
        ("passed", np.int64),  # cards it has passed
        ("received", np.int64),  # cards it has received
        ("shown", np.int64, 4),  # cards each seat has played
        ("possible", np.int64, 4),  # cards each other seat may hold, meaningful from the first lead on
        ("length", np.int64),  # tokens taken in
        ("ended", np.int64),  # 1 after a token of a wrong kind
        ("refuted", np.int64),  # 1 once a token was seen that could not have come
        ("tokens", np.uint8, ROW),  # the tokens taken in, eos behind them
    ]
)

_OBSERVATION, _ACTION, _END = int(Next.OBSERVATION), int(Next.ACTION), int(Next.END)
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
        return _END
    length = view["length"]
    passing = public["direction"] != 0 and length >= PASSED_AT and length < RECEIVED_AT
    if not passing and public["turn"] != 0:
        return _OBSERVATION
    return _ACTION if view["hand"] != 0 else _END


@kernel
def own_legal(view):
    """``int64`` set of the legal actions of the observer, whose turn it must be. In an impossible history whose hand
    the rules leave no card, every card of it."""
    if view["public"]["turn"] != 0:
        return view["hand"]
    legal = legal_plays(view["public"], view["hand"])
    return legal if legal != 0 else view["hand"]


@kernel
def advance(view, token):
    """Take in one token. A token of a wrong kind, no card where a card is due, ends the history. One of the right kind
    that cannot be, such as a card already seen, is carried on: the history is merely inconsistent from then on. At its
    end a view stays as it is."""
    if next_of(view) == _END:
        return
    length = view["length"]
    base, size = np.int64(0), np.int64(NUM_CARDS)  # the tokens of the kind that is due: base .. base + size - 1
    if length == 0:
        base, size = _DIRECTION_TOKEN, np.int64(4)
    elif length == first_place(view["public"]) - 1:
        base, size = _POSITION_TOKEN, np.int64(4)
    if token < base or token >= base + size:
        view["ended"] = 1
        return
    if length == 0:
        possible = _see_direction(view, token)
    elif length < PASSED_AT:
        possible = _see_dealt(view, token)
    elif base != 0:
        possible = _see_leader(view, token)
    elif length >= first_place(view["public"]):
        possible = _see_play(view, token)
    elif length < RECEIVED_AT:
        possible = _see_own_pass(view, token)
    else:
        possible = _see_received(view, token)
    if not possible:
        view["refuted"] = 1
    view["tokens"][length] = token
    view["length"] = length + 1


# Each of these takes in a token of the right kind, and returns whether it could have come.


@kernel
def _see_direction(view, token):
    view["public"]["direction"] = token - DIRECTIONS
    return token == DIRECTIONS or view["public"]["pass_cards"] != 0


@kernel
def sorted_card(token, before, drawable, num_missing):
    """Whether ``token`` is a card of ``drawable`` that comes after all of ``before`` in the order by suit and rank,
    and leaves at least ``num_missing`` later ones to be drawn."""
    if drawable & BIT[token] == 0:
        return False
    return _AFTER[token] & before == 0 and count(_AFTER[token] & drawable) >= num_missing


@kernel
def _see_dealt(view, token):
    dealt = view["dealt"]
    possible = sorted_card(token, dealt, ALL_CARDS & ~dealt, PASSED_AT - 1 - view["length"])
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
    possible = sorted_card(token, received, drawable, RECEIVED_AT + 2 - view["length"])
    view["received"] = received | BIT[token]
    view["hand"] |= BIT[token]
    return possible


@kernel
def _see_leader(view, token):
    """From here on it is known where every card may be; unless the first lead is free, the leader holds the two of
    clubs."""
    leader = token - POSITIONS
    possible = can_lead_first(view, leader)
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
def can_lead_first(view, leader):
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
        for seat in range(1, 4):
            view["possible"][seat] &= ~card
    view["shown"][turn] |= card
    play_card(public, token)
    return possible
