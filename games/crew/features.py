"""Features of one seat's history by the rules of The Crew: whose token comes next, its kind, and the state of play.

Seats are relative to the observer: self, left, across, right. Nothing here is strategy: every number can be read off
the tokens seen so far.
"""

import numpy as np

from games.batches import feature
from games.bits import BIT, count, each, mark
from games.compiling import kernel
from games.crew.cards import (
    COLOUR_CARDS,
    NINES,
    NUM_CARDS,
    NUM_COLOUR_CARDS,
    NUM_TRICKS,
    ONES,
    PINK_CARDS,
    ROCKET_CARDS,
    TILES,
)
from games.crew.chances import LEVELS, owned_by_others, owners_of, spread, trick_winners
from games.crew.hidden import may_hold
from games.crew.judging import keeps_order, played
from games.crew.knowing import unseen
from games.crew.tricks import beats
from games.crew.view import DEALT, ENDED, HEADER, PICKS, next_of, stage_of
from games.features import FeatureSet
from games.game import ACTION

_DOINGS = (
    "tile to move",
    "place for a tile",
    "task",
    "reply",
    "naming",
    "reply to the distress signal",
    "direction of the distress pass",
    "card shown or silence",
    "radio token",
    "play",
)
TOKEN_TYPES = (
    "mission",
    "card dealt to me",
    "place of the commander",
    "place of the holder of the pink 9",
    "task card",
    "card passed to me",
    "card drawn from me",
    "card I draw",
    "card I pass",
    *(f"{who} {what}" for what in _DOINGS for who in ("my", "left's", "across's", "right's")),
    "end",
)
"""Ordered as the stages of ``games.crew.view``; a stage in which a seat acts comes four times."""

FEATURES: dict[str, FeatureSet] = {}


@kernel
def next_type(view):
    """Index of the type of the next token."""
    stage = stage_of(view)
    if stage < PICKS:
        return stage
    if stage == ENDED:
        return PICKS + 4 * (ENDED - PICKS)
    return PICKS + 4 * (stage - PICKS) + view["public"]["turn"]


@feature(FEATURES, "the cards I hold", NUM_CARDS)
def _hand(view, row):
    mark(view["hand"], row)


@feature(FEATURES, "the cards played so far", NUM_CARDS)
def _gone(view, row):
    mark(played(view["public"]), row)


@feature(FEATURES, "the cards of this trick; who is winning it; the colour led", NUM_CARDS + 9)
def _trick(view, row):
    public = view["public"]
    mark(public["trick"], row)
    if public["trick"] != 0:
        row[NUM_CARDS + public["winner"]] = 1
        row[NUM_CARDS + 4 + public["led"]] = 1


@feature(
    FEATURES,
    "allocation; communication; special rules; the commander; the seat named, for mission 46 who takes all pink;"
    " the seat for the last trick",
    37,
)
def _mission(view, row):
    public = view["public"]
    if stage_of(view) in (HEADER, DEALT):
        return
    row[public["allocation"]] = 1
    row[4 + public["communication"]] = 1
    mark(public["special"], row[8:])
    if public["commander"] >= 0:
        row[25 + public["commander"]] = 1
    if public["named"] >= 0:
        row[29 + public["named"]] = 1
    if public["last"] >= 0:
        row[33 + public["last"]] = 1


@feature(
    FEATURES,
    "of every colour card: it is a task; that is done; the seat whose it is; its tile",
    NUM_COLOUR_CARDS,
    6 + len(TILES),
)
def _tasks(view, rows_of_cards):
    public = view["public"]
    for n in range(public["num_laid"]):
        row = rows_of_cards[public["tasks"][n]]
        row[0] = 1
        row[1] = public["done"][n] != 0
        if public["owners"][n] >= 0:
            row[2 + public["owners"][n]] = 1
        row[6 + public["tiles"][n]] = 1


