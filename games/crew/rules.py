"""The rules over public knowledge, written once for true states and for views.

A deal is a row of public tokens, and ``step`` takes in one: an action, or what chance shows to all. What some seats
alone see is not among them: hands, a distress pass, and the draw of mission 12, which ``end_passing`` and
``end_exchange`` stand for.

Kernels take ``public``, a record of ``public.PUBLIC``, and check no legality (``games.crew.legal``). Seats are whatever
the caller numbers: absolute in a state, relative to the observer in a view. So a position token that ``step`` gets is
``FIRST_POSITION`` and the caller's number of the seat; ``left`` and ``right`` as a direction are the tokens of these
names for all seats.
"""

from games.compiling import kernel
from games.crew.allocation import appoint, begin_tasks, choose_task, holder_is_late, reply, reply_distress, uncover
from games.crew.cards import FIRST_POSITION
from games.crew.missions import ALL_PINK, ALLOCATION, COMMUNICATION, MISSION_TILES, NUM_TASKS, SPECIAL
from games.crew.public import (
    COMMANDER,
    DIRECTION,
    DISTRESS,
    DRAFT,
    HOLDER,
    MARK,
    PASS,
    PICK_TILE,
    PLACE_TILE,
    PLAY,
    POLL,
    TALK,
    UNCOVER,
)
from games.crew.tricks import acts, begin_trick, no_seat_acts, play_card, talk


@kernel
def begin(public, mission):
    """Header and hands are dealt: the commander shows itself next."""
    public["mission"] = mission
    public["allocation"] = ALLOCATION[mission]
    public["communication"] = COMMUNICATION[mission]
    public["special"] = SPECIAL[mission]
    public["num_tasks"] = NUM_TASKS[mission]
    for n in range(public["num_tasks"]):
        public["tiles"][n] = MISSION_TILES[mission, n]
    no_seat_acts(public, COMMANDER)


@kernel
def step(public, token):
    """Take in one public token in any phase but ``UNKNOWN``, ``PASS``, ``EXCHANGE`` and ``OVER``."""
    phase = public["phase"]
    if phase == PLAY:
        play_card(public, token)
    elif phase in (TALK, MARK):
        talk(public, token)
    elif phase in (DRAFT, PICK_TILE, PLACE_TILE):
        choose_task(public, token)
    elif phase == UNCOVER:
        uncover(public, token)
    elif phase == POLL:
        reply(public, token)
    elif phase == DISTRESS:
        reply_distress(public, token)
    elif phase == DIRECTION:
        public["direction"] = token - FIRST_POSITION
        acts(public, PASS, public["commander"])
    else:
        _place(public, token - FIRST_POSITION)


@kernel
def _place(public, seat):
    """Take in a position: the commander's, that of the holder of the pink 9, or the commander's choice."""
    phase = public["phase"]
    if phase == COMMANDER:
        public["commander"] = seat
        if public["special"] & ALL_PINK != 0 and not holder_is_late(public):
            no_seat_acts(public, HOLDER)
        else:
            begin_tasks(public)
    elif phase == HOLDER:
        public["named"] = (seat + 1) & 3
        if holder_is_late(public):
            begin_trick(public, public["commander"])
        else:
            begin_tasks(public)
    else:
        appoint(public, seat)
