"""The Crew: every special rule, allocation, tile and communication mode, in games written down from the rules."""

import numpy as np
import pytest

from tests.games.crew.table import do, every_distribution, given, hands_for, hush, legal_names, play, seen, verdict

SWEEP = [
    *("R4 B1 G1 Y1", "R3 B2 G2 Y2", "R2 B3 G3 Y3", "R1 B4 G4 Y4", "P9 P1 P2 P3"),
    *("P8 B5 G5 Y5", "P7 B6 G6 Y6", "P6 B7 G7 Y7", "P5 B8 G8 Y8", "P4 B9 G9 Y9"),
]
"""Seat 0, the commander, wins every trick."""
TURNS = [
    *("R4 R1 R2 R3", "P1 P4 P2 P3", "B1 B4 B2 B3", "G1 G4 G2 G3", "Y2 Y5 Y3 Y4"),
    *("P5 P7 P6 Y1", "B5 B8 B6 B7", "G5 G8 G6 G7", "Y6 Y9 Y7 Y8", "P8 P9 B9 G9"),
]
"""Won by 0 1 2 3 0 1 2 3 0 1."""
ENDS = [*TURNS[:8], "Y6 Y7 Y9 Y8", "P8 B9 G9 P9"]
"""Won by 0 1 2 3 0 1 2 3 1 0: the commander has the first and the last."""
ONE = [
    *("R4 B2 G1 Y1", "R3 B3 G2 Y2", "R2 B4 G3 Y3", "R1 B5 G4 Y4", "P9 P1 P2 P3"),
    *("P8 P4 G5 Y5", "P7 B6 G6 Y6", "P6 B7 G7 Y7", "P5 B8 G8 Y8", "B1 B9 G9 Y9"),
]
"""Seat 1 wins the last trick and no other."""
FIRST_AND_LAST = [
    *("P1 P9 P2 P3", "P4 G1 Y1 P8", "R4 B2 G2 Y2", "R3 B3 G3 Y3", "R2 B4 G4 Y4"),
    *("R1 B5 G5 Y5", "P7 B6 G6 Y6", "P6 B7 G7 Y7", "P5 B8 G8 Y8", "B1 B9 G9 Y9"),
]
"""Seat 1 wins the first and the last trick, with cards of a colour, and seat 0 the others."""
ROLES = [
    *("R4 Y1 G1 G2", "R3 Y2 G3 G4", "R2 Y3 G5 G6", "R1 Y4 G7 G8", "P1 P9 P2 P3"),
    *("P8 P4 Y5 B2", "P7 B3 Y6 B4", "P6 B5 Y7 B6", "P5 B7 Y8 G9", "B1 B9 Y9 B8"),
]
"""Seat 0 wins the first four, seat 1 the next five, seat 2 the last."""
TWO_ONES = [
    *("R4 P2 P3 P4", "R3 P5 P6 P7", "R2 B2 B3 B4", "R1 B5 B6 B7", "P9 G1 G2 G3"),
    *("P8 G4 G5 G6", "B9 G7 G8 G9", "B8 Y1 Y2 Y3", "P1 Y4 Y5 Y6", "B1 Y7 Y8 Y9"),
]
"""The last two tricks are won by the pink and the blue 1."""
PINK = ["R4 P1 P2 P9", *(f"P{9 - n} B{n} G{n} Y{n}" for n in range(1, 7))]
"""Seat 3 has the pink 9; seat 0, on its left, takes all pink cards in seven tricks."""

NINES = ["R4 B1 P9 Y9", "G1 G8 G3 G2"]
"""Won by 0 and 1; two 9s are thrown away."""
TWO_TASKS = {"tasks": "B1 G1", "before": "B1 G1"}
POLL = "yes no no left"
MUTED = "left Y2 P1 B1 G1"
FIVE, PINKS = "P1 B5 B6 B7 P2", ["R4 P1 P2 B1"]
"""The 1 lies on the pink 1; seat 0 has both pink tasks, and takes both in one trick."""