@feature(
    FEATURES,
    "of each seat: its radio token is left; the card it has shown; highest, only, lowest or without a mark",
    4,
    NUM_CARDS + 5,
)
def _radio(view, row):
    public = view["public"]
    for seat in range(4):
        row[seat, 0] = public["radio"][seat]
        if public["said"][seat] >= 0:
            row[seat, 1 + public["said"][seat]] = 1
        if public["marks"][seat] >= 0:
            row[seat, 1 + NUM_CARDS + public["marks"][seat]] = 1


@feature(FEATURES, "of each other seat: colours, rockets the last, of which it can hold no card", 3, 5)
def _voids(view, row):
    if stage_of(view) in (HEADER, DEALT):
        return
    for seat in range(1, 4):
        held = may_hold(view, seat)
        for colour in range(5):
            row[seat - 1, colour] = held & COLOUR_CARDS[colour] == 0


@feature(FEATURES, "in quarters, the chance of each other seat to hold each card, by counting", 3, NUM_CARDS)
def _likely(view, row):
    if stage_of(view) in (HEADER, DEALT):
        return
    likely = np.empty((4, NUM_CARDS))
    spread(view, likely)
    for seat in range(1, 4):
        for card in range(NUM_CARDS):
            row[seat - 1, card] = _quarters(likely[seat, card])


@feature(FEATURES, "the number of tricks each seat has won", 4)
def _tricks(view, row):
    for seat in range(4):
        row[seat] = view["public"]["tricks"][seat]


@feature(
    FEATURES,
    "the number of open tasks of each seat; of all; the place in order of the next task done; the tricks to come;"
    " most tricks less fewest; 1s or rockets that have won, where that counts; 1s, 9s, pink cards and rockets not"
    " played",
    13,
)
def _needed(view, row):
    public = view["public"]
    if stage_of(view) in (HEADER, DEALT):
        return
    gone = played(public)
    done = 0
    for n in range(public["num_tasks"]):
        done += int(public["done"][n] != 0)
        if public["done"][n] == 0 and public["owners"][n] >= 0:
            row[public["owners"][n]] += 1
    row[4] = public["num_tasks"] - done
    row[5] = done + 1
    row[6] = NUM_TRICKS - public["num_played"] // 4
    row[7] = public["tricks"].max() - public["tricks"].min()
    row[8] = min(public["progress"], 4)
    row[9] = count(ONES & ~gone)
    row[10] = count(NINES & ~gone)
    row[11] = count(PINK_CARDS & ~gone)
    row[12] = count(ROCKET_CARDS & ~gone)


