"""What decides a mission, asked after every trick.

A mission ends as soon as the cards played and the tricks won decide it, whatever the hands hold: it fails with the
trick after which no play of the cards left could succeed by these numbers alone, and succeeds with the trick that
completes it. Players that know from their hands that all is lost play on, where people may give up.

Kernels take ``public``, a record of ``public.PUBLIC``, after the trick has been counted for its winner; its cards are
still on the table.
"""

from games.bits import count
from games.compiling import kernel
from games.crew.cards import (
    FIRST_ARROW,
    FIRST_ROCKET,
    NINES,
    NO_TILE,
    NUM_TRICKS,
    OMEGA,
    ONES,
    PINK_CARDS,
    ROCKET_CARDS,
)
from games.crew.missions import (
    A_1_WINS,
    ALL_PINK,
    BALANCED,
    COMMANDER_ENDS,
    EXACTLY_ONE,
    FOUR_AND_LAST,
    NO_9_WINS,
    OMEGA_AT_THE_END,
    ONLY_ENDS,
    ROCKETS_IN_ORDER,
    ROCKETS_WIN,
    SICK,
    TWO_1S_WIN,
)

_TO_THE_END = SICK | BALANCED | EXACTLY_ONE | COMMANDER_ENDS | ONLY_ENDS | FOUR_AND_LAST
"""Special rules that only the last trick can fulfil."""


@kernel
def judge(public):
    """1 if the trick completes the mission, 0 if it fails it, -1 if play goes on."""
    if not _take_tasks(public) or not _in_order(public) or _breaks_special(public):
        return 0
    if is_fulfilled(public):
        return 1
    return 0 if public["num_played"] == 4 * NUM_TRICKS else -1


@kernel
def _take_tasks(public):
    """Tick the tasks whose cards lie in the trick; whether all of them belong to the winner."""
    for n in range(public["num_tasks"]):
        if public["trick"] >> public["tasks"][n] & 1 != 0:
            if public["owners"][n] != public["winner"]:
                return False
            public["done"][n] = public["num_played"] // 4
    return True


@kernel
def _in_order(public):
    """Whether the tasks done keep the order of the tiles: number ``k`` is the ``k``-th of all tasks, arrows go up, and
    omega is last. Tasks of one trick count as done in the right order; with ``same_trick`` refused, a number or omega
    is not done together with a task that has no tile."""
    for n in range(public["num_tasks"]):
        tile, done = public["tiles"][n], public["done"][n]
        if tile == NO_TILE or (done == 0) == (tile == OMEGA):
            continue  # an open omega, or a number or arrow that is done, breaks nothing by itself
        for other in range(public["num_tasks"]):
            other_tile, other_done = public["tiles"][other], public["done"][other]
            if tile == OMEGA:
                wrong = other_done == 0
            elif tile >= FIRST_ARROW:
                wrong = other_done != 0 and other_tile > tile and other_tile < OMEGA
            else:
                wrong = other_done != 0 and other_tile >= tile
            if wrong and other != n:
                return False
    return public["same_trick"] == 0 or not _done_with_a_free_task(public)


@kernel
def _done_with_a_free_task(public):
    """Whether this trick did a number or omega task and one without a tile."""
    now, fixed, free = public["num_played"] // 4, False, False
    for n in range(public["num_tasks"]):
        if public["done"][n] == now:
            tile = public["tiles"][n]
            free = free or tile == NO_TILE
            fixed = fixed or tile < FIRST_ARROW or tile == OMEGA
    return fixed and free


@kernel
def _breaks_special(public):
    """Whether a special rule of the mission can be fulfilled no more."""
    special = public["special"]
    if special == 0:
        return False
    return _breaks_by_card(public, special) or _breaks_by_trick(public, special)


@kernel
def _breaks_by_card(public, special):
    """Rules on the cards that win: also counts in ``progress`` the 1s or rockets that have won."""
    trick, high = public["trick"], public["high"]
    if special & (A_1_WINS | TWO_1S_WIN) != 0:
        public["progress"] += ONES >> high & 1
        wanted = 1 if special & A_1_WINS != 0 else 2
        return public["progress"] + count(ONES & ~played(public)) < wanted
    if special & (ROCKETS_WIN | ROCKETS_IN_ORDER) != 0 and trick & ROCKET_CARDS != 0:
        out_of_order = high != FIRST_ROCKET + public["progress"]
        public["progress"] += 1
        return count(trick & ROCKET_CARDS) > 1 or (special & ROCKETS_IN_ORDER != 0 and out_of_order)
    if special & NO_9_WINS != 0:
        return NINES >> high & 1 != 0
    if special & ALL_PINK != 0:
        return trick & PINK_CARDS != 0 and public["winner"] != public["named"]
    if special & OMEGA_AT_THE_END != 0 and public["num_played"] < 4 * NUM_TRICKS:
        for n in range(public["num_tasks"]):
            if public["tiles"][n] == OMEGA and public["done"][n] != 0:
                return True
    return False


@kernel
def _breaks_by_trick(public, special):
    """Rules on who wins which tricks."""
    winner, number, tricks = public["winner"], public["num_played"] // 4, public["tricks"]
    named, rocket = winner == public["named"], public["high"] >= FIRST_ROCKET
    at_an_end = number == 1 or number == NUM_TRICKS
    if special & SICK != 0 and named:
        return True
    if special & BALANCED != 0:
        most, fewest = max(tricks[0], tricks[1]), min(tricks[0], tricks[1])
        if max(most, tricks[2], tricks[3]) - min(fewest, tricks[2], tricks[3]) > 1:
            return True
    if special & EXACTLY_ONE != 0 and named:
        return rocket or tricks[winner] > 1
    if special & COMMANDER_ENDS != 0 and at_an_end:
        return winner != public["commander"]
    if special & ONLY_ENDS != 0:
        return named != at_an_end or (named and rocket)
    if special & FOUR_AND_LAST != 0:
        return named != (number <= 4) or (winner == public["last"]) != (number == NUM_TRICKS)
    return False


@kernel
def is_fulfilled(public):
    """Whether all tasks are done and nothing is left of the special rules, given that none is broken."""
    for n in range(public["num_tasks"]):
        if public["done"][n] == 0:
            return False
    special = public["special"]
    if special & _TO_THE_END != 0:
        complete = public["num_played"] == 4 * NUM_TRICKS
        return complete and (special & EXACTLY_ONE == 0 or public["tricks"][public["named"]] == 1)
    if special & A_1_WINS != 0:
        return public["progress"] >= 1
    if special & TWO_1S_WIN != 0:
        return public["progress"] >= 2
    if special & (ROCKETS_WIN | ROCKETS_IN_ORDER) != 0:
        return public["progress"] == 4
    if special & NO_9_WINS != 0:
        stops = public["nines"] != 0 and public["num_tasks"] > 0
        return stops or NINES & ~played(public) == 0
    if special & ALL_PINK != 0:
        return PINK_CARDS & ~public["taken"][public["named"]] == 0
    return True


@kernel
def played(public):
    """``int64`` set of all cards played."""
    shown = public["shown"]
    return shown[0] | shown[1] | shown[2] | shown[3]
