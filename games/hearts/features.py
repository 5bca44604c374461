"""Features of one seat's history by the rules of Hearts: whose token comes next, its kind, and where cards are; below
them all of a deal in numbers.

Seats are relative to the observer, as in ``games.hearts.view``. Nothing here is strategy: every number can be read off
the cards seen so far.
"""

import numpy as np

from games.batches import feature
from games.bits import BIT, count, each, mark
from games.compiling import kernel
from games.features import FeatureSet, StateFeatures
from games.game import ACTION, END
from games.hearts.cards import (
    ALL_CARDS,
    HEART_CARDS,
    HEARTS,
    JACK_SET,
    NUM_CARDS,
    PASSED_AT,
    QUEEN_OF_SPADES,
    QUEEN_SET,
    RECEIVED_AT,
    SORTED_CARDS,
    SPADES,
    SUIT_CARDS,
)
from games.hearts.chances import (
    fill_voids,
    points_from_behind,
    queen_falls,
    seats_behind,
    some_void,
    takes_against_all,
    takes_by_chance,
    takes_if_ducked,
    worlds,
)
from games.hearts.hidden import unseen
from games.hearts.rules import card_points, first_place, owner_of_all
from games.hearts.view import next_of, own_legal

TOKEN_TYPES = (
    "pass direction",
    "card dealt to me",
    "card I pass",
    "card passed to me",
    "who leads first",
    "my play",
    "left's play",
    "across's play",
    "right's play",
    "end",
)
FEATURES: dict[str, FeatureSet] = {}


@kernel
def next_type(view):
    """Index of the type of the next token."""
    length, first = view["length"], first_place(view["public"])
    if next_of(view) == END:
        return 9
    if length == 0:
        return 0
    if length >= first:
        return 5 + view["public"]["turn"]
    if length < PASSED_AT:
        return 1
    if length == first - 1:
        return 4
    return 2 if length < RECEIVED_AT else 3


@feature(FEATURES, "the cards I hold", NUM_CARDS)
def _hand(view, row):
    mark(view["hand"], row)


@feature(FEATURES, "the cards played so far", NUM_CARDS)
def _gone(view, row):
    shown = view["shown"]
    mark(shown[0] | shown[1] | shown[2] | shown[3], row)


@feature(FEATURES, "the cards of this trick; who is winning it, by which rank and suit", NUM_CARDS + 21)
def _trick(view, row):
    public = view["public"]
    mark(public["trick"], row)
    if public["trick"] != 0:
        row[NUM_CARDS + public["winner"]] = 1
        row[NUM_CARDS + 4 + (public["high"] >> 2)] = 1
        row[NUM_CARDS + 17 + public["led"]] = 1


@feature(FEATURES, "of each seat: a 1 for each heart taken (13 places), for the queen, for the jack", 4, 15)
def _points(view, row):
    for seat in range(4):
        taken = view["public"]["taken"][seat]
        row[seat, : count(taken & HEART_CARDS)] = 1
        row[seat, 13] = taken & QUEEN_SET != 0
        row[seat, 14] = taken & JACK_SET != 0


@feature(FEATURES, "of each other seat: suits of which it can hold no card that has not been seen", 3, 4)
def _voids(view, row):
    if view["length"] < first_place(view["public"]):
        return
    cards = unseen(view)
    for seat in range(1, 4):
        for suit in range(4):
            row[seat - 1, suit] = cards & view["possible"][seat] & SUIT_CARDS[suit] == 0


@feature(
    FEATURES,
    "where I am to act, of every card that I may pass or play: its rank; it is a heart, a spade, the queen of spades, a"
    " higher spade; how many of its suit I hold that are lower, and higher; I hold no other; I may pass all I hold of"
    " it; how many unseen cards of its suit are higher, and lower; it is the highest left, the lowest; how many others"
    " can hold its suit; the queen of spades is mine, is unseen; how many lower spades I hold; then of a card to play:"
    " it leads, follows, is a discard; it would win this trick so far; how many unseen cards that seats behind me can"
    " hold would beat it then; none does; in eighths, the chance that it takes the trick if the seats behind beat it"
    " where they can, if they play anything, if they stay below it where they can; the points in the trick with it;"
    " those I take on average, in quarters up to 4 and whole; in eighths, rounded up, the chance that a seat behind has"
    " none of the suit led, that one may play the queen of spades; the seats behind; all points so far are mine, are"
    " another seat's; the trick so far is of the seat that has them; the jack of diamonds counts and is in it",
    NUM_CARDS,
    36,
    of_actions=True,
)
def _choices(view, rows_of_cards):
    if next_of(view) != ACTION:
        return
    legal, passing = own_legal(view), view["public"]["turn"] < 0
    left = ALL_CARDS & ~view["dealt"] if passing else unseen(view)
    voids, total = np.zeros(4), 0.0 if passing else worlds(view, 0, 0, 0)
    for suit in range(4):
        cards = legal & SUIT_CARDS[suit]
        for card in each(cards):
            _card_in_hand(view, left, card, rows_of_cards[card])
        if cards != 0 and not passing:
            _cards_in_trick(view, total, cards, suit, voids, rows_of_cards)