def distribute(receivers: str) -> str:
    return " ".join(f"no no no {receiver}" for receiver in receivers.split())


CASES = {
    "5 sick wins none": ("success", 5, SWEEP, {"before": POLL}),
    "5 sick wins one": ("failure", 5, TURNS[:2], {"before": POLL}),
    "9 a 1 wins": ("success", 9, ["P1 B1 G1 Y1"], {}),
    "9 a rocket 1 does not count": ("open", 9, ["R1 B5 G5 Y5"], {}),
    "9 no 1 is left": ("failure", 9, ["R4 P1 B1 G1", "R3 Y1 P2 P3"], {}),
    "13 each rocket wins, in any order": ("success", 13, SWEEP[:4], {}),
    "13 two rockets in a trick": ("failure", 13, ["R4 R1 P1 P2"], {}),
    "16 all nines are thrown away": ("success", 16, ["R4 B9 G9 Y9", "R3 P9 B1 B2"], {}),
    "16 a 9 wins": ("failure", 16, SWEEP[:5], {}),
    "26 two 1s win": ("success", 26, TWO_ONES, {}),
    "26 one 1 is not enough": ("open", 26, TWO_ONES[:9], {}),
    "26 only one 1 is left": ("failure", 26, ["R4 P1 B1 G1"], {}),
    "29 never two tricks ahead": ("success", 29, TURNS, {}),
    "29 two tricks ahead": ("failure", 29, SWEEP[:2], {}),
    "33 exactly one": ("success", 33, ONE, {"before": POLL}),
    "33 none": ("failure", 33, SWEEP, {"before": POLL}),
    "33 two": ("failure", 33, TURNS[:6], {"before": POLL}),
    "33 one with a rocket": ("failure", 33, ["P1 R1 P2 P3"], {"before": POLL}),
    "34 balanced, first and last": ("success", 34, ENDS, {}),
    "34 another has the last": ("failure", 34, TURNS, {}),
    "34 another has the first": ("failure", 34, FIRST_AND_LAST[:1], {}),
    "34 two tricks ahead": ("failure", 34, SWEEP[:2], {}),
    "41 first and last": ("success", 41, FIRST_AND_LAST, {"before": POLL}),
    "41 not the first": ("failure", 41, SWEEP[:1], {"before": POLL}),
    "41 one more": ("failure", 41, ["P1 P9 P2 P3", "B9 B1 B2 B3"], {"before": POLL}),
    "41 the first with a rocket": ("failure", 41, ["P1 R1 P2 P3"], {"before": POLL}),
    "44 rockets in order": ("success", 44, [SWEEP[n][0] + str(4 - n) + SWEEP[3 - n][2:] for n in (3, 2, 1, 0)], {}),
    "44 the second first": ("failure", 44, ["R2 P1 B1 G1"], {}),
    "44 two in a trick": ("failure", 44, ["R1 R2 B1 G1"], {}),
    "46 all pink": ("success", 46, PINK, {}),
    "46 another takes a pink card": ("failure", 46, SWEEP[:5], {}),
    "50 roles": ("success", 50, ROLES, {"before": "no no no self no yes no across"}),
    "50 another's trick among the first four": ("failure", 50, ROLES[:1], {"before": "no yes no left no no self"}),
    "50 the last role wins too early": ("failure", 50, ROLES[:5], {"before": "no no no self no yes no left"}),
    "50 the first role wins too late": ("failure", 50, SWEEP[:5], {"before": "no no no self no yes no left"}),
    "50 the middle wins the last": ("failure", 50, ROLES, {"before": "no no no self no yes no right"}),
    "1 draft, owner's trick": ("success", 1, SWEEP[:3], {"tasks": "G3", "before": "G3"}),
    "1 another's trick": ("failure", 1, TURNS[:2], {"tasks": "P3", "before": "P3"}),
    "2 two tasks in one trick": ("open", 2, SWEEP[:1], {"tasks": "G1 B5", "before": "G1 B5"}),
    "3 numbers in order": ("success", 3, TURNS[:5], {"tasks": "P1 Y2", "before": "Y2 P1"}),
    "3 the second number first": ("failure", 3, TURNS[:2], {"tasks": "Y2 P1", "before": "Y2 P1"}),
    "20 decided": ("success", 20, TURNS[:6], {"tasks": "P1 P5", "before": POLL}),
    "20 decided, another's trick": ("failure", 20, TURNS[:2], {"tasks": "P1 P5", "before": "no no no right"}),
    "6 arrows in order": ("success", 6, TURNS[:5], {"tasks": "P1 Y2 B1", "before": "Y2 P1 B1"}),
    "6 an arrow out of order": ("failure", 6, TURNS[:2], {"tasks": "Y2 P1 B1", "before": "Y2 P1 B1"}),
    "7 omega last": ("success", 7, TURNS[:5], {"tasks": "Y2 P1 B1", "before": "Y2 P1 B1"}),
    "7 omega too early": ("failure", 7, TURNS[:2], {"tasks": "P1 Y2 B1", "before": "Y2 P1 B1"}),
    "17 tasks, and no 9 wins": ("success", 17, [*NINES, "P2 P3 G9 B9"], TWO_TASKS),
    "17 tasks, and a 9 wins": ("failure", 17, [*NINES, "B9 B2 B3 B4"], TWO_TASKS),
    "17 goes on while a 9 is out": ("open", 17, NINES, TWO_TASKS),
    "17 stops with the tasks if so ruled": ("success", 17, NINES, {**TWO_TASKS, "nines": "stop"}),
    "11 a number counts every task": ("failure", 11, TURNS[:2], {"tasks": "Y2 P1 B1 G1", "before": MUTED}),
    "11 the number first": ("success", 11, TURNS[:5], {"tasks": "P1 Y2 B1 G1", "before": MUTED}),
    "19 a number and a free task in one trick": ("open", 19, PINKS, {"tasks": FIVE, "before": FIVE}),
    "19 refused if so ruled": ("failure", 19, PINKS, {"tasks": FIVE, "before": FIVE, "same_trick": "refused"}),
    "36 a free task while a number is open": (
        "failure", 36, ["P1 P9 P2 P3"],
        {"tasks": "P1 B1 P2 G1 G2 G3 Y1", "before": distribute("left across left self self across right")},
    ),
    "36 two numbers in one trick": (
        "open", 36, ["P1 P9 P2 P3"],
        {"tasks": "P1 P2 B1 G1 G2 G3 Y1", "before": distribute("left left self self across across right")},
    ),
    "6 a task without an arrow between": ("success", 6, TURNS[:5], {"tasks": "B1 Y2 P1", "before": "Y2 P1 B1"}),
    "48 omega in the last trick": ("success", 48, TURNS, {"tasks": "B9 Y2 B1", "before": "Y2 B9 B1"}),
    "48 omega earlier": ("failure", 48, TURNS[:6], {"tasks": "P5 Y2 B1", "before": "Y2 P5 B1"}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_mission_ends_as_the_rules_say(case) -> None:
    wanted, mission, tricks, more = CASES[case]
    states = play(mission, tricks, **more)
    assert verdict(states) == wanted
    assert (states["public"]["turn"][0] < 0) == (wanted != "open")
    assert all((seen(states, seat)[-1] == "eos") == (wanted != "open") for seat in range(4))


def test_distributed_tasks_belong_to_their_receivers() -> None:
    ask = "no yes no"
    receivers = {"P1": "left", "P2": "left", "B1": "across", "G1": "right", "Y2": "self", "Y6": "self"}
    before = " ".join(f"{ask} {receiver}" for receiver in receivers.values())
    states = play(24, TURNS[:9], tasks=" ".join(receivers), before=before)
    assert verdict(states) == "success"
    before = before.replace("left", "right", 1)
    assert verdict(play(24, TURNS[:2], tasks=" ".join(receivers), before=before)) == "failure"


@pytest.mark.parametrize("mission", [24, 32])
def test_the_commander_may_give_a_task_wherever_nobody_ends_two_ahead(mission) -> None:
    number = {24: 6, 32: 7}[mission]
    allowed = every_distribution(number)
    positions = ("self", "left", "across", "right")
    generator = np.random.default_rng(5)
    for _ in range(30):
        states, receivers = given(mission, hands_for(SWEEP)), ()
        while len(receivers) < number:
            do(states, "no no no")
            possible = {row[len(receivers)] for row in allowed if row[: len(receivers)] == receivers}
            assert legal_names(states) == {positions[seat] for seat in possible}
            receivers = (*receivers, int(generator.choice(sorted(possible))))
            do(states, positions[receivers[-1]])
        assert "silent" in legal_names(states)


def test_face_down_tasks_are_seen_when_their_owner_is_named() -> None:
    states = play(27, [], tasks="P1 B2 G3", before="no yes no")
    assert seen(states, 1)[-4:] == ["right", "no", "yes", "no"]
    assert legal_names(states) == {"left", "across", "right"}
    do(states, "left")
    assert seen(states, 1)[-4:] == ["self", "P1", "B2", "G3"]


def test_tiles_swap_before_the_draft() -> None:
    tasks = draft = "Y2 P1 B1 G1 Y3"
    states = play(23, [], tasks=tasks)
    assert legal_names(states) == {"P1", "B1", "G1", "Y2", "no tile"}, "the highest card cannot be first of a pair"
    do(states, "P1")
    assert legal_names(states) == {"B1", "G1", "Y2", "Y3"}
    do(states, "Y2")
    assert list(states["public"]["tiles"][0][:5]) == [1, 0, 2, 3, 4]
    assert verdict(play(23, TURNS[:2], tasks=tasks, before=f"P1 Y2 {draft}")) == "open"
    assert verdict(play(23, TURNS[:2], tasks=tasks, before=f"no tile {draft}")) == "failure"


def test_a_tile_moves_to_a_task_without_one() -> None:
    tasks = "Y2 P1 B1 G1 Y3 Y4 P5 P6"
    states = play(40, [], tasks=tasks)
    assert legal_names(states) == {"Y2", "P1", "B1", "no tile"}
    do(states, "B1")
    assert legal_names(states) == {"G1", "Y3", "Y4", "P5", "P6"}
    do(states, "P6")
    assert list(states["public"]["tiles"][0][:8]) == [0, 1, 10, 10, 10, 10, 10, 2]
    draft = "Y2 P1 B1 G1 Y3 P5 Y4 P6"
    assert verdict(play(40, TURNS[:2], tasks="P6 P1 B1 G1 Y3 Y4 P5 Y2", before=f"no tile {draft}")) == "failure"
    assert verdict(play(40, TURNS[:2], tasks="P6 B1 G1 P1 Y3 Y4 P5 Y2", before=f"P6 P1 {draft}")) == "open"


HANDS = [hand.split() for hand in ("R4 P1 P5 P9 B3 G1 G2 Y1 Y2 Y3", "R1 R2 R3 P2 B1 B2 G3 G4 Y4 Y5")]
REST = [f"{colour}{value}" for colour in "PBGY" for value in range(1, 10)]
REST = [card for card in REST if card not in HANDS[0] + HANDS[1]]
HANDS += [REST[:12][:10], REST[10:20]]
"""Seat 0 can tell three pink cards, one blue, two green and three yellow ones apart."""


def turn(states: np.ndarray) -> int:
    return int(states["public"]["turn"][0])


# ---- what may be said ----------------------------------------------------------------------------------------------


def test_a_card_is_shown_that_is_highest_lowest_or_only_and_no_rocket() -> None:
    states = given(9, HANDS)
    assert legal_names(states) == {"P1", "P9", "B3", "G1", "G2", "Y1", "Y3", "silent"}


@pytest.mark.parametrize(("card", "mark"), [("P1", "lowest"), ("P9", "highest"), ("B3", "only"), ("G2", "highest")])
def test_its_mark_is_what_is_true_of_it(card, mark) -> None:
    states = given(9, HANDS)
    do(states, card)
    assert turn(states) == 0
    assert legal_names(states) == {mark}
    do(states, mark)
    assert turn(states) == 1
    assert all(seen(states, seat)[-2:] == [card, mark] for seat in range(4))
    assert int(states["public"]["said"][0][0]) >= 0


def test_an_only_card_may_have_any_mark_if_so_ruled() -> None:
    states = given(9, HANDS, singleton="any")
    do(states, "B3")
    assert legal_names(states) == {"highest", "only", "lowest"}
    states = given(9, HANDS, singleton="any")
    do(states, "P9")
    assert legal_names(states) == {"highest"}


# ---- when it may be said, beside what the referee of ``test_missions`` sees ------------------------------------------


def test_a_seat_with_rockets_alone_is_asked_too_for_nobody_knows_that() -> None:
    states = given(33, hands_for([*SWEEP[4:], *SWEEP[:4]]))
    do(states, "no no no left")
    for trick in SWEEP[4:]:
        hush(states)
        do(states, trick)
    assert turn(states) == 0 and legal_names(states) == {"silent"}


def test_the_commander_is_muted_only_if_so_ruled() -> None:
    assert legal_names(given(11, hands_for(TURNS))) == {"left", "across", "right"}
    assert legal_names(given(11, hands_for(TURNS), muted="anybody")) == {"self", "left", "across", "right"}


# ---- distress ------------------------------------------------------------------------------------------------------


def test_one_no_settles_the_distress_signal() -> None:
    states = given(9, HANDS, distress=True)
    do(states, "yes yes no")
    assert "silent" in legal_names(states)
    assert turn(states) == 0


def test_in_distress_any_card_but_a_rocket_is_passed_left_or_right() -> None:
    states = given(9, HANDS, distress=True)
    do(states, "yes yes yes yes")
    assert legal_names(states) == {"left", "right"}
    do(states, "left")
    for seat in range(4):
        assert turn(states) == seat and legal_names(states) == {card for card in HANDS[seat] if card[0] != "R"}
        do(states, sorted(legal_names(states))[0])
    assert turn(states) == 0 and "silent" in legal_names(states)


# ---- mission 12 ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shown_card", ["stays", "may_be_drawn"])
def test_any_card_may_be_drawn_after_the_first_trick_and_the_one_that_lies_open_if_so_ruled(shown_card: str) -> None:
    drawn = set()
    for chance in range(200):
        more = {} if shown_card == "stays" else {"shown_card": shown_card}
        states = given(12, hands_for(TURNS), "G9 B9 Y7 P9", chance=chance, **more)
        do(states, f"G9 B9 Y7 P9 silent P9 highest silent silent {TURNS[0]}")
        drawn |= {seen(states, seat)[-1] for seat in range(4)}
    held = {card for hand in hands_for(TURNS) for card in hand} - set(TURNS[0].split())
    assert drawn == (held if more else held - {"P9"})
    assert turn(states) == 0 and "silent" in legal_names(states), "the winner of the first trick goes on"


# ---- mission 50 ----------------------------------------------------------------------------------------------------


def test_the_commander_gives_two_roles_to_two_seats() -> None:
    states = given(50, hands_for(SWEEP))
    do(states, "no no no")
    assert legal_names(states) == {"self", "left", "across", "right"}
    do(states, "left")
    assert turn(states) == 2, "who has a role is not asked"
    do(states, "no no")
    assert legal_names(states) == {"self", "across", "right"}


def test_roles_may_belong_to_the_first_who_volunteers() -> None:
    states = given(50, hands_for(SWEEP), roles="volunteers")
    do(states, "no yes no yes")
    assert (states["public"]["named"][0], states["public"]["last"][0]) == (2, 3)
    states = given(50, hands_for(SWEEP), roles="volunteers")
    do(states, "no no no no no")
    assert legal_names(states) == {"yes"}, "the commander has the first role"
    do(states, "yes")
    assert (states["public"]["named"][0], states["public"]["last"][0]) == (0, 3)
