"""The true state of a deal: four hands, the tasks to come, the public part, and the history every seat has seen."""

import numpy as np

from games.bits import BIT, count, nth
from games.compiling import kernel
from games.crew.allocation import end_passing, pass_on
from games.crew.cards import (
    EOS,
    FIRST_POSITION,
    HAND_SIZE,
    MAX_TASKS,
    NUM_CARDS,
    NUM_COLOUR_CARDS,
    PINK_9,
    ROCKET_4,
    ROW,
    TASK_CARDS,
)
from games.crew.legal import legal_tokens
from games.crew.missions import HEADER_LENGTHS, HEADERS
from games.crew.public import (
    COMMANDER,
    EXCHANGE,
    FIRST_ACTION,
    HOLDER,
    NAME,
    OVER,
    PASS,
    PLAY,
    PUBLIC,
    UNCOVER,
)
from games.crew.rules import begin, step
from games.crew.tricks import begin_trick
from games.dividing import deal_out
from games.hands import state_type
from games.histories import write, write_all, write_cards
from games.rng import below, next_state, output

STATE = state_type(
    PUBLIC,  # seats absolute
    4,
    ROW,
    ("dealt", np.int64, 4),  # cards each seat was dealt
    ("deck", np.int8, MAX_TASKS),  # the task cards in laying order, uncovered or not
    ("passed", np.int64, 4),  # card each seat has passed, -1 without
    ("drawn", np.int64, 4),  # card each seat has drawn in mission 12, -1 without
    ("chance", np.uint64, 4),  # random bits that each seat's draw follows from
)


@kernel
def legal(state):
    """What ``legal_tokens`` returns for the seat to act; empty when the deal is over."""
    public = state["public"]
    return legal_tokens(public, state["hands"][max(public["turn"], 0)])


# ---- the deal ------------------------------------------------------------------------------------------------------


@kernel
def deal(state, seed):
    """Deal a new state: mission, hands, tasks and the draw of mission 12 follow from ``seed`` (``uint64``)."""
    missions = state["public"]["missions"]
    counter = next_state(seed)
    mission = nth(missions, below(output(counter), count(missions)))
    _, counter = deal_out(state["hands"], NUM_CARDS, HAND_SIZE, counter)
    laid = np.int64(0)
    for n in range(MAX_TASKS):
        counter = next_state(counter)
        left = TASK_CARDS & ~laid
        card = nth(left, below(output(counter), NUM_COLOUR_CARDS - n))
        state["deck"][n] = card
        laid |= BIT[card]
    _start(state, mission, next_state(counter))


@kernel
def deal_given(state, mission, hands, deck, chance):
    """Deal given hands (``int64[4]`` disjoint sets of 10 cards) and task cards (``int64[10]``, as many as the mission
    has) for a mission by its number. The draw of mission 12 follows from ``chance`` (``uint64``), or from what is
    written to ``drawn`` afterwards."""
    for seat in range(4):
        state["hands"][seat] = hands[seat]
    for n in range(MAX_TASKS):
        state["deck"][n] = deck[n]
    _start(state, mission, chance)


@kernel
def _start(state, mission, counter):
    for seat in range(4):
        state["passed"][seat] = -1
        state["drawn"][seat] = -1
        state["chance"][seat] = output(counter)
        counter = next_state(counter)
        state["dealt"][seat] = state["hands"][seat]
        for place in range(HEADER_LENGTHS[mission]):
            write(state, seat, HEADERS[mission, place])
        write_cards(state, seat, state["hands"][seat])
    begin(state["public"], mission)
    _go_on(state)


@kernel
def _announce_position(state, position):
    """Announce the seat ``position`` to every seat, in a token relative to it."""
    for seat in range(4):
        write(state, seat, FIRST_POSITION + ((position - seat) & 3))
    step(state["public"], np.int64(FIRST_POSITION + position))


@kernel
def _holder(state, card):
    seat = 0
    while state["hands"][seat] & BIT[card] == 0:
        seat += 1
    return seat


@kernel
def _go_on(state):
    """Show what chance shows until a seat is to act, or the deal is over."""
    public = state["public"]
    while public["phase"] < FIRST_ACTION:
        phase = public["phase"]
        if phase == UNCOVER:
            card = np.int64(state["deck"][public["num_laid"]])
            write_all(state, card)
            step(public, card)
        elif phase == COMMANDER:
            _announce_position(state, _holder(state, ROCKET_4))
        elif phase == HOLDER:
            _announce_position(state, _holder(state, PINK_9))
        elif phase == EXCHANGE:
            _exchange(state)
    if public["phase"] == OVER:
        write_all(state, EOS)


@kernel
def _exchange(state):
    """Every seat draws a card of the seat before it, all at once; each sees the card it loses and the one it gains.
    A card shown by radio stays where it is, unless the option ``shown_card`` lets it be drawn."""
    public, hands, drawn = state["public"], state["hands"], state["drawn"]
    for seat in range(4):
        giver = (seat + 3) & 3
        cards = hands[giver]
        if public["said"][giver] >= 0 and public["shown_card"] == 0:
            cards &= ~BIT[public["said"][giver]]
        if drawn[seat] < 0:
            drawn[seat] = nth(cards, below(state["chance"][seat], count(cards)))
    for seat in range(4):
        lost, gained = drawn[(seat + 1) & 3], drawn[seat]
        hands[seat] = (hands[seat] & ~BIT[lost]) | BIT[gained]
        write(state, seat, lost)
        write(state, seat, gained)
    begin_trick(public, public["winner"])


# ---- actions -------------------------------------------------------------------------------------------------------


@kernel
def act(state, token):
    """The seat to act does ``token``; every history gains what its seat sees. Legality is not checked."""
    public = state["public"]
    phase, turn = public["phase"], public["turn"]
    if phase == PASS:
        _pass_card(state, token)
    elif phase == NAME:
        _announce_position(state, (turn + token - FIRST_POSITION) & 3)
    else:
        if phase == PLAY:
            state["hands"][turn] &= ~BIT[token]
        write_all(state, token)
        step(public, token)
    _go_on(state)


@kernel
def _pass_card(state, card):
    """Only the own history gains the card; after the fourth each receiver's gains the one it gets."""
    public = state["public"]
    giver = public["turn"]
    state["hands"][giver] &= ~BIT[card]
    state["passed"][giver] = card
    write(state, giver, card)
    pass_on(public)
    if public["num_passed"] == 4:
        for seat in range(4):
            gained = state["passed"][(seat - public["direction"]) & 3]
            state["hands"][seat] |= BIT[gained]
            write(state, seat, gained)
        end_passing(public)
