"""Where the cards can lie that one seat has not seen, and so whether its history could have happened."""

import numpy as np

from games.bits import count, mark_legal
from games.compiling import kernel
from games.game import Next
from games.skat.cards import FIRST_SEAT, HAND_SIZE, NUM_CARDS
from games.skat.legal import legal_tokens
from games.skat.rules import OVER, is_revealed
from games.skat.view import CALLED, ENDED, MODIFIED, OWN_PLACE, VIEW, advance, next_of, own_legal, stage_of, unseen

_ACTION = int(Next.ACTION)


@kernel
def room(view, seat):
    """Cards another seat still holds, from the first lead on."""
    return HAND_SIZE - count(view["public"]["shown"][seat])


@kernel
def room_aside(view):
    """Number of unseen cards in no hand: the talon, or the discards of another soloist."""
    public = view["public"]
    return 0 if public["picked_up"] != 0 and public["soloist"] == view["seat"] else 2


@kernel
def homes(view):
    """``(left, right, aside)``: sets of the unseen cards that may be with the next seat, with the one after it, and
    aside.

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
    return at_left, at_right, aside


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
    public = view["public"]
    if public["num_played"] == 0:
        return True
    cards = unseen(view)
    at_left, at_right, aside = homes(view)
    room_left, room_right = room(view, (view["seat"] + 1) % 3), room(view, (view["seat"] + 2) % 3)
    for places in range(8):  # set of places: bit 0 left seat, 1 right seat, 2 aside
        only_here, capacity = cards, 0
        if places & 1 != 0:
            capacity += room_left
        else:
            only_here &= ~at_left
        if places & 2 != 0:
            capacity += room_right
        else:
            only_here &= ~at_right
        if places & 4 != 0:
            capacity += room_aside(view)
        elif room_aside(view) > 0:
            only_here &= ~aside
        if count(only_here) > capacity:
            return False
    return True


@kernel
def mark_possible(view, row):
    """Mark the tokens after which the history is still consistent in ``bool[V]``, given all False."""
    stage = stage_of(view)
    if stage == ENDED or not is_consistent(view):
        return
    if next_of(view) == _ACTION:  # what a seat may do by the rules it can always have done
        mark_legal(own_legal(view), row)
    elif stage >= CALLED and stage <= MODIFIED:
        mark_legal(legal_tokens(view["public"], np.int64(0), np.int64(0)), row)
    elif stage == OWN_PLACE:
        row[FIRST_SEAT : FIRST_SEAT + 3] = True
    else:
        scratch = np.empty(1, VIEW)
        for card in range(NUM_CARDS):
            scratch[0] = view
            advance(scratch[0], np.int64(card))
            row[card] = is_consistent(scratch[0])
