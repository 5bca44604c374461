"""Features of one seat's history by the rules of Skat: whose token comes next, its kind, and where cards are.

Seats are relative to the observer: left acts after it, right before it. Nothing here is strategy: every number can be
read off the tokens seen so far.
"""

from games.batches import feature
from games.bits import mark
from games.compiling import kernel
from games.features import FeatureSet
from games.skat.cards import NUM_CARDS, SUIT_CARDS, TRUMP, points_of
from games.skat.hidden import homes
from games.skat.rules import PLAY
from games.skat.values import NUM_BIDS
from games.skat.view import CALLED, ENDED, played, stage_of

_DOINGS = ("call", "pickup or hand", "game", "modifier", "play")
TOKEN_TYPES = (
    "my place",
    "card dealt to me",
    "card I pick up",
    "card I discard",
    "card the soloist shows",
    "card turned over at the end",
    *(f"{who} {what}" for what in _DOINGS for who in ("my", "left's", "right's")),
    "end",
)
"""In the order of ``games.skat.view``'s stages; a stage in which a seat acts comes three times."""

FEATURES: dict[str, FeatureSet] = {}


@kernel
def next_type(view):
    """Index of the type of the next token."""
    stage = stage_of(view)
    if stage < CALLED:
        return stage
    if stage == ENDED:
        return CALLED + 3 * (ENDED - CALLED)
    return CALLED + 3 * (stage - CALLED) + (view["public"]["turn"] - view["seat"]) % 3


@feature(FEATURES, "the cards I hold", NUM_CARDS)
def _hand(view, row):
    mark(view["hand"], row)


@feature(FEATURES, "the cards I have discarded", NUM_CARDS)
def _laid(view, row):
    mark(view["laid"], row)


@feature(FEATURES, "the cards of a soloist who plays open, as far as it still holds them", NUM_CARDS)
def _open(view, row):
    mark(view["open"] & ~played(view), row)


@feature(FEATURES, "the cards played so far", NUM_CARDS)
def _gone(view, row):
    mark(played(view), row)


@feature(
    FEATURES,
    "a 1 for each value up to the highest bid; the soloist; whether it picked up; the game; a 1 for each level",
    NUM_BIDS + 13,
)
def _contract(view, row):
    public = view["public"]
    row[: public["bid"] + 1] = 1
    if public["soloist"] >= 0:
        row[NUM_BIDS + (public["soloist"] - view["seat"]) % 3] = 1
    row[NUM_BIDS + 3] = public["picked_up"]
    if public["game"] >= 0:
        row[NUM_BIDS + 4 + public["game"]] = 1
    row[NUM_BIDS + 10 : NUM_BIDS + 10 + public["modifier"]] = 1


@feature(FEATURES, "the trumps of the game", NUM_CARDS)
def _trumps(view, row):
    if view["public"]["game"] >= 0:
        mark(SUIT_CARDS[view["public"]["game"], TRUMP], row)


@feature(FEATURES, "the cards of this trick; who is winning it; the suit led, or trump", NUM_CARDS + 8)
def _trick(view, row):
    public = view["public"]
    mark(public["trick"], row)
    if public["trick"] != 0:
        row[NUM_CARDS + (public["winner"] - view["seat"]) % 3] = 1
        row[NUM_CARDS + 3 + public["led"]] = 1


@feature(
    FEATURES,
    "of the soloist, of the defenders: a 1 for each card point taken (120 places), the number of tricks",
    2,
    121,
)
def _points(view, row):
    public = view["public"]
    if public["soloist"] < 0:
        return
    for seat in range(3):
        side = 0 if seat == public["soloist"] else 1
        row[side, 120] += public["tricks"][seat]
    soloists = public["taken"][public["soloist"]]
    all_taken = public["taken"][0] | public["taken"][1] | public["taken"][2]
    row[0, : points_of(soloists)] = 1
    row[1, : points_of(all_taken & ~soloists)] = 1


@feature(FEATURES, "of each other seat: suits, trump the last, of which it can hold no unseen card", 2, 5)
def _voids(view, row):
    if view["public"]["phase"] != PLAY or view["due"] != 0:
        return
    left, right, _ = homes(view)
    for suit in range(5):
        cards = SUIT_CARDS[view["public"]["game"], suit]
        row[0, suit] = left & cards == 0
        row[1, suit] = right & cards == 0
