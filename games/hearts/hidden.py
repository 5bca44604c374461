"""Where the cards can lie that one seat has not seen, and so whether its history could have happened: judged exactly at
every point. Each observed play restricts what the rest of that seat's hand may be, and the cards never seen must fit
into the hands of the others within those restrictions (Hall's condition)."""

from games.bits import count
from games.compiling import kernel
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
    be divisible among the other seats: no set of seats may be the only home of more cards than it has room for.
    """
    if view["ended"] != 0 or view["refuted"] != 0:
        return False
    public = view["public"]
    if public["turn"] < 0:
        return True
    for seats in range(8):
        at_home, places = _only_home(view, seats)
        if count(at_home) > places:
            return False
    return True


@kernel
def _only_home(view, seats):
    """``(cards, places)``: the unseen cards that only ``seats`` may hold, and how many cards these still hold;
    ``seats`` is a set of the others: bit 0 left, 1 across, 2 right."""
    cards, places = unseen(view), 0
    for seat in range(1, 4):
        if seats >> (seat - 1) & 1 != 0:
            places += room(view, seat)
        else:
            cards &= ~view["possible"][seat]
    return cards, places