@feature(
    FEATURES,
    "where I am to act, of every card I hold: the seat whose open task it is; its tile forbids that task now; it"
    " would win this trick so far; how many cards I have not seen are higher in its colour, and lower; if the"
    " trick ended with it, the winner would take a task of its own, or one of another seat; how many others can"
    " hold no card of its colour; each seat's open tasks among the unseen cards of its colour; how many of its colour I"
    " hold, and how many of these are lower; my open tasks, and open tasks of others, among them; the seats still to"
    " play that may beat it; the seats whose open tasks would lie in this trick; in quarters, the chance of each seat"
    " to win the trick if all play low, of each other one if it alone tries to, and of the seat whose task lies in it"
    " or else is of the colour led, if it tries",
    NUM_CARDS,
    32,
    version=5,
    of_actions=True,
)
def choices(view, rows_of_cards):
    public = view["public"]
    if next_of(view) != ACTION:
        return
    left = unseen(view)
    others = (may_hold(view, 1), may_hold(view, 2), may_hold(view, 3))
    for card in each(view["hand"]):
        row, colour, above = rows_of_cards[card], COLOUR_CARDS[card // 9], ~(BIT[card] - 1)
        _as_task(public, card, row)
        row[5] = public["trick"] != 0 and beats(public, card)
        row[6] = count(left & colour & above)
        row[7] = count(left & colour & ~above)
        _trick_with(public, card, row)
        for held in others:
            row[10] += held & colour == 0
        for n in range(public["num_laid"]):
            task, owner = BIT[public["tasks"][n]] & colour, public["owners"][n]
            if owner >= 0 and task & left != 0:
                row[11 + owner] += 1
            elif owner >= 0 and task & view["hand"] & ~BIT[card] != 0:
                row[17 if owner == 0 else 18] += 1
        row[15] = count(view["hand"] & colour)
        row[16] = count(view["hand"] & colour & ~above)
        row[19] = _may_beat(public, others, card, above)
    _chances(view, rows_of_cards)


@kernel
def _chances(view, rows_of_cards):
    """Who wins the trick with each card of the hand, in quarters, by counting cards (``games.crew.chances``)."""
    public = view["public"]
    likely, chance, before = np.empty((4, NUM_CARDS)), np.empty((4, LEVELS)), np.empty((4, LEVELS))
    spread(view, likely)
    owned = _owned(public)
    for card in each(view["hand"]):
        row, content = rows_of_cards[card], public["trick"] | BIT[card]
        led = public["led"] if public["trick"] != 0 else card // 9
        for seat in range(4):
            row[20 + seat] = owned[seat] & content != 0
        trick_winners(public, likely, card, 0, owned_by_others(owned, 0), chance, before)
        for seat in range(4):
            row[24 + seat] = _quarters(chance[seat].sum())
        for seat in range(1, 4):
            barred = owned_by_others(owned, 1 << seat)
            trick_winners(public, likely, card, 1 << seat, barred, chance, before)
            row[27 + seat] = _quarters(chance[seat].sum())
        wanting = owners_of(owned, content)
        if wanting == 0:
            wanting = owners_of(owned, COLOUR_CARDS[led])
        if wanting != 0:
            barred = owned_by_others(owned, wanting)
            trick_winners(public, likely, card, wanting, barred, chance, before)
            for seat in range(4):
                if wanting >> seat & 1 != 0:
                    row[31] += _quarters(chance[seat].sum())


@kernel
def _quarters(chance):
    return int(4.0 * chance + 0.5)


@kernel
def _owned(public):
    """``int64[4]``: the cards of each seat's open tasks, as sets."""
    owned = np.zeros(4, np.int64)
    for n in range(public["num_laid"]):
        if public["done"][n] == 0 and public["owners"][n] >= 0:
            owned[public["owners"][n]] |= BIT[public["tasks"][n]]
    return owned


@kernel
def _may_beat(public, others, card, above):
    """How many of the seats still to play to this trick may beat a card that would win it so far; 0 for another."""
    if public["trick"] != 0 and not beats(public, card):
        return 0
    stronger = COLOUR_CARDS[card // 9] & above & ~BIT[card]
    if card // 9 != 4:
        stronger |= ROCKET_CARDS
    number = 0
    for seat in range(1, 4 - count(public["trick"])):
        number += others[seat - 1] & stronger != 0
    return number


@kernel
def _as_task(public, card, row):
    """The seat whose open task a card is, and whether the tiles forbid it now."""
    for n in range(public["num_laid"]):
        if public["tasks"][n] == card and public["owners"][n] >= 0:
            row[public["owners"][n]] = 1
            row[4] = not keeps_order(public, BIT[card])


@kernel
def _trick_with(public, card, row):
    """Were the trick to end with the card: whether a task of the winner lies in it, whether one of another seat."""
    content = public["trick"] | BIT[card]
    winner = 0 if beats(public, card) else public["winner"]
    for n in range(public["num_laid"]):
        if content >> public["tasks"][n] & 1 != 0 and public["owners"][n] >= 0:
            row[8 if public["owners"][n] == winner else 9] = 1


@feature(FEATURES, "the seats whose open tasks lie in this trick; the seats still to play to it", 5)
def _stakes(view, row):
    public = view["public"]
    if public["trick"] == 0:
        return
    for n in range(public["num_laid"]):
        if public["trick"] >> public["tasks"][n] & 1 != 0 and public["owners"][n] >= 0:
            row[public["owners"][n]] = 1
    row[4] = 4 - count(public["trick"])
