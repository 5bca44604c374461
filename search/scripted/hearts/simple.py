"""The greedy Hearts player of paper 002 ("Heuristic and Testing AIs": "a simple greedy strategy").

The paper gives no details. Ours considers only its own hand, this trick and its highest card:

- follow suit with the highest card that does not win the trick, else with the lowest one;
- without the suit, throw the queen of spades, else the highest heart, else the highest card;
- lead the lowest card;
- pass the queen of spades, then the highest cards.

Of equal ranks it takes hearts last when it leads, and spades first when it throws or passes. It uses no random numbers.
"""

import numpy as np

from games.batches import results
from games.bits import BIT, highest, lowest
from games.compiling import kernel
from games.hearts.cards import HEART_CARDS, QUEEN_OF_SPADES, QUEEN_SET, SUIT_CARDS
from games.hearts.view import own_legal
from search.players.player import RulesPlayer, Turns


class HeartsSimple(RulesPlayer):
    """Plays Hearts greedily; deterministic."""

    name, plays = "hearts_simple", "hearts"

    def decide(self, turns: Turns, views: np.ndarray, chosen: np.ndarray) -> None:
        """See ``RulesPlayer``."""
        _choose_batch(views, chosen)


@kernel
def _choose(view):
    public, legal = view["public"], own_legal(view)
    if public["turn"] < 0:
        return QUEEN_OF_SPADES if legal & QUEEN_SET != 0 else lowest(highest(legal))
    if public["trick"] == 0:
        return _lowest_rank(legal)
    if legal & SUIT_CARDS[public["led"]] != 0:
        losing = legal & (BIT[public["high"]] - 1)
        return lowest(highest(losing)) if losing != 0 else lowest(legal)
    if legal & QUEEN_SET != 0:
        return QUEEN_OF_SPADES
    return lowest(highest(legal & HEART_CARDS)) if legal & HEART_CARDS != 0 else lowest(highest(legal))


_choose_batch = results(_choose)


@kernel
def _lowest_rank(cards):
    """The lowest card of a non-empty set; of equal ranks not the heart."""
    first = lowest(cards)
    of_rank = cards & (np.int64(0b1111) << (first & ~3)) & ~HEART_CARDS
    return lowest(of_rank) if of_rank != 0 else first
