"""Games of cards held in hands, played in tricks: their records, and what one seat knows of the hands of others.

Seats in a view are relative to its observer, who is seat 0.
"""

from typing import Any

import numpy as np

from games.bits import BIT, count
from games.compiling import kernel
from games.dividing import divide, fits

Field = str | tuple[Any, ...]
"""A field of a record, as ``np.dtype`` takes it; a name alone is an ``int64``."""


def record(*fields: Field) -> np.dtype:
    """The type of a record."""
    return np.dtype([(field, np.int64) if isinstance(field, str) else field for field in fields])


def public_type(num_seats: int, *more: Field) -> np.dtype:
    """The record of what all see: ``more``; the seat whose ``turn`` it is, -1 for none; then the play.

    ``num_played`` cards were played, ``shown`` by each seat (sets). Of the ``trick`` on the table a suit was ``led``;
    ``high`` is its best card so far, played by ``winner``. Each seat has won so many ``tricks``, and ``taken`` their
    cards.
    """
    by_seat: list[Field] = [(name, np.int64, num_seats) for name in ("tricks", "taken", "shown")]
    return record(*more, "turn", "num_played", "trick", "led", "high", "winner", *by_seat)


def state_type(public: np.dtype, num_seats: int, max_length: int, *more: Field) -> np.dtype:
    """The record of a true state: ``public``, ``hands`` (cards that each seat holds), ``more``, and every seat's
    history (``games.histories``)."""
    histories: list[Field] = [("lengths", np.int64, num_seats), ("tokens", np.uint8, (num_seats, max_length))]
    return record(("public", public), ("hands", np.int64, num_seats), *more, *histories)


def view_type(public: np.dtype, num_places: int, max_length: int, *more: Field) -> np.dtype:
    """The record of a view. Sets of cards: ``dealt`` to the observer, and its ``hand`` now; ``unseen``, those that it
    has never seen; ``possible``, those of them that may lie in each place. Places are the seats, the observer's without
    any, and one more where some cards are in no hand.

    Then ``more``, and what ``games.batches.advancing`` writes: ``length``, ``ended``, ``refuted`` and ``tokens``.
    """
    sets: list[Field] = ["hand", "dealt", "unseen", ("possible", np.int64, num_places)]
    return record(("public", public), *sets, *more, "length", "ended", "refuted", ("tokens", np.uint8, max_length))


# ---- tricks


@kernel
def following(hand, suit):
    """The cards of a hand that follow suit, all of them where none does; ``suit``: all its cards (sets)."""
    in_suit = hand & suit
    return in_suit if in_suit != 0 else hand


@kernel
def play_into_trick(public, card, suit, is_best):
    """The seat to act plays a card, which counts as ``suit``; ``is_best``: no card of this trick is better. The turn
    goes to the next seat, or to the winner, who takes a full trick; returns whether it was full."""
    turn, num_seats = public["turn"], len(public["tricks"])
    if public["trick"] == 0:
        public["led"] = suit
    if is_best:
        public["high"] = card
        public["winner"] = turn
    public["trick"] |= BIT[card]
    public["shown"][turn] |= BIT[card]
    public["num_played"] += 1
    public["turn"] = (turn + 1) % num_seats
    if public["num_played"] % num_seats != 0:
        return False
    winner = public["winner"]
    public["tricks"][winner] += 1
    public["taken"][winner] |= public["trick"]
    public["trick"] = 0
    public["turn"] = winner
    return True


# ---- what a view knows; kernels that take in a card return whether it can have come


@kernel
def comes_next(card, before, drawable, num_missing):
    """Whether a card of ``drawable`` (sets) is above all of ``before`` and leaves ``num_missing`` higher ones: whether
    it comes next of cards that are seen in their order."""
    return drawable & BIT[card] != 0 and before >> card == 0 and count(drawable >> card) > num_missing


@kernel
def see_dealt(view, card, all_cards, num_missing):
    """The observer is dealt a card of ``all_cards``, with ``num_missing`` higher ones to come. After the last, any
    other card may lie in any other place."""
    possible = comes_next(card, view["dealt"], all_cards, num_missing)
    view["dealt"] |= BIT[card]
    view["hand"] = view["dealt"]
    if num_missing == 0:
        view["unseen"] = all_cards & ~view["dealt"]
        view["possible"][1:] = view["unseen"]
    return possible


@kernel
def rule_out(view, cards):
    """Cards (a set) lie in no place any more."""
    for place in range(len(view["possible"])):
        view["possible"][place] &= ~cards


@kernel
def see_card(view, card):
    """A card that the observer has never seen lies open."""
    possible = view["unseen"] & BIT[card] != 0
    view["unseen"] &= ~BIT[card]
    rule_out(view, BIT[card])
    return possible


@kernel
def see_play(view, card, rest):
    """The seat whose turn it is plays a card, after which its hand holds none but ``rest``."""
    turn = view["public"]["turn"]
    if turn == 0:
        possible = view["hand"] & BIT[card] != 0
        view["hand"] &= ~BIT[card]
        return possible
    possible = view["possible"][turn] & BIT[card] != 0
    view["possible"][turn] &= rest
    return see_card(view, card) and possible


@kernel
def rooms(view, hand_size):
    """``int64[places]``: hidden cards in every place; a place beside the seats has those that are in no hand."""
    room, shown = np.zeros(len(view["possible"]), np.int64), view["public"]["shown"]
    for seat in range(1, len(shown)):
        room[seat] = hand_size - count(shown[seat])
    if len(room) > len(shown):
        room[len(shown)] = count(view["unseen"]) - room.sum()
    return room


@kernel
def hands_fit(view, hand_size):
    """Whether the history could have happened: no token was wrong or impossible, and the unseen cards fit into the
    places where they may lie."""
    if view["ended"] != 0 or view["refuted"] != 0:
        return False
    return view["unseen"] == 0 or fits(view["unseen"], view["possible"], rooms(view, hand_size))


@kernel
def hands_as_dealt(view, hand_size, counter):
    """``(hands, counter)``: hands of all seats before the first card was played (``int64[places]`` sets), the hidden
    cards drawn at random; then the next random counter."""
    hands, counter = divide(view["unseen"], view["possible"], rooms(view, hand_size), counter)
    for seat in range(1, len(view["public"]["shown"])):
        hands[seat] |= view["public"]["shown"][seat]
    hands[0] = view["dealt"]
    return hands, counter
