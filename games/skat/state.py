"""The true state of a deal: three hands, the talon, the public part, and the history every seat has seen."""

import numpy as np

from games.bits import BIT, count
from games.compiling import kernel
from games.dividing import deal_out
from games.hands import state_type
from games.histories import write, write_all, write_cards
from games.skat.cards import ALL_CARDS, EOS, FIRST_SEAT, HAND_SIZE, NUM_CARDS, OUVERT, ROW
from games.skat.legal import legal_tokens
from games.skat.rules import (
    AUCTION,
    CHOICE,
    DECLARATION,
    DISCARD,
    MODIFIER,
    OVER,
    PUBLIC,
    begin,
    call,
    choose,
    declare,
    is_revealed,
    modify,
    play_card,
    result,
)

STATE = state_type(
    PUBLIC,
    3,
    ROW,
    ("dealt", np.int64, 3),  # cards each seat was dealt
    "talon",  # the two cards not dealt to a seat
    "laid",  # the soloist's discards
)


@kernel
def legal(state):
    """What ``legal_tokens`` returns for the seat to act; empty when the deal is over."""
    turn = state["public"]["turn"]
    return legal_tokens(state["public"], state["hands"][max(turn, 0)], state["laid"])


# ---- the deal ------------------------------------------------------------------------------------------------------


@kernel
def deal(state, seed):
    """Deal a new state: three hands and the talon follow from ``seed`` (``uint64``)."""
    state["talon"], _ = deal_out(state["hands"], NUM_CARDS, HAND_SIZE, seed)
    _start(state)


@kernel
def deal_hands(state, hands):
    """Deal given hands (``int64[3]`` disjoint sets of 10 cards); the two cards left are the talon."""
    state["talon"] = ALL_CARDS
    for seat in range(3):
        state["hands"][seat] = hands[seat]
        state["talon"] &= ~hands[seat]
    _start(state)


@kernel
def _start(state):
    for seat in range(3):
        state["dealt"][seat] = state["hands"][seat]
        write(state, seat, FIRST_SEAT + seat)
        write_cards(state, seat, state["hands"][seat])
    begin(state["public"])


# ---- actions -------------------------------------------------------------------------------------------------------


@kernel
def act(state, token):
    """The seat to act does ``token``; every history gains what its seat sees. Legality is not checked."""
    public = state["public"]
    phase = public["phase"]
    if phase == DISCARD:
        _discard(state, token)
        return
    write_all(state, token)
    if phase == AUCTION:
        call(public, token)
    elif phase == CHOICE:
        choose(public, token)
        if public["picked_up"] != 0:
            _pick_up(state)
    elif phase == DECLARATION:
        declare(public, token)
    elif phase == MODIFIER:
        modify(public, token)
        if public["modifier"] == OUVERT:
            _show_hand(state)
    else:
        state["hands"][public["turn"]] &= ~BIT[token]
        play_card(public, token)
    if public["phase"] == OVER:
        if is_revealed(public):
            _reveal(state)
        write_all(state, EOS)


@kernel
def _pick_up(state):
    soloist = state["public"]["soloist"]
    state["hands"][soloist] |= state["talon"]
    write_cards(state, soloist, state["talon"])


@kernel
def _discard(state, card):
    """Only the soloist's own history gains it."""
    public = state["public"]
    soloist = public["soloist"]
    state["hands"][soloist] &= ~BIT[card]
    state["laid"] |= BIT[card]
    write(state, soloist, card)
    if count(state["laid"]) == 2:
        public["phase"] = DECLARATION


@kernel
def _show_hand(state):
    soloist = state["public"]["soloist"]
    for seat in range(3):
        if seat != soloist:
            write_cards(state, seat, state["hands"][soloist])


@kernel
def _reveal(state):
    """Show every seat its unseen cards of the soloist's hand and the talon, both in one order."""
    public = state["public"]
    soloist = public["soloist"]
    for seat in range(3):
        cards = state["talon"]
        if seat != soloist and public["modifier"] != OUVERT:
            cards |= state["hands"][soloist]
        write_cards(state, seat, cards)


# ---- the end -------------------------------------------------------------------------------------------------------


@kernel
def twelve_of(state):
    """``int64`` set: the soloist's hand and the talon as dealt."""
    return state["dealt"][state["public"]["soloist"]] | state["talon"]


@kernel
def aside_of(state):
    """``int64`` set: the two cards that count for the soloist without being played."""
    return state["laid"] if state["public"]["picked_up"] != 0 else state["talon"]


@kernel
def result_of(state):
    """``rules.result`` of a finished deal that has a soloist."""
    return result(state["public"], twelve_of(state), aside_of(state))