@kernel
def _card_in_hand(view, left, card, row):
    """Columns 0 to 16 of ``_choices``; ``left`` is the set of the unseen cards."""
    hand, suit, below = view["hand"], SUIT_CARDS[card & 3], BIT[card] - 1
    passing = view["public"]["turn"] < 0
    row[0] = card >> 2
    row[1] = card & 3 == HEARTS
    row[2] = card & 3 == SPADES
    row[3] = card == QUEEN_OF_SPADES
    row[4] = card & 3 == SPADES and card > QUEEN_OF_SPADES
    row[5] = count(hand & suit & below)
    row[6] = count(hand & suit & ~below) - 1
    row[7] = hand & suit == BIT[card]
    row[8] = passing and count(hand & suit) <= RECEIVED_AT - view["length"]
    row[9] = count(left & suit & ~below)
    row[10] = count(left & suit & below)
    row[11] = row[9] == 0
    row[12] = row[10] == 0
    for seat in range(1, 4):
        row[13] += left & suit & (ALL_CARDS if passing else view["possible"][seat]) != 0
    row[14] = hand & QUEEN_SET != 0
    row[15] = left & QUEEN_SET != 0
    row[16] = count(hand & SUIT_CARDS[SPADES] & (QUEEN_SET - 1))


@kernel
def _cards_in_trick(view, total, cards, suit, voids, rows_of_cards):
    """Columns 17 to 35 of ``_choices`` for legal ``cards`` of a suit, none of them empty; ``total`` worlds in all,
    ``voids`` (``float64[4]``) is scratch."""
    public = view["public"]
    leads, behind = public["trick"] == 0, seats_behind(public)
    led = suit if leads else public["led"]
    fill_voids(view, total, led, voids)
    void, queen = some_void(view, total, led, voids), queen_falls(view, total, led, voids)
    coming, owner = points_from_behind(view, led, voids), owner_of_all(public)
    for card in each(cards):
        row, wins = rows_of_cards[card], leads or (suit == led and card > public["high"])
        content = public["trick"] | BIT[card]
        row[17 if leads else 18 if suit == led else 19] = 1
        row[20] = wins
        row[26] = card_points(content)
        if wins:
            _holds_up(view, total, card, voids, coming, row)
        row[29] = _rounded_up(void)
        row[30] = _rounded_up(queen)
        row[31] = count(behind)
        row[32] = owner == 0
        row[33] = owner > 0
        row[34] = owner == (0 if wins else public["winner"])
        row[35] = public["jd_bonus"] != 0 and content & JACK_SET != 0


@kernel
def _holds_up(view, total, card, voids, coming, row):
    """Columns 21 to 25, 27 and 28 of ``_choices`` for a card that wins so far; ``coming`` are the points from behind on
    average."""
    behind, rivals = seats_behind(view["public"]), np.int64(0)
    for seat in range(1, 4):
        if behind >> seat & 1 != 0:
            rivals |= view["possible"][seat]
    row[21] = count(unseen(view) & rivals & SUIT_CARDS[card & 3] & ~(BIT[card] - 1))
    against_all, by_chance = takes_against_all(view, total, card), takes_by_chance(view, card, voids)
    row[22] = against_all > 1.0 - 1e-9
    row[23] = _eighths(against_all)
    row[24] = _eighths(by_chance)
    row[25] = _eighths(takes_if_ducked(view, total, card))
    points = by_chance * (row[26] + coming)
    row[27] = int(4.0 * min(points, 4.0) + 0.5)
    row[28] = int(points + 0.5)


@kernel
def _eighths(chance):
    return int(8.0 * chance + 0.5)


@kernel
def _rounded_up(chance):
    """A share in eighths; above 0 wherever anything is possible."""
    return int(np.ceil(8.0 * chance - 1e-9))


PENALTIES = np.array([QUEEN_OF_SPADES, *SORTED_CARDS[13 * HEARTS : 13 * (HEARTS + 1)]], np.int64)
"""``int64[14]``: the cards whose winner is a feature: the queen of spades, then the hearts from the two up."""
HANDS, TRICK, WON = 0, 4 * NUM_CARDS, 8 * NUM_CARDS
"""Where the three parts begin: cards that each seat holds, has played to this trick, has won."""
SIZE = WON + 4 * len(PENALTIES)


@kernel
def _fill(states, seats, numbers):
    for i in range(len(states)):
        state, row, observer = states[i], numbers[i], seats[i]
        public = state["public"]
        for position in range(4):
            seat = (observer + position) & 3
            mark(state["hands"][seat], row[HANDS + position * NUM_CARDS : HANDS + (position + 1) * NUM_CARDS])
            for nth in range(len(PENALTIES)):
                row[WON + position * len(PENALTIES) + nth] = public["taken"][seat] & BIT[PENALTIES[nth]] != 0
        played = public["num_played"] & 3
        last = first_place(public) + public["num_played"] - 1
        for back in range(played):
            position = (public["turn"] - 1 - back - observer) & 3
            row[TRICK + position * NUM_CARDS + state["tokens"][0, last - back]] = 1


def _encode(states: np.ndarray, seats: np.ndarray) -> np.ndarray:
    numbers = np.zeros((len(states), SIZE), np.uint8)
    _fill(states, np.asarray(seats, np.int64), numbers)
    return numbers


STATE_FEATURES = StateFeatures(
    "of each seat: its cards, its card in this trick, the queen and hearts it has won", SIZE, _encode
)
"""All of a deal, hidden cards included: the input of paper 002's networks ("Network Inputs and Outputs").

52 x 4 + 52 x 4 + 14 x 4 = 472 numbers, seat after seat, the given one first and then clockwise; the paper does not say
in which order its seats stand. They are for the play: before the first lead the tricks are empty.
"""
