"""What one seat knows, rebuilt from its history alone, token by token.

Seats are relative to the observer: 0 itself, 1 left, 2 across, 3 right. Whether a history could have happened is for
``games.crew.hidden`` to judge, from what ``games.crew.knowing`` keeps of the other hands.
"""

import numpy as np

from games.batches import advancing
from games.bits import BIT, is_legal, lowest
from games.compiling import kernel
from games.crew.allocation import end_passing, task_of
from games.crew.cards import (
    ALL_CARDS,
    FIRST_MARK,
    FIRST_POSITION,
    HAND_SIZE,
    NUM_CARDS,
    NUM_COLOUR_CARDS,
    PINK_9,
    ROCKET_4,
    ROW,
    SILENT,
)
from games.crew.knowing import (
    hear_card,
    hear_mark,
    lies_with,
    may_be_drawn,
    see_exchanged,
    see_play,
    see_received,
)
from games.crew.legal import legal_tokens, may_be_named
from games.crew.missions import HEADER_LENGTHS, HEADERS, NUM_MISSIONS
from games.crew.public import PUBLIC
from games.crew.rules import begin, step
from games.crew.tricks import begin_trick
from games.game import ACTION, END, OBSERVATION
from games.hands import comes_next, record

VIEW = record(
    ("public", PUBLIC),  # seats relative
    "hand",  # cards the observer holds; the one it loses in mission 12 until it sees the one it gains
    "dealt",  # cards it was dealt, as far as seen
    "passed",  # the card it has passed after a distress signal, as a set, as the next three
    "received",  # the card it has received then
    "lost",  # the card it has lost in mission 12
    "gained",  # the card it has gained then
    ("possible", np.int64, 4),  # cards each other seat may hold, meaningful once the own are dealt
    ("before", np.int64, 4),  # those it may have held before mission 12's exchange
    ("since", np.int64, 4),  # cards it has played after that
    ("some", np.int64, 4),  # when it spoke, it held one of these
    ("high", np.int64, 4),  # or, where both sets are given, not both one of these
    ("low", np.int64, 4),  # and one of these
    ("early", np.int64, 4),  # 1 if it spoke before the exchange
    "fitting",  # missions whose header begins as this one: bit m for mission m
    "length",  # tokens taken in
    "ended",  # 1 after a token of a wrong kind, or one that the rules forbid whatever the hands
    "refuted",  # 1 once a token was seen that could not have come
    ("tokens", np.uint8, ROW),  # the tokens taken in, eos behind them
)

(
    HEADER,
    DEALT,
    SEES_COMMANDER,
    SEES_HOLDER,
    SEES_TASK,
    RECEIVES,
    LOSES,
    GAINS,
    PASSES,
    PICKS,
    PLACES_TILE,
    DRAFTS,
    REPLIES,
    NAMES,
    SIGNALS,
    DIRECTS,
    SHOWS,
    MARKS,
    PLAYS,
    ENDED,
) = range(20)
"""What the next token of a history is: the mission, own cards, what chance shows, a card passed (its own seat sees it
alone), what a seat does before all, nothing."""
_ACTIONS = (PICKS, PLACES_TILE, DRAFTS, REPLIES, NAMES, SIGNALS, DIRECTS, PASSES, SHOWS, MARKS, PLAYS)
_STAGE_OF = np.array([HEADER, SEES_COMMANDER, SEES_HOLDER, SEES_TASK, LOSES, *_ACTIONS, ENDED], np.int64)
"""Stage of every phase of ``games.crew.public``, in their order; the observer's part in ``stage_of`` comes on top."""


@kernel
def stage_of(view):
    """What the next token is, one of ``HEADER`` ... ``ENDED``. It follows from what all see, so this holds for
    impossible histories too; one that leaves the observer no card to play or to pass ends."""
    public = view["public"]
    if view["ended"] != 0:
        return ENDED
    if public["mission"] == 0:
        return HEADER
    if view["length"] < HEADER_LENGTHS[public["mission"]] + HAND_SIZE:
        return DEALT
    stage = _STAGE_OF[public["phase"]]
    if stage == LOSES and view["lost"] != 0:
        return GAINS
    if stage == PASSES and view["passed"] != 0:
        stage = np.int64(RECEIVES)
    own_card = stage == PASSES or (stage == PLAYS and public["turn"] == 0)
    return ENDED if own_card and view["hand"] == 0 else stage


