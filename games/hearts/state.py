"""The true state of a deal: four hands, the public part, and the history every seat has seen."""

import numpy as np

from games.bits import BIT, each
from games.compiling import kernel
from games.hearts.cards import (
    DEALT_AT,
    DIRECTIONS,
    NUM_CARDS,
    PASSED_AT,
    POSITIONS,
    RECEIVED_AT,
    ROW,
    SORTED_CARDS,
    SUIT_CARDS,
    TWO_OF_CLUBS_SET,
)
from games.hearts.rules import PUBLIC, first_place, legal_plays, play_card
from games.rng import below, next_state, output

STATE = np.dtype(
    [
        ("public", PUBLIC),  # seats absolute
        ("hands", np.int64, 4),  # cards each seat holds
        ("passed", np.int64, 4),  # cards each seat has passed
        ("num_passed", np.int64),  # by all seats together, 0..12
        ("tokens", np.uint8, (4, ROW)),  # history of every seat, eos behind its end
    ]
)


@kernel
def to_move(state):
    """The seat to act, -1 when the deal is over."""
    public = state["public"]
    if public["direction"] != 0 and state["num_passed"] < 12:
        return state["num_passed"] // 3
    return public["turn"]


@kernel
def legal_actions(state):
    """``int64`` set of the cards the seat to act may pass or play."""
    seat = to_move(state)
    if seat < 0:
        return np.int64(0)
    public = state["public"]
    if public["turn"] < 0:
        return state["hands"][seat]
    return legal_plays(public, state["hands"][seat])


@kernel
def history_length(state, seat):
    """Tokens in a seat's history, ``eos`` included once the deal is over."""
    public = state["public"]
    if public["turn"] >= 0:
        return first_place(public) + public["num_played"]
    if public["num_played"] == 52:
        return first_place(public) + 53
    return PASSED_AT + min(max(state["num_passed"] - 3 * seat, 0), 3)


@kernel
def deal(state, seed):
    """Deal a new state: direction and hands follow from ``seed`` (``uint64``).

    Card after card, in the order of the histories, goes to a seat with probability proportional to the room left in
    its hand: the distribution of a shuffled deck, without a deck.
    """
    counter = next_state(seed)
    direction = below(output(counter), 4) if state["public"]["pass_cards"] != 0 else 0
    before_1, before_2, before_3 = 13, 26, 39
    held = 0  # cards of the four seats so far, eight bits each
    for i in range(NUM_CARDS):
        counter = next_state(counter)
        drawn = below(output(counter), NUM_CARDS - i)
        seat = int(drawn >= before_1) + int(drawn >= before_2) + int(drawn >= before_3)
        before_1 -= int(seat < 1)
        before_2 -= int(seat < 2)
        before_3 -= int(seat < 3)
        card = SORTED_CARDS[i]
        state["hands"][seat] |= BIT[card]
        state["tokens"][seat, DEALT_AT + ((held >> (8 * seat)) & 255)] = card
        held += 1 << (8 * seat)
    start(state, direction, 0)


@kernel
def deal_hands(state, direction, hands, leader):
    """Deal given hands (``int64[4]`` disjoint sets of 13 cards) with a given pass direction; ``leader`` leads first
    where that is free."""
    for seat in range(4):
        state["hands"][seat] = hands[seat]
        _write_sorted(state, seat, DEALT_AT, hands[seat])
    start(state, direction, leader)


@kernel
def start(state, direction, leader):
    """Announce the pass direction to all seats; without passing the first lead follows at once."""
    public = state["public"]
    public["direction"] = direction
    public["broken"] = 1 - public["must_break_hearts"]
    for seat in range(4):
        state["tokens"][seat, 0] = DIRECTIONS + direction
    if direction == 0:
        _begin_play(state, leader)


@kernel
def act(state, card):
    """The seat to act passes or plays ``card``; every history gains what its seat sees. Legality is not checked."""
    if state["public"]["turn"] < 0:
        _pass_card(state, card)
    else:
        _play_card(state, card)


@kernel
def _play_card(state, card):
    public = state["public"]
    state["hands"][public["turn"]] &= ~BIT[card]
    place = first_place(public) + public["num_played"]
    for seat in range(4):
        state["tokens"][seat, place] = card
    play_card(public, card)


@kernel
def _pass_card(state, card):
    num_passed = state["num_passed"]
    seat = num_passed // 3
    state["hands"][seat] &= ~BIT[card]
    state["passed"][seat] |= BIT[card]
    state["tokens"][seat, PASSED_AT + num_passed - 3 * seat] = card
    state["num_passed"] = num_passed + 1
    if num_passed == 11:
        for giver in range(4):
            receiver = (giver + state["public"]["direction"]) & 3
            state["hands"][receiver] |= state["passed"][giver]
            _write_sorted(state, receiver, RECEIVED_AT, state["passed"][giver])
        _begin_play(state, 0)


@kernel
def _begin_play(state, leader):
    if state["public"]["free_first_lead"] == 0:
        leader = 0
        while state["hands"][leader] & TWO_OF_CLUBS_SET == 0:
            leader += 1
    state["public"]["turn"] = leader
    place = first_place(state["public"]) - 1
    for seat in range(4):
        state["tokens"][seat, place] = POSITIONS + ((leader - seat) & 3)


@kernel
def _write_sorted(state, seat, place, cards):
    for suit in range(4):
        for card in each(cards & SUIT_CARDS[suit]):
            state["tokens"][seat, place] = card
            place += 1
