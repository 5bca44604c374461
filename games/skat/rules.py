"""Public knowledge of a deal and the rules over it, written once for true states and for views.

Kernels take ``public``, a record of ``PUBLIC``. Seats are 0 forehand, 1 middlehand, 2 rearhand, in a view too: each
seat knows its own place. Legality and results follow the rules' sections on auction, announcements and scores.
"""

import numpy as np

from games.compiled import template_of
from games.compiling import kernel
from games.hands import play_into_trick, public_type
from games.skat.cards import (
    FIRST_BID,
    FIRST_GAME,
    FIRST_MODIFIER,
    HAND,
    HOLD,
    NULL,
    NUM_PLAYS,
    PASS,
    PICKUP,
    SCHWARZ,
    STRENGTH,
    SUIT_OF,
    TRUMP,
    matadors_of,
    points_of,
)
from games.skat.values import BIDS, judge, write_points

SCORINGS = ("seeger_fabian", "classic")
"""How a deal is scored: with the terms of Seeger and Fabian (the default), or the game's value alone."""

AUCTION, CHOICE, DISCARD, DECLARATION, MODIFIER, PLAY, OVER = range(7)
"""Phases of a deal: calls, ``pickup`` or ``hand``, the soloist's two discards, game, modifier, cards."""

PUBLIC = public_type(
    3,
    "scoring",  # index of SCORINGS
    "phase",
    "duel",  # 0 middlehand bids to forehand, 1 rearhand to who is left, 2 forehand is asked alone
    "listener",  # seat that is bid to
    "asked",  # 1 while a bid waits for its reply
    "bid",  # highest bid so far, an index of BIDS, -1 without any
    "soloist",  # -1 before the auction is over, and when all passed
    "picked_up",  # 1 if the soloist took the talon
    "game",  # index of GAMES, -1 before the declaration
    "modifier",
)
"""The public part of a deal, as ``games.hands`` has it; ``led`` is a suit or ``TRUMP``, ``high`` a card's strength."""


def template(scoring: int = 0) -> np.ndarray:
    """``PUBLIC[1]``: what all seats know before the deal; ``scoring`` is an index into ``SCORINGS``."""
    return template_of(PUBLIC, scoring=scoring, turn=-1, bid=-1, soloist=-1, game=-1)


# ---- what happens; legality is not checked (games.skat.legal) ------------------------------------------------------


@kernel
def begin(public):
    """The cards are dealt: middlehand bids to forehand."""
    public["phase"] = AUCTION
    public["turn"] = 1


@kernel
def call(public, token):
    """The seat to act bids, holds or passes."""
    if token == PASS:
        _pass(public)
    elif token == HOLD:
        public["asked"] = 0
        public["turn"] = public["duel"] + 1
    else:
        public["bid"] = token - FIRST_BID
        public["asked"] = 1
        public["turn"] = public["listener"]
        if public["duel"] == 2:
            _end_auction(public, 0)


@kernel
def _pass(public):
    if public["duel"] == 2:
        public["phase"] = OVER
        public["turn"] = -1
        return
    left = public["duel"] + 1 if public["asked"] != 0 else public["listener"]
    public["asked"] = 0
    if public["duel"] == 0:
        public["duel"] = 1
        public["listener"] = left
        public["turn"] = 2
    elif public["bid"] >= 0:
        _end_auction(public, left)
    else:
        public["duel"] = 2
        public["turn"] = 0


@kernel
def _end_auction(public, soloist):
    public["asked"] = 0
    public["soloist"] = soloist
    public["turn"] = soloist
    public["phase"] = CHOICE


@kernel
def choose(public, token):
    """The soloist picks up the talon, and is to discard, or plays hand."""
    public["picked_up"] = 1 if token == PICKUP else 0
    public["phase"] = DECLARATION if token == HAND else DISCARD


@kernel
def declare(public, token):
    """The soloist names a game; a modifier follows after ``hand`` and in null."""
    public["game"] = token - FIRST_GAME
    if public["picked_up"] == 0 or public["game"] == NULL:
        public["phase"] = MODIFIER
    else:
        begin_play(public)


@kernel
def modify(public, token):
    """The soloist names the modifier."""
    public["modifier"] = token - FIRST_MODIFIER
    begin_play(public)


@kernel
def begin_play(public):
    """Forehand leads."""
    public["phase"] = PLAY
    public["turn"] = 0


@kernel
def play_card(public, card):
    """The seat to act plays ``card``: trick, taken cards, turn and the end of the deal follow. Null is lost with the
    soloist's first trick, and a game with schwarz announced with the defenders' first: the deal ends there."""
    game = public["game"]
    suit, strength = SUIT_OF[game, card], STRENGTH[game, card]
    is_best = public["trick"] == 0 or (strength > public["high"] and (suit == public["led"] or suit == TRUMP))
    is_full = play_into_trick(public, card, suit, is_best)
    if is_best:
        public["high"] = strength
    if is_full:
        if game == NULL:
            lost = public["winner"] == public["soloist"]
        else:
            lost = public["winner"] != public["soloist"] and public["modifier"] >= SCHWARZ
        if lost or public["num_played"] == NUM_PLAYS:
            public["phase"] = OVER
            public["turn"] = -1


@kernel
def is_revealed(public):
    """Whether the soloist's cards are turned over at the end: the value of a game cut short depends on matadors that
    have not been played yet. Null has a fixed value."""
    cut_short = public["phase"] == OVER and public["num_played"] < NUM_PLAYS
    return cut_short and public["soloist"] >= 0 and public["game"] != NULL


@kernel
def result(public, twelve, aside):
    """``(won, value, overbid, matadors, points)`` of a finished game: ``twelve`` are the soloist's hand and the talon
    as dealt, ``aside`` the two cards laid aside (sets)."""
    soloist = public["soloist"]
    won_tricks = public["tricks"][soloist]
    lost_tricks = public["tricks"].sum() - won_tricks
    points = points_of(public["taken"][soloist] | aside)
    matadors = matadors_of(public["game"], twelve)
    won, value, overbid = judge(
        public["game"],
        matadors,
        1 - public["picked_up"],
        public["modifier"],
        points,
        won_tricks,
        lost_tricks,
        BIDS[public["bid"]],
    )
    return won, value, overbid, matadors, points


@kernel
def score(public, twelve, aside, points):
    """Write the points of the three seats (``int64[3]``) of a finished deal."""
    if public["soloist"] < 0:
        points[:] = 0
        return
    won, value, _, _, _ = result(public, twelve, aside)
    write_points(public["scoring"], public["soloist"], won, value, points)
