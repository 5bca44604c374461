"""What the seat to act may do.

Legal tokens are as in ``games.bits``, a set and every bid from one on: the 65 calls alone would not fit into one set.
"""

import numpy as np

from games.bits import highest
from games.compiling import kernel
from games.hands import following
from games.skat.cards import FIRST_BID, FIRST_GAME, FIRST_MODIFIER, NULL, OUVERT, PASS, PICKUP, SUIT_CARDS
from games.skat.rules import AUCTION, CHOICE, DECLARATION, DISCARD, MODIFIER, PLAY
from games.skat.values import BIDS, null_value


@kernel
def legal_tokens(public, hand, laid):
    """Legal tokens of the seat to act, which holds ``hand`` and, if it discards, has ``laid`` one card aside (sets)."""
    phase = public["phase"]
    if phase == AUCTION:
        return _legal_calls(public)
    first, tokens = np.int64(0), np.int64(0)
    if phase == CHOICE:
        first, tokens = np.int64(PICKUP), np.int64(0b11)
    elif phase == DISCARD:
        tokens = legal_discards(hand, laid)
    elif phase == DECLARATION:
        first, tokens = np.int64(FIRST_GAME), _legal_games(public)
    elif phase == MODIFIER:
        first, tokens = np.int64(FIRST_MODIFIER), _legal_modifiers(public)
    elif phase == PLAY:
        tokens = legal_plays(public, hand)
    return first, tokens, np.int64(PICKUP), np.int64(PICKUP)


@kernel
def _legal_calls(public):
    """A bidder may pass or bid any higher value, so jump; a listener may hold or pass; forehand alone, 18 or pass."""
    first, none = np.int64(PASS), np.int64(PICKUP)
    if public["asked"] != 0:
        return first, np.int64(0b11), none, none
    if public["duel"] == 2:
        return first, np.int64(0b101), none, none
    return first, np.int64(0b1), np.int64(FIRST_BID + public["bid"] + 1), none


@kernel
def legal_discards(hand, laid):
    """The second discard has the higher index, so that a pair is one sequence: the first leaves a higher card."""
    if laid != 0:
        return hand & ~(laid | (laid - 1))
    return hand & ~highest(hand)


@kernel
def _legal_games(public):
    """Trump games may be overbid; null is offered if one of its values reaches the bid."""
    tokens = np.int64(0b11111)
    if null_value(1 - public["picked_up"], OUVERT) >= BIDS[public["bid"]]:
        tokens |= 1 << NULL
    return tokens


@kernel
def _legal_modifiers(public):
    """Null is plain or ouvert, whichever reaches the bid; hand games may be anything."""
    if public["game"] != NULL:
        return np.int64(0b1111)
    plain = null_value(1 - public["picked_up"], 0) >= BIDS[public["bid"]]
    return np.int64(0b1001) if plain else np.int64(0b1000)


@kernel
def legal_plays(public, hand):
    """``int64`` set of the cards of ``hand`` that may be played: trumps, the jacks among them, are a suit to follow."""
    return hand if public["trick"] == 0 else following(hand, SUIT_CARDS[public["game"], public["led"]])
