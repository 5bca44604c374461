"""Features that say how good actions are by the estimates here, for networks that learn where those are wrong."""

import numpy as np

from games.batches import feature
from games.bits import each
from games.crew.cards import NUM_CARDS
from games.crew.estimates.cost import cost_of
from games.crew.estimates.notes import NOTES, take_notes
from games.crew.estimates.roles import hear_replies, seat_worth, suits, task_worth
from games.crew.features import choices
from games.crew.legal import free_tasks, legal_plays, may_be_named
from games.crew.public import DRAFT, NAME, PLAY, POLL
from games.crew.view import next_of
from games.features import FeatureSet
from games.game import ACTION

_CLOSE = 0.005
"""Difference in the estimated chance of success that is none."""
_FAR = 8
"""More doublings of it count as this many."""

BY_STRATEGY: dict[str, FeatureSet] = {}


@feature(
    BY_STRATEGY,
    "what ``choices`` says, and where I am to play a card or take a task, by the estimates of ``games.crew.estimates``,"
    " of every legal one: no other is better; how far it is behind the best, in doublings of half a per cent; in"
    " eighths, the chance to succeed after it, or how much better than the others I fulfil the task",
    NUM_CARDS,
    35,
    version=2,
    of_actions=True,
    by_strategy=True,
)
def _estimates(view, rows_of_cards):
    choices(view, rows_of_cards)
    if next_of(view) != ACTION:
        return
    notes = np.zeros(1, NOTES)
    costs, least, legal = np.full(NUM_CARDS, np.inf), np.inf, np.int64(0)
    playing = view["public"]["phase"] == PLAY
    if playing:
        legal = legal_plays(view["public"], view["hand"])
        take_notes(view, notes[0])
    elif view["public"]["phase"] == DRAFT:
        legal = free_tasks(view["public"])
    for card in each(legal):
        costs[card] = cost_of(view, notes[0], card) if playing else -task_worth(view["hand"], card)
        least = min(least, costs[card])
    for card in each(legal):
        row, behind = rows_of_cards[card], costs[card] - least
        row[32] = behind < 1e-9
        while behind > _CLOSE and row[33] < _FAR:
            behind *= 0.5
            row[33] += 1
        row[34] = int(8.0 * min(max(-costs[card], 0.0), 1.0) + 0.5)


@feature(
    BY_STRATEGY,
    "by the same estimates, where I am polled: my hand suits the role, or does not; where I am to name a seat: the best"
    " ones to name, and those that said yes",
    2 + 4 + 4,
    by_strategy=True,
)
def _roles(view, row):
    public = view["public"]
    if next_of(view) != ACTION:
        return
    if public["phase"] == POLL:
        row[0 if suits(view) else 1] = 1
    elif public["phase"] == NAME:
        replies, worth = np.zeros(4, np.int64), np.full(4, -np.inf)
        hear_replies(view, replies)
        for seat in range(4):
            if may_be_named(public, seat):
                worth[seat] = seat_worth(view, replies, seat)
            row[6 + seat] = replies[seat]
        for seat in range(4):
            row[2 + seat] = worth[seat] > worth.max() - 1e-9
