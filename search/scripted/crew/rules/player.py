"""A rule-based player of The Crew.

It takes the tasks that its hand can fulfil, shows the card by radio that helps a task most, and plays the card with the
least estimated chance to fail. The estimate counts the winner of the trick, tasks in it or forced into it, open tasks,
and the card's later value.

It reads its seat's view (``games.crew.view``), never hidden cards, and uses no random numbers.
"""

import numpy as np

from games.bits import lowest, nth_legal
from games.compiling import kernel
from games.crew.cards import NO, YES
from games.crew.estimates.cost import cost_of
from games.crew.estimates.notes import NOTES, take_notes
from games.crew.legal import legal_plays
from games.crew.missions import FOUR_AND_LAST
from games.crew.public import DISTRESS, DRAFT, MARK, NAME, PASS, PICK_TILE, PLAY, POLL, TALK
from games.crew.view import own_legal
from search.players.player import RulesPlayer, Turns
from search.scripted.crew.rules.radio import choose_mark, choose_statement
from search.scripted.crew.rules.tasks import (
    choose_pass,
    choose_reply,
    choose_seat,
    choose_signal,
    choose_task,
    choose_tile,
)


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
        return choose_reply(view)
    if phase == NAME:
        hear_replies(view, replies)
        return choose_seat(view, replies)
    if phase == PICK_TILE:
        return choose_tile()
    if phase == DISTRESS:
        return choose_signal(view)
    if phase == PASS:
        return choose_pass(view)
    return nth_legal(own_legal(view), 0)


@kernel
def choose_card(view, notes):
    """The legal card of the least cost, the lowest of equals."""
    best, least = np.int64(-1), np.inf
    rest = legal_plays(view["public"], view["hand"])
    while rest != 0:
        card = lowest(rest)
        rest &= rest - 1
        cost = cost_of(view, notes, card)
        if cost < least - 1e-9:
            best, least = np.int64(card), cost
    return best


@kernel
def hear_replies(view, replies):
    """Write 1 for every seat that said ``yes`` in the last poll, read from the end of the history. A seat with a role
    in mission 50 was not polled for the other role."""
    replies[:] = 0
    place = view["length"] - 1
    for seat in range(3, 0, -1):
        asked = view["public"]["special"] & FOUR_AND_LAST == 0 or view["public"]["named"] != seat
        if asked and place >= 0 and (view["tokens"][place] == YES or view["tokens"][place] == NO):
            replies[seat] = int(view["tokens"][place] == YES)
            place -= 1


@kernel
def choose_batch(views, notes, chosen):
    """Decide every row; ``notes`` (``NOTES[1]``) is written over."""
    replies = np.zeros(4, np.int64)
    for row in range(len(views)):
        chosen[row] = choose(views[row], notes[0], replies)
