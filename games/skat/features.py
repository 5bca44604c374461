"""Features of one seat's history by the rules of Skat: whose token comes next, its kind, and where cards are.

Seats are relative to the observer: left acts after it, right before it. Nothing here is strategy: every number can be
read off the tokens seen so far.
"""

from games.batches import feature
from games.bits import BIT, count, each, mark
from games.compiling import kernel
from games.features import FeatureSet
from games.game import ACTION
from games.skat.cards import (
    ACES,
    GAMES,
    GRAND,
    NULL,
    NUM_CARDS,
    PLAIN,
    STRENGTH,
    SUIT_CARDS,
    SUIT_OF,
    TENS,
    TRUMP,
    matadors_of,
    num_stronger,
    points_of,
)
from games.skat.hidden import homes
from games.skat.rules import DISCARD, PLAY
from games.skat.values import BASES, BIDS, NUM_BIDS, multiplier, null_value
from games.skat.view import CALLED, ENDED, LAID, PLAYED, next_of, played, stage_of, unseen

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
"""Ordered as the stages of ``games.skat.view``; a stage in which a seat acts comes three times."""

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
    at = homes(view)
    for suit in range(5):
        cards = SUIT_CARDS[view["public"]["game"], suit]
        row[0, suit] = at[0] & cards == 0
        row[1, suit] = at[1] & cards == 0


@feature(
    FEATURES,
    "where I am to discard or to play, of every card I hold: its card points; it is a trump (before the game is known:"
    " a jack); how many of its suit I hold; how many unseen cards of its suit are higher, and lower; I hold the suit's"
    " ace, its ten; how many of the suit I have discarded; it would win this trick so far; how many unseen cards would"
    " beat it then; if the trick ended with it, its card points, and whether my side took them",
    NUM_CARDS,
    12,
    of_actions=True,
)
def _choices(view, rows_of_cards):
    stage, public = stage_of(view), view["public"]
    playing = stage == PLAYED and public["turn"] == view["seat"]
    if stage != LAID and not playing:
        return
    game = public["game"] if playing else GRAND  # before a declaration the jacks alone are sure to be trumps
    left = unseen(view)
    for card in each(view["hand"]):
        row, suit = rows_of_cards[card], SUIT_CARDS[game, SUIT_OF[game, card]]
        row[0] = points_of(BIT[card])
        row[1] = SUIT_OF[game, card] == TRUMP
        row[2] = count(view["hand"] & suit)
        row[3] = num_stronger(game, left & suit, STRENGTH[game, card])
        row[4] = count(left & suit) - row[3]
        row[5] = view["hand"] & suit & ACES != 0
        row[6] = view["hand"] & suit & TENS != 0
        row[7] = count(view["laid"] & suit)
        if playing:
            _trick_with(view, card, left, row)


@feature(
    FEATURES,
    "where I am to call, to discard or to declare, of every game: the trumps I hold; my matadors, with or without; the"
    " game is with them; its value without levels reaches the highest bid; aces and tens I hold, and suits I do not,"
    " that are no trumps",
    len(GAMES),
    7,
)
def _games(view, rows_of_games):
    public, stage = view["public"], stage_of(view)
    if next_of(view) != ACTION or stage == PLAYED:
        return
    hand, twelve, bid = view["hand"], view["hand"] | view["laid"], BIDS[max(public["bid"], 0)]
    by_hand = 1 if public["phase"] > DISCARD and public["picked_up"] == 0 else 0
    for game in range(len(GAMES)):
        row, trumps = rows_of_games[game], SUIT_CARDS[game, TRUMP]
        matadors = matadors_of(game, twelve)
        row[0] = count(hand & trumps)
        row[1] = abs(matadors)
        row[2] = matadors > 0
        plain = BASES[game] * multiplier(matadors, by_hand, PLAIN, False, False)
        row[3] = (null_value(by_hand, PLAIN) if game == NULL else plain) >= bid
        row[4] = count(hand & ACES & ~trumps)
        row[5] = count(hand & TENS & ~trumps)
        for suit in range(4):
            row[6] += SUIT_CARDS[game, suit] != 0 and hand & SUIT_CARDS[game, suit] == 0


@kernel
def _trick_with(view, card, left, row):
    """Columns 8 to 11 of ``_choices``; ``left`` is the set of the unseen cards."""
    public = view["public"]
    game, suit = public["game"], SUIT_OF[public["game"], card]
    led = suit if public["trick"] == 0 else public["led"]
    follows = suit in (led, TRUMP)
    wins = follows and (public["trick"] == 0 or STRENGTH[game, card] > public["high"])
    row[8] = wins
    if wins:
        rivals = SUIT_CARDS[game, led] if game == NULL else SUIT_CARDS[game, led] | SUIT_CARDS[game, TRUMP]
        row[9] = num_stronger(game, left & rivals, STRENGTH[game, card])
    row[10] = points_of(public["trick"] | BIT[card])
    winner = view["seat"] if wins else public["winner"]
    row[11] = (winner == public["soloist"]) == (view["seat"] == public["soloist"])
