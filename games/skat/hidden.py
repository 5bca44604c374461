"""Where the cards can lie that one seat has not seen, and so whether its history could have happened."""

import numpy as np

from games.bits import count
from games.compiling import kernel
from games.dividing import fits
from games.skat.cards import HAND_SIZE
from games.skat.rules import OVER, is_revealed
from games.skat.view import unseen


@kernel
def rooms(view):
    """``int64[3]``: unseen cards in each of the places of ``homes``, from the first lead on. Aside lies the talon, or
    the discards of another soloist."""
    public, room = view["public"], np.zeros(3, np.int64)
    for step in (1, 2):
        room[step - 1] = HAND_SIZE - count(public["shown"][(view["seat"] + step) % 3])
    room[2] = 0 if public["picked_up"] != 0 and public["soloist"] == view["seat"] else 2
    return room


@kernel
def homes(view):
    """``int64[3]``: sets of the unseen cards that may be with the next seat, with the one after it, and aside.

    Cards are turned over at the end in ascending order. Turned cards are not with a defender; unseen ones that were
    passed over are: below the highest turned card while more are to come, all of them after the last.
    """
    public, cards = view["public"], unseen(view)
    left, right = (view["seat"] + 1) % 3, (view["seat"] + 2) % 3
    at_left, at_right = cards & view["possible"][left], cards & view["possible"][right]
    aside = cards & ~view["open"]
    if public["phase"] == OVER and is_revealed(public) and view["turned"] != 0:
        passed_over = cards & ~view["turned"] & ~view["open"]
        if view["due"] > 0:
            passed_over &= _up_to_highest(view["turned"])
        aside &= ~passed_over
        at_left &= ~(passed_over if left == public["soloist"] else view["turned"])
        at_right &= ~(passed_over if right == public["soloist"] else view["turned"])
    return np.array([at_left, at_right, aside])


@kernel
def _up_to_highest(cards):
    """All cards up to the highest of a set."""
    filled = cards
    for shift in (1, 2, 4, 8, 16):
        filled |= filled >> shift
    return filled


@kernel
def is_consistent(view):
    """Whether some deal and legal actions of the others give this history.

    Until the first lead nothing but the order of the cards restricts a history. From then on the unseen cards must fit
    into hidden hands and talon: no set of these places may be the only home of more cards than it has room for.
    """
    if view["ended"] != 0 or view["refuted"] != 0:
        return False
    return view["public"]["num_played"] == 0 or fits(unseen(view), homes(view), rooms(view))