@kernel
def next_of(view):
    """A ``Next``: what the next token of the history is."""
    stage = stage_of(view)
    if stage == ENDED:
        return END
    if stage == PASSES or (stage > PASSES and view["public"]["turn"] == 0):
        return ACTION
    return OBSERVATION


@kernel
def own_legal(view):
    """What ``legal_tokens`` returns for the observer, whose turn it must be. In an impossible history whose hand the
    rules leave no card, every card of it."""
    first, tokens, low, high = legal_tokens(view["public"], view["hand"])
    return first, view["hand"] if tokens == 0 and low == high else tokens, low, high


@kernel
def is_of_kind(view, token):
    """Whether a token is a card where one is due, or legal where public knowledge determines what is legal: what
    follows any other, such as a task that is not on the table, is undefined."""
    stage = stage_of(view)
    if stage == HEADER:
        return _follow_header(view, token) != 0
    if stage in (SEES_COMMANDER, SEES_HOLDER, NAMES):
        seat = token - FIRST_POSITION
        return seat >= 0 and seat < 4 and (stage != NAMES or may_be_named(view["public"], seat))
    if stage >= PICKS and stage <= DIRECTS:
        return is_legal(legal_tokens(view["public"], np.int64(0)), token)
    if stage == MARKS:
        return token >= FIRST_MARK and token < SILENT
    if stage == SEES_TASK:
        return token >= 0 and token < NUM_COLOUR_CARDS and task_of(view["public"], token) < 0
    return (token >= 0 and token < NUM_CARDS) or (stage == SHOWS and token == SILENT)


@kernel
def _follow_header(view, token):
    """Set of the missions that may be dealt and whose header goes on with a token; a card ends it."""
    place, missions = view["length"], np.int64(0)
    candidates = view["public"]["missions"] if place == 0 else view["fitting"]
    for mission in range(1, NUM_MISSIONS + 1):
        if candidates >> mission & 1 == 0:
            continue
        ended = place >= HEADER_LENGTHS[mission]
        if (ended and token >= 0 and token < NUM_CARDS) or (not ended and HEADERS[mission, place] == token):
            missions |= np.int64(1) << mission
    return missions


# ---- each of these takes in a token and returns whether it could have come -----------------------------------------


@kernel
def _see(view, token):
    stage, public, possible = stage_of(view), view["public"], True
    if stage == HEADER:
        view["fitting"] = _follow_header(view, token)
        if token >= NUM_CARDS:
            return True
        public["mission"] = lowest(view["fitting"])
        stage = np.int64(DEALT)
    if stage == DEALT:
        return _see_dealt(view, token)
    if stage in (PASSES, RECEIVES, LOSES, GAINS):
        return _see_own(view, stage, token)
    if stage == SEES_COMMANDER:
        possible = lies_with(view, token - FIRST_POSITION, ROCKET_4)
    elif stage == SEES_HOLDER:
        possible = lies_with(view, token - FIRST_POSITION, PINK_9)
    elif public["turn"] == 0:
        possible = is_legal(own_legal(view), token)
    elif stage == PLAYS:
        possible = see_play(view, token)
    elif stage == SHOWS and token != SILENT:
        possible = hear_card(view, token)
    elif stage == MARKS:
        possible = hear_mark(view, token - FIRST_MARK)
    if stage == PLAYS:
        view["hand"] &= ~BIT[token]
    step(public, token)
    return possible


@kernel
def _see_dealt(view, card):
    left = HEADER_LENGTHS[view["public"]["mission"]] + HAND_SIZE - 1 - view["length"]
    possible = comes_next(card, view["dealt"], ALL_CARDS, left)
    view["dealt"] |= BIT[card]
    view["hand"] = view["dealt"]
    if left == 0:
        view["possible"][1:] = ALL_CARDS & ~view["dealt"]
        begin(view["public"], view["public"]["mission"])
    return possible


@kernel
def _see_own(view, stage, card):
    """Cards that the observer alone sees, as it gives them away or gets them."""
    public, bit = view["public"], BIT[card]
    if stage == PASSES:
        possible = is_legal(own_legal(view), card)
        view["passed"] = bit
        view["hand"] &= ~bit
    elif stage == RECEIVES:
        possible = see_received(view, card)
        end_passing(public)
    elif stage == LOSES:
        possible = view["hand"] & bit != 0 and may_be_drawn(public, 0, card)
        view["lost"] = bit
    else:
        possible = see_exchanged(view, card)
        begin_trick(public, public["winner"])
    return possible


advance = advancing(next_of, is_of_kind, _see)
"""``(view, token)``: take in one token."""
