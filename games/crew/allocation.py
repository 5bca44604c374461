"""What is settled between the deal and the first trick: tasks, tiles, roles, and the distress signal.

Kernels take ``public``, a record of ``public.PUBLIC``; legality is not checked.
"""

from games.compiling import kernel
from games.crew.cards import DECIDED, DECLINE, DISTRIBUTED, DRAFTED, NO_ALLOCATION, YES
from games.crew.missions import (
    ALL_PINK,
    EXACTLY_ONE,
    FOUR_AND_LAST,
    MOVE_A_TILE,
    MUTED,
    ONLY_ENDS,
    SICK,
    SWAP_TILES,
)
from games.crew.public import DIRECTION, DISTRESS, DRAFT, HOLDER, NAME, PICK_TILE, PLACE_TILE, POLL, UNCOVER
from games.crew.tricks import acts, begin_trick, no_seat_acts


@kernel
def holder_is_late(public):
    """Whether the holder of the pink 9 speaks up only after the distress signal is settled."""
    return public["distress"] != 0 and public["pink_target"] != 0


@kernel
def task_of(public, card):
    """Index of the task of a card, -1 if none has been uncovered."""
    for n in range(public["num_laid"]):
        if public["tasks"][n] == card:
            return n
    return -1


@kernel
def begin_tasks(public):
    """Tasks to be chosen lie open; tiles may change, and who is muted may be named, before the choice."""
    if public["allocation"] == DRAFTED and public["num_laid"] < public["num_tasks"]:
        no_seat_acts(public, UNCOVER)
    elif public["special"] & (SWAP_TILES | MOVE_A_TILE) != 0:
        acts(public, PICK_TILE, public["commander"])
    else:
        _begin_allocation(public)


@kernel
def _begin_allocation(public):
    allocation, special = public["allocation"], public["special"]
    if special & MUTED != 0 and public["muting"] == 0 and public["named"] < 0:
        acts(public, NAME, public["commander"])
    elif allocation == DRAFTED:
        acts(public, DRAFT, public["commander"])
    elif allocation == DISTRIBUTED:
        no_seat_acts(public, UNCOVER)
    elif allocation == DECIDED or special & (SICK | EXACTLY_ONE | ONLY_ENDS | FOUR_AND_LAST) != 0:
        _ask_from(public, 1)
    else:
        _begin_distress(public)


@kernel
def uncover(public, card):
    """A task card is uncovered: one to be chosen, one of the owner's who was named, or one to be given away."""
    n = public["num_laid"]
    public["tasks"][n] = card
    public["owners"][n] = public["named"] if public["allocation"] == DECIDED else -1
    public["num_laid"] = n + 1
    if public["allocation"] == DISTRIBUTED:
        _ask_from(public, 1)
    elif public["allocation"] == DRAFTED:
        begin_tasks(public)
    elif n + 1 == public["num_tasks"]:
        _begin_distress(public)


@kernel
def choose_task(public, card):
    """A task is chosen for its seat, or for the change of tiles; ``no tile`` declines the change."""
    phase, n = public["phase"], task_of(public, card)
    if phase == DRAFT:
        public["owners"][n] = public["turn"]
        left = 0
        for other in range(public["num_tasks"]):
            left += int(public["owners"][other] < 0)
        if left > 0:
            public["turn"] = (public["turn"] + 1) & 3
        else:
            _end_allocation(public)
    elif card == DECLINE:
        _begin_allocation(public)
    elif phase == PICK_TILE:
        public["picked"] = n
        public["phase"] = PLACE_TILE
    else:
        picked = public["picked"]
        tile = public["tiles"][picked]
        public["tiles"][picked] = public["tiles"][n]
        public["tiles"][n] = tile
        _begin_allocation(public)


@kernel
def _ask_from(public, first):
    """Ask the next seat, the commander's ``first`` neighbour or one behind it; then the commander decides. Who has a
    role in mission 50 is not asked for the other."""
    commander = public["commander"]
    for distance in range(first, 4):
        seat = (commander + distance) & 3
        if public["special"] & FOUR_AND_LAST == 0 or public["named"] != seat:
            acts(public, POLL, seat)
            return
    if public["special"] & FOUR_AND_LAST != 0 and public["roles"] != 0:
        _take_role(public, commander)  # no seat volunteered
    else:
        acts(public, NAME, commander)


@kernel
def reply(public, token):
    if token == YES and public["special"] & FOUR_AND_LAST != 0 and public["roles"] != 0:
        _take_role(public, public["turn"])
    else:
        _ask_from(public, 1 + ((public["turn"] - public["commander"]) & 3))


@kernel
def appoint(public, seat):
    """A seat is named: for the task last uncovered, or else for the role that is open."""
    if public["allocation"] == DISTRIBUTED:
        public["owners"][public["num_laid"] - 1] = seat
        if public["num_laid"] < public["num_tasks"]:
            no_seat_acts(public, UNCOVER)
        else:
            _end_allocation(public)
        return
    if public["special"] & FOUR_AND_LAST != 0:
        _take_role(public, seat)
        return
    public["named"] = seat
    if public["special"] & MUTED != 0:
        public["radio"][seat] = 0
    if public["allocation"] == DECIDED:
        no_seat_acts(public, UNCOVER)
    elif public["allocation"] == NO_ALLOCATION or public["muting"] != 0:
        _begin_distress(public)
    else:
        acts(public, DRAFT, public["commander"])


@kernel
def _take_role(public, seat):
    """Mission 50: a seat gets the role that is open. After the first, the others are asked for the second. Kernels that
    call each other in a circle cannot be kept compiled, so this asks by itself."""
    if public["named"] >= 0:
        public["last"] = seat
        _begin_distress(public)
        return
    public["named"] = seat
    first = (public["commander"] + 1) & 3
    acts(public, POLL, first if first != seat else (first + 1) & 3)


@kernel
def _end_allocation(public):
    if public["special"] & MUTED != 0 and public["muting"] != 0:
        acts(public, NAME, public["commander"])
    else:
        _begin_distress(public)


# ---- distress ------------------------------------------------------------------------------------------------------


@kernel
def _begin_distress(public):
    if public["distress"] != 0:
        acts(public, DISTRESS, public["commander"])
    else:
        begin_trick(public, public["commander"])


@kernel
def reply_distress(public, token):
    """The signal needs the ``yes`` of all seats; the first ``no`` settles it."""
    seat = (public["turn"] + 1) & 3
    if token != YES:
        _end_distress(public)
    elif seat == public["commander"]:
        acts(public, DIRECTION, seat)
    else:
        public["turn"] = seat


@kernel
def pass_on(public):
    """One more seat has passed its card; clockwise from the commander."""
    public["num_passed"] += 1
    public["turn"] = (public["turn"] + 1) & 3


@kernel
def end_passing(public):
    """Every seat has passed one card and seen the one it got."""
    public["num_passed"] = 4
    _end_distress(public)


@kernel
def _end_distress(public):
    if public["special"] & ALL_PINK != 0 and holder_is_late(public):
        no_seat_acts(public, HOLDER)
    else:
        begin_trick(public, public["commander"])
