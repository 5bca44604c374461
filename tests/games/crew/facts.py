"""The fifty missions as the mission log has them for four players: number, tasks, tiles, allocation, communication,
special rule. Copied from the log, not from the code."""

from dataclasses import dataclass

LOG = """
1 1 - draft normal none
2 2 - draft normal none
3 2 1,2 draft normal none
4 3 - draft normal none
5 0 - ask_then_appoint_role normal sick_player
6 3 >,>> draft dead_zone none
7 3 omega draft normal none
8 3 1,2,3 draft normal none
9 0 - none normal win_with_one_1
10 4 - draft normal none
11 4 1 draft normal muted_player
12 4 omega draft normal random_draw_after_trick_1
13 0 - none normal each_rocket_wins
14 4 >,>>,>>> draft dead_zone none
15 4 1,2,3,4 draft normal none
16 0 - none normal no_nine_wins
17 2 - draft normal no_nine_wins
18 5 - draft disruption_until_trick_2 none
19 5 1 draft disruption_until_trick_3 none
20 2 - commander_decision normal none
21 5 1,2 draft dead_zone none
22 5 >,>>,>>>,>>>> draft normal none
23 5 1,2,3,4,5 draft normal swap_two_tiles
24 6 - commander_distribution normal none
25 6 >,>> draft dead_zone none
26 0 - none normal win_with_two_1s
27 3 - commander_decision normal none
28 6 1,omega draft disruption_until_trick_3 none
29 0 - none dead_zone balanced_tricks
30 6 >,>>,>>> draft disruption_until_trick_2 none
31 6 1,2,3 draft normal none
32 7 - commander_distribution normal none
33 0 - ask_then_appoint_role normal exactly_one_trick_no_rocket
34 0 - none normal balanced_tricks+commander_first_and_last
35 7 >,>>,>>> draft normal none
36 7 1,2 commander_distribution normal none
37 4 - commander_decision normal none
38 8 - draft disruption_until_trick_3 none
39 8 >,>>,>>> draft dead_zone none
40 8 1,2,3 draft normal move_one_tile
41 0 - ask_then_appoint_role normal only_first_and_last_no_rocket
42 9 - draft normal none
43 9 - commander_distribution normal none
44 0 - none normal rockets_win_in_order
45 9 >,>>,>>> draft normal none
46 0 - none normal left_of_pink9_takes_all_pink
47 10 - draft normal none
48 3 omega draft normal omega_task_in_last_trick
49 10 >,>>,>>> draft normal none
50 0 - ask_then_appoint_two_roles normal first_four_middle_last_roles
"""

SPECIAL = {
    "none": (),
    "sick_player": ("sick",),
    "win_with_one_1": ("a 1 wins",),
    "muted_player": ("muted",),
    "random_draw_after_trick_1": ("random draw",),
    "each_rocket_wins": ("rockets win",),
    "no_nine_wins": ("no 9 wins",),
    "swap_two_tiles": ("swap tiles",),
    "win_with_two_1s": ("two 1s win",),
    "balanced_tricks": ("balanced",),
    "exactly_one_trick_no_rocket": ("exactly one",),
    "balanced_tricks+commander_first_and_last": ("balanced", "commander first and last"),
    "move_one_tile": ("move a tile",),
    "only_first_and_last_no_rocket": ("only first and last",),
    "rockets_win_in_order": ("rockets in order",),
    "left_of_pink9_takes_all_pink": ("all pink",),
    "omega_task_in_last_trick": ("omega at the end",),
    "first_four_middle_last_roles": ("first four and last",),
}
"""Special rules of the log -> tokens."""
ALLOCATION = {
    "draft": "draft",
    "commander_decision": "commander decides",
    "commander_distribution": "commander distributes",
}
"""Allocations of the log -> tokens; all others are ``no allocation``."""
COMMUNICATION = {
    "normal": "normal",
    "dead_zone": "dead zone",
    "disruption_until_trick_2": "from trick 2",
    "disruption_until_trick_3": "from trick 3",
}


@dataclass(frozen=True)
class Fact:
    """One line of the log."""

    tasks: int
    tiles: tuple[str, ...]
    allocation: str
    communication: str
    special: tuple[str, ...]

    @property
    def header(self) -> list[str]:
        """The tokens that tell the mission."""
        free = ["no tile"] * (self.tasks - len(self.tiles))
        special = self.special or ("no special",)
        return [ALLOCATION.get(self.allocation, "no allocation"), self.communication, *special, *self.tiles, *free]


def _fact(line: str) -> Fact:
    _, tasks, tiles, allocation, communication, special = line.split()
    split = () if tiles == "-" else tuple(tiles.split(","))
    return Fact(int(tasks), split, allocation, COMMUNICATION[communication], SPECIAL[special])


FACTS = {int(line.split()[0]): _fact(line) for line in LOG.strip().splitlines()}
