"""Where the cards can lie that one seat has not seen, and so whether its history could have happened: judged exactly at
every point. Each observed play restricts what the rest of that seat's hand may be, and the cards never seen must fit
into the hands of the others within those restrictions (Hall's condition)."""

from games.bits import count
from games.compiling import kernel
from games.dividing import fits
from games.hearts.cards import ALL_CARDS


@kernel
def room(view, seat):
    """Cards another seat still holds, from the first lead on."""
    return 13 - count(view["shown"][seat])


@kernel
def unseen(view):
    """``int64`` set of the cards that lie in the hands of the others, from the first lead on."""
    shown = view["shown"]
    return ALL_CARDS & ~(view["hand"] | shown[0] | shown[1] | shown[2] | shown[3])


@kernel
def is_consistent(view):
    """Whether some deal and some legal play of the others give this history.

    Until the first lead nothing but the order of the cards restricts a history. From then on the unseen cards must
    be divisible among the other seats.
    """
    if view["ended"] != 0 or view["refuted"] != 0:
        return False
    if view["public"]["turn"] < 0:
        return True
    at = view["possible"]
    return fits(unseen(view), (at[1], at[2], at[3]), (room(view, 1), room(view, 2), room(view, 3)))
