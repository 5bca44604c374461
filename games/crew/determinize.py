"""Full deals that agree with everything one seat has seen, every division of the unseen cards equally likely."""

import numpy as np

from games.bits import BIT, count, lowest, nth
from games.compiling import kernel
from games.crew.cards import FIRST_POSITION, MAX_TASKS, PINK_9, TASK_CARDS
from games.crew.hidden import lay_places
from games.crew.knowing import pink_holder
from games.crew.places import ACROSS, ACROSS_TO_RIGHT, LEFT, LEFT_TO_ACROSS, NUM_PLACES, RIGHT, divide_places
from games.crew.public import FIRST_ACTION, NAME, PASS
from games.crew.state import act, deal_given
from games.rng import below, next_state, output


@kernel
def determinize(view, state, counter):
    """Fill ``state`` (``blank``) with a deal in which the observer, seat 0, has seen exactly what ``view`` has. The
    view must be consistent, and one that ``can_stand``.

    Every division of the unseen cards, with the two cards that others exchanged in mission 12, is equally likely. Given
    that, so is every card that the others can have passed, and every order of the tasks not yet uncovered.
    """
    public = view["public"]
    drawn, deck = np.zeros(NUM_PLACES, np.int64), np.zeros(MAX_TASKS, np.int64)
    hands, passed = np.zeros(4, np.int64), np.zeros(4, np.int64)
    counter = divide_places(lay_places(view), drawn, counter)
    _gather(view, drawn, hands)
    counter = _undo_passing(view, hands, passed, counter)
    counter = _lay_tasks(public, deck, counter)
    deal_given(state, public["mission"], hands, deck, next_state(counter))
    if view["gained"] != 0:
        state["drawn"][0] = lowest(view["gained"])
        state["drawn"][1] = lowest(view["lost"])
        state["drawn"][2] = lowest(drawn[LEFT_TO_ACROSS])
        state["drawn"][3] = lowest(drawn[ACROSS_TO_RIGHT])
    _replay(view, state, passed)


@kernel
def _gather(view, drawn, hands):
    """Hands as they were before the first trick: mission 12's exchange undone."""
    shown, since = view["public"]["shown"], view["since"]
    hands[0] = view["dealt"]
    hands[1] = shown[1] | drawn[LEFT]
    hands[2] = shown[2] | drawn[ACROSS]
    hands[3] = shown[3] | drawn[RIGHT]
    if view["gained"] != 0:
        hands[1] = (shown[1] & ~since[1]) | (drawn[LEFT] & ~view["lost"]) | drawn[LEFT_TO_ACROSS]
        hands[2] = (shown[2] & ~since[2]) | drawn[ACROSS] | drawn[ACROSS_TO_RIGHT]
        hands[3] = (shown[3] & ~since[3]) | drawn[RIGHT] | view["gained"]


@kernel
def _undo_passing(view, hands, passed, counter):
    """Draw the cards that the others pass: from the hands that they have, or from those they went to."""
    public = view["public"]
    direction = public["direction"]
    if direction == 0:
        return counter
    done = view["received"] != 0
    passed[0] = view["passed"]
    for giver in range(1, 4):
        receiver = (giver + direction) & 3
        if done and receiver == 0:
            passed[giver] = view["received"]
            continue
        choice = hands[receiver if done else giver] & TASK_CARDS
        if done:
            choice = _leave_pink_9(public, giver, choice)
        counter = next_state(counter)
        passed[giver] = np.int64(1) << nth(choice, below(output(counter), count(choice)))
    if done:
        for giver in range(4):
            if (giver + direction) & 3 != 0:
                hands[(giver + direction) & 3] &= ~passed[giver]
        for giver in range(1, 4):
            hands[giver] |= passed[giver]
    return counter


@kernel
def _leave_pink_9(public, giver, choice):
    """The cards of a set that a seat can have passed, given the seat that was dealt the pink 9: only that seat can have
    passed it, and it must have if another seat holds it now."""
    holder = pink_holder(public)
    if holder < 0 or choice & BIT[PINK_9] == 0:
        return choice
    return BIT[PINK_9] if giver == holder else choice & ~BIT[PINK_9]


@kernel
def _lay_tasks(public, deck, counter):
    """Tasks that were uncovered, in their order, and any others behind them."""
    laid = np.int64(0)
    for n in range(MAX_TASKS):
        if n < public["num_laid"]:
            deck[n] = public["tasks"][n]
        else:
            left = TASK_CARDS & ~laid
            counter = next_state(counter)
            deck[n] = nth(left, below(output(counter), count(left)))
        laid |= BIT[deck[n]]
    return counter


@kernel
def _replay(view, state, passed):
    """Replay the observed actions, with the others' hidden passes between them."""
    public = state["public"]
    while state["lengths"][0] < view["length"] or (
        public["phase"] == PASS and view["passed"] == 0 and public["turn"] != 0
    ):
        turn, token = public["turn"], np.int64(view["tokens"][state["lengths"][0]])
        if public["phase"] == PASS and turn != 0:
            token = np.int64(lowest(passed[turn]))
        elif public["phase"] == NAME:
            token = FIRST_POSITION + ((token - FIRST_POSITION - turn) & 3)
        act(state, token)


@kernel
def can_stand(view):
    """Whether a state can stand where this history ends: tokens of chance and of a distress pass come together with the
    tokens before them."""
    public = view["public"]
    if public["phase"] == PASS and view["passed"] != 0:
        return public["commander"] != 1  # the observer is the last to pass
    return public["phase"] >= FIRST_ACTION
