"""What decides a mission, asked after every trick.

A mission ends as soon as the cards played and the tricks won decide it, whatever the hands hold: it fails with the
trick after which no play of the cards left could succeed by these numbers alone, and succeeds with the trick that
completes it. Players that know from their hands that all is lost play on, where people may give up.

Kernels take ``public``, a record of ``public.PUBLIC``, after a ``trick`` (a set of cards) was counted for its winner.
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
def judge(public, trick):
    """1 if the trick completes the mission, 0 if it fails it, -1 if play goes on."""
    if not _take_tasks(public, trick) or not keeps_order(public, 0):
        return 0
    if public["same_trick"] != 0 and _done_with_a_free_task(public):
        return 0
    if _breaks_by_card(public, trick) or _breaks_by_trick(public):
        return 0
    if is_fulfilled(public):
        return 1
    return 0 if public["num_played"] == 4 * NUM_TRICKS else -1


@kernel
def _take_tasks(public, trick):
    """Tick the tasks whose cards lie in the trick; whether all of them belong to the winner."""
    for n in range(public["num_tasks"]):
        if trick >> public["tasks"][n] & 1 != 0:
            if public["owners"][n] != public["winner"]:
                return False
            public["done"][n] = public["num_played"] // 4
    return True


@kernel
def keeps_order(public, cards):
    """Whether the tasks done, with those of ``cards`` (a set), keep the order of the tiles: number ``k`` is the
    ``k``-th of all tasks, arrows go up, and omega is last. Tasks of one trick count as done in the right order."""
    for n in range(public["num_laid"]):
        tile = public["tiles"][n]
        if tile == NO_TILE or is_done(public, n, cards) != (tile == OMEGA):
            continue  # an open omega, or a number or arrow that is done, breaks nothing by itself
        for other in range(public["num_laid"]):
            done, other_tile = is_done(public, other, cards), public["tiles"][other]
            if tile == OMEGA:
                wrong = not done
            elif tile >= FIRST_ARROW:
                wrong = done and other_tile > tile and other_tile < OMEGA
            else:
                wrong = done and other_tile >= tile
            if wrong and other != n:
                return False
    return True


@kernel
def is_done(public, n, cards):
    """Whether a task is done, or its card among ``cards``."""
    return public["done"][n] != 0 or cards >> public["tasks"][n] & 1 != 0


@kernel
def does_omega(public, cards):
    """Whether the omega task is done, or its card among ``cards``."""
    done = False
    for n in range(public["num_laid"]):
        done = done or (public["tiles"][n] == OMEGA and is_done(public, n, cards))
    return done


@kernel
def _done_with_a_free_task(public):
    """Whether this trick did a number or omega task and one without a tile, which ``same_trick`` may refuse."""
    now, fixed, free = public["num_played"] // 4, False, False
    for n in range(public["num_tasks"]):
        if public["done"][n] == now:
            tile = public["tiles"][n]
            free = free or tile == NO_TILE
            fixed = fixed or tile < FIRST_ARROW or tile == OMEGA
    return fixed and free


@kernel
def _breaks_by_card(public, trick):
    """Whether a special rule on the cards that win can be fulfilled no more: also counts in ``progress`` the 1s or
    rockets that have won."""
    special, high = public["special"], public["high"]
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
    return special & OMEGA_AT_THE_END != 0 and public["num_played"] < 4 * NUM_TRICKS and does_omega(public, 0)


@kernel
def _breaks_by_trick(public):
    """Whether a special rule on who wins which tricks can be fulfilled no more."""
    special, winner = public["special"], public["winner"]
    number, tricks = public["num_played"] // 4, public["tricks"]
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
