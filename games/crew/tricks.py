"""The tricks: radio before them, cards, and who won.

Kernels take ``public``, a record of ``public.PUBLIC``; legality is not checked.
"""

from games.bits import BIT
from games.compiling import kernel
from games.crew.cards import DEAD_ZONE, FIRST_MARK, FIRST_WINDOW, ROCKET, SILENT, UNMARKED
from games.crew.judging import judge
from games.crew.missions import RANDOM_DRAW
from games.crew.public import EXCHANGE, MARK, OVER, PLAY, TALK
from games.hands import play_into_trick


@kernel
def acts(public, phase, seat):
    """A phase in which a seat is to act."""
    public["phase"] = phase
    public["turn"] = seat


@kernel
def no_seat_acts(public, phase):
    """A phase in which chance shows something, or the end."""
    acts(public, phase, -1)


@kernel
def begin_trick(public, leader):
    """A seat is to lead, after the window where there is one."""
    public["leader"] = leader
    if public["num_played"] // 4 >= FIRST_WINDOW[public["communication"]]:
        _talk_from(public, 0)
    else:
        acts(public, PLAY, leader)


@kernel
def _talk_from(public, first):
    """Ask the next seat that has its radio token, the leader's ``first`` neighbour or one behind it; then it leads."""
    for distance in range(first, 4):
        seat = (public["leader"] + distance) & 3
        if public["radio"][seat] != 0:
            acts(public, TALK, seat)
            return
    acts(public, PLAY, public["leader"])


@kernel
def talk(public, token):
    """Silence, or a card that is shown; a mark follows but in the dead zone."""
    turn = public["turn"]
    if public["phase"] == MARK:
        public["marks"][turn] = token - FIRST_MARK
    elif token != SILENT:
        public["radio"][turn] = 0
        public["said"][turn] = token
        public["said_at"][turn] = public["num_played"]
        if public["communication"] != DEAD_ZONE:
            public["phase"] = MARK
            return
        public["marks"][turn] = UNMARKED
    _talk_from(public, 1 + ((turn - public["leader"]) & 3))


@kernel
def beats(public, card):
    """Whether a card would be the best of this trick so far."""
    return public["trick"] == 0 or (card > public["high"] and card // 9 in (public["led"], ROCKET))


@kernel
def play_card(public, card):
    """The seat to act plays ``card``; the highest rocket wins, else the highest card of the colour led. The mission may
    end with a full trick."""
    trick = public["trick"] | BIT[card]
    if not play_into_trick(public, card, card // 9, beats(public, card)):
        return
    public["result"] = judge(public, trick)
    if public["result"] >= 0:
        no_seat_acts(public, OVER)
    elif public["num_played"] == 4 and public["special"] & RANDOM_DRAW != 0:
        no_seat_acts(public, EXCHANGE)
    else:
        begin_trick(public, public["winner"])
