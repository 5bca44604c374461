"""What the paper's features need of a history beyond a view: who bid how far, who led, sloughed and showed voids."""

import numpy as np

from games.bits import BIT
from games.compiling import kernel
from games.skat.cards import FIRST_BID, HOLD, PASS, SUIT_OF, TRUMP
from games.skat.view import CALLED, PLAYED, advance, stage_of

LOG = np.dtype(
    [
        ("led", np.int64, 3),  # cards each seat has led, as sets
        ("sloughed", np.int64, 3),  # cards, no trumps, with which it did not follow suit
        ("voids", np.int64, 3),  # suits that it did not follow, TRUMP among them, as bits
        ("reached", np.int64, 3),  # highest limit that it has bid or held: 0 none, else 1 + index of BIDS
        ("first_limit", np.int64),  # limit of the loser of the first duel; 0 before its end
    ]
)


@kernel
def follow(view, log, token):
    """Take in one token of a history: ``view`` advances, ``log`` (a record of ``LOG``) notes what it does not keep."""
    stage, public = stage_of(view), view["public"]
    if stage == CALLED:
        _note_call(public, log, token)
    elif stage == PLAYED:
        _note_play(public, log, token)
    advance(view, token)


@kernel
def _note_call(public, log, token):
    turn = public["turn"]
    if token == HOLD:
        log["reached"][turn] = public["bid"] + 1
    elif token == PASS and public["duel"] == 0:
        log["first_limit"] = log["reached"][turn]
    elif token != PASS:
        log["reached"][turn] = token - FIRST_BID + 1


@kernel
def _note_play(public, log, card):
    turn, suit = public["turn"], SUIT_OF[public["game"], card]
    if public["trick"] == 0:
        log["led"][turn] |= BIT[card]
    elif suit != public["led"]:
        log["voids"][turn] |= np.int64(1) << public["led"]
        if suit != TRUMP:
            log["sloughed"][turn] |= BIT[card]
