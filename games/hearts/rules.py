"""Public knowledge of a deal and the rules over it, written once for true states and for views.

Kernels take ``public``, a record of ``PUBLIC``, and where needed the hand of the seat to play. Seats are whatever the
caller numbers: absolute in a state, relative to the observer in a view.
"""

import numpy as np

from games.bits import BIT, count
from games.compiling import kernel
from games.hearts.cards import (
    CLUB_CARDS,
    HEART_CARDS,
    HEARTS,
    JACK_SET,
    NUM_CARDS,
    PENALTY_CARDS,
    QUEEN_OF_SPADES,
    QUEEN_SET,
    SUIT_CARDS,
    TWO_OF_CLUBS_SET,
)

OPTIONS = {
    "pass_cards": True,
    "no_pts_on_first_trick": True,
    "can_lead_any_club": False,
    "jd_bonus": False,
    "avoid_all_tricks_bonus": False,
    "must_break_hearts": True,
    "qs_breaks_hearts": True,
    "can_lead_hearts_instead_of_qs": False,
}
"""The rule options of OpenSpiel's hearts under their names there, with its defaults."""
FREE_FIRST_LEAD = "free_first_lead"
"""An option of ours: seat 0 leads first, with any card that may be led, instead of the holder of the two of clubs
(paper 002, where any card is led from the first hand). It needs ``pass_cards=False``."""
MOONS = ("others_plus_26", "shooter_minus_26")
"""How a moon is scored: as OpenSpiel does (the default), or as paper 001 does (section 6.1)."""

PUBLIC = np.dtype(
    [(name, np.int64) for name in (*OPTIONS, "moon", FREE_FIRST_LEAD)]
    + [
        ("direction", np.int64),  # 0 hold, 1 left, 2 across, 3 right
        ("turn", np.int64),  # seat to play a card; -1 before the first lead and when the deal is over
        ("num_played", np.int64),
        ("broken", np.int64),  # 1 once hearts may be led
        ("trick", np.int64),  # cards on the table
        ("led", np.int64),  # suit led
        ("high", np.int64),  # highest card of that suit so far
        ("winner", np.int64),  # seat that played it
        ("taken", np.int64, 4),  # cards each seat has won
    ]
)
"""The public part of a deal: the options in force (0 or 1; ``moon`` an index of ``MOONS``), then the play so far."""


@kernel
def first_place(public):
    """Place of the first play in every history; the leader's position stands just before it."""
    return 21 if public["direction"] != 0 else 15


@kernel
def legal_plays(public, hand):
    """``int64`` set of the cards of ``hand`` that the seat to play may play."""
    if public["trick"] != 0:
        return _legal_follow(public, hand)
    if public["num_played"] == 0 and public["free_first_lead"] == 0:
        return hand & (CLUB_CARDS if public["can_lead_any_club"] != 0 else TWO_OF_CLUBS_SET)
    if public["broken"] != 0:
        return hand
    others = hand & ~HEART_CARDS
    if others == 0 or (others == QUEEN_SET and public["can_lead_hearts_instead_of_qs"] != 0):
        return hand
    return others


@kernel
def _legal_follow(public, hand):
    following = hand & SUIT_CARDS[public["led"]]
    if following != 0:
        return following
    if public["num_played"] < 4 and public["no_pts_on_first_trick"] != 0:
        harmless = hand & ~PENALTY_CARDS
        if harmless != 0:
            return harmless
    return hand


@kernel
def rest_after(public, card):
    """``int64`` set of the cards that may remain in a hand out of which ``card`` is legally played now; -1, no limit,
    where no hand could play it.

    The exact converse of ``legal_plays``: a card is legal from a hand that holds it if and only if the rest of the
    hand lies within this set.
    """
    everything = (1 << 52) - 1
    if public["trick"] != 0:
        if card & 3 == public["led"]:
            return everything
        off_suit = everything & ~SUIT_CARDS[public["led"]]
        first_trick = public["num_played"] < 4 and public["no_pts_on_first_trick"] != 0
        if first_trick and BIT[card] & PENALTY_CARDS != 0:
            return off_suit & PENALTY_CARDS
        return off_suit
    if public["num_played"] == 0 and public["free_first_lead"] == 0:
        first_leads = CLUB_CARDS if public["can_lead_any_club"] != 0 else TWO_OF_CLUBS_SET
        return everything if BIT[card] & first_leads != 0 else -1
    if public["broken"] != 0 or card & 3 != HEARTS:
        return everything
    return HEART_CARDS | QUEEN_SET if public["can_lead_hearts_instead_of_qs"] != 0 else HEART_CARDS


@kernel
def play_card(public, card):
    """The seat to play plays ``card``: trick, taken cards, broken hearts and turn follow. Legality is not checked."""
    suit = card & 3
    turn = public["turn"]
    high = public["high"]
    # Not "or" and "and": which card wins cannot be predicted, so this is faster without branches.
    beats = (public["trick"] == 0) | ((suit == public["led"]) & (card > high))
    public["led"] = suit if beats else public["led"]
    public["high"] = card if beats else high
    public["winner"] = turn if beats else public["winner"]
    if suit == HEARTS or (card == QUEEN_OF_SPADES and public["qs_breaks_hearts"] != 0):
        public["broken"] = 1
    trick = public["trick"] | BIT[card]
    num_played = public["num_played"] + 1
    turn = (turn + 1) & 3
    if num_played & 3 == 0:
        turn = public["winner"]
        public["taken"][turn] |= trick
        trick = 0
    public["trick"] = trick
    public["num_played"] = num_played
    public["turn"] = turn if num_played < NUM_CARDS else -1


@kernel
def card_points(taken):
    """Points of the hearts and the queen of spades among the cards that a seat has taken (``int64`` set)."""
    return count(taken & HEART_CARDS) + (13 if taken & QUEEN_SET != 0 else 0)


@kernel
def owner_of_all(public):
    """The seat that has taken all points so far, -1 where there is none."""
    owner = -1
    for seat in range(4):
        if card_points(public["taken"][seat]) > 0:
            if owner >= 0:
                return -1
            owner = seat
    return owner


@kernel
def score(public, points):
    """Write the points of every seat (``int64[4]``, fewer is better) for the cards taken in a finished deal."""
    taken = public["taken"]
    shooter = -1
    for seat in range(4):
        points[seat] = card_points(taken[seat])
        if points[seat] == 26:
            shooter = seat
        if public["jd_bonus"] != 0 and taken[seat] & JACK_SET != 0:
            points[seat] -= 10
    if shooter >= 0:
        _score_moon(public, points, shooter)
    elif public["avoid_all_tricks_bonus"] != 0:
        for seat in range(4):
            if taken[seat] == 0:
                points[seat] -= 5


@kernel
def _score_moon(public, points, shooter):
    if public["moon"] == 1:
        points[shooter] -= 52
        return
    for seat in range(4):
        points[seat] += -26 if seat == shooter else 26
