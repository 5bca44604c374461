"""A rule-based player of The Crew.

It takes the tasks that its hand can fulfil, shows the card by radio that helps a task most, and plays the card with the
least estimated chance to fail. The estimate counts the winner of the trick, tasks in it or forced into it, open tasks,
and the card's later value.

It reads its seat's view (``games.crew.view``), never hidden cards, and uses no random numbers.
"""

import numpy as np

from games.bits import each, nth_legal
from games.compiling import kernel
from games.crew.cards import DECLINE, FIRST_POSITION, NO, YES
from games.crew.estimates.cost import cost_of
from games.crew.estimates.notes import NOTES, take_notes
from games.crew.estimates.roles import hear_replies, seat_worth, suits, task_worth
from games.crew.legal import free_tasks, legal_plays, may_be_named
from games.crew.public import DISTRESS, DRAFT, MARK, NAME, PASS, PICK_TILE, PLAY, POLL, TALK
from games.crew.view import own_legal
from search.players.player import RulesPlayer, Turns
from search.scripted.crew.rules.radio import choose_mark, choose_statement
from search.scripted.crew.rules.tasks import choose_pass, choose_signal


class CrewRules(RulesPlayer):
    """Plays The Crew by rules of thumb; deterministic."""

    name, plays = "crew_rules", "crew"

    def decide(self, turns: Turns, views: np.ndarray, chosen: np.ndarray) -> None:
        """See ``RulesPlayer``."""
        choose_batch(views, np.zeros(1, NOTES), chosen)


@kernel
def choose(view, notes, replies):
    """A legal token for the player, whose turn it is."""
    public = view["public"]
    phase = public["phase"]
    if phase == PLAY:
        take_notes(view, notes)
        return choose_card(view, notes)
    if phase == TALK:
        take_notes(view, notes)
        return choose_statement(view, notes)
    if phase == MARK:
        return choose_mark(view)
    if phase == DRAFT:
        return choose_task(view)
    if phase == POLL:
        return np.int64(YES if suits(view) else NO)
    if phase == NAME:
        hear_replies(view, replies)
        return choose_seat(view, replies)
    if phase == PICK_TILE:
        return np.int64(DECLINE)  # tiles stay in place
    if phase == DISTRESS:
        return choose_signal(view)
    if phase == PASS:
        return choose_pass(view)
    return nth_legal(own_legal(view), 0)


@kernel
def choose_card(view, notes):
    """The legal card of the least cost, the lowest of equals."""
    best, least = np.int64(-1), np.inf
    for card in each(legal_plays(view["public"], view["hand"])):
        cost = cost_of(view, notes, card)
        if cost < least - 1e-9:
            best, least = np.int64(card), cost
    return best


@kernel
def choose_task(view):
    """The task that the hand fulfils best, compared with the others' chances."""
    best, most = np.int64(-1), -np.inf
    for card in each(free_tasks(view["public"])):
        worth = task_worth(view["hand"], card)
        if worth > most:
            best, most = np.int64(card), worth
    return best


@kernel
def choose_seat(view, replies):
    """The seat that is best to name, the first of equals; ``replies`` as in ``seat_worth``."""
    best, most = np.int64(-1), -np.inf
    for seat in range(4):
        if not may_be_named(view["public"], seat):
            continue
        worth = seat_worth(view, replies, seat)
        if worth > most:
            best, most = np.int64(FIRST_POSITION + seat), worth
    return best


@kernel
def choose_batch(views, notes, chosen):
    """Decide every row; ``notes`` (``NOTES[1]``) is written over."""
    replies = np.zeros(4, np.int64)
    for row in range(len(views)):
        chosen[row] = choose(views[row], notes[0], replies)
