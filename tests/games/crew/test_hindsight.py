"""The Crew: missions whose tasks are chosen after the tricks, so that they succeed: random tricks are played in plain
Python, tasks are laid that these tricks fulfil in the order of the tiles, and then the mission is played."""

import random
from collections import Counter

import numpy as np
import pytest

from tests.games.crew.facts import FACTS, Fact
from tests.games.crew.table import DECK, do, given, hush, legal_names, verdict, winner_of

MISSIONS = [number for number, fact in FACTS.items() if fact.tasks and number not in (12, 17)]
"""Missions with tasks; mission 12 exchanges cards, and the nines of mission 17 are another matter."""


def random_tricks(rng: random.Random) -> tuple[list[list[str]], list[list[str]], list[int]]:
    """Hands with the rocket 4 at seat 0, ten tricks of ten cards each, and who won them."""
    deck = rng.sample(DECK, 40)
    shift = deck.index("R4") // 10
    hands = [deck[10 * seat : 10 * seat + 10] for seat in ((shift + n) % 4 for n in range(4))]
    left, leader, tricks, winners = [list(hand) for hand in hands], 0, [], []
    for _ in range(10):
        trick: list[str] = []
        for seat in ((leader + n) % 4 for n in range(4)):
            following = [card for card in left[seat] if trick and card[0] == trick[0][0]]
            card = rng.choice(following or left[seat])
            left[seat].remove(card)
            trick.append(card)
        tricks.append(trick)
        leader = winner_of(trick, leader)
        winners.append(leader)
    return hands, tricks, winners


def receivers(fact: Fact, rng: random.Random) -> list[int]:
    """How many tasks go to whom: a seat for each."""
    if fact.allocation == "commander_decision":
        return [rng.randint(1, 3)] * fact.tasks
    first = 0 if fact.allocation == "draft" else rng.randrange(4)
    return [(first + n) % 4 for n in range(fact.tasks)]


def fitting_tasks(fact: Fact, tricks, winners, seats: list[int], rng: random.Random) -> list[tuple[int, str, int]]:
    """``(trick, card, owner)`` of tasks that the tricks fulfil, in laying order; empty where there are none."""
    captured = [(n, card, winners[n]) for n in range(10) for card in tricks[n] if card[0] != "R"]
    tasks = []
    for seat, number in Counter(seats).items():
        own = [task for task in captured if task[2] == seat]
        if len(own) < number:
            return []
        tasks += rng.sample(own, number)
    if "omega at the end" in fact.special and max(tasks)[0] != 9:
        return []
    tasks.sort(key=lambda task: task[0])
    laid = []
    for tile in fact.tiles:
        laid.append(tasks.pop(-1 if tile == "omega" else 0))
    rng.shuffle(tasks)
    return laid + tasks


def play_on(states: np.ndarray, fact: Fact, laid: list[tuple[int, str, int]], tricks: list[list[str]]) -> int:
    """Play the mission as planned until it is decided; the number of tricks that took."""
    owner = {card: seat for _, card, seat in laid}
    waiting = [card for _, card, _ in laid]
    while "silent" not in (legal := legal_names(states)) and not _plays(legal, states):
        if "no tile" in legal:
            do(states, "no tile")
        elif "no" in legal:
            do(states, "no")
        elif fact.special == ("muted",) and legal == {"left", "across", "right"}:
            do(states, "across")
        elif legal <= {"self", "left", "across", "right"}:
            do(states, ("self", "left", "across", "right")[owner[waiting.pop(0)]])
        else:
            mine = int(states["public"]["turn"][0])
            do(states, next(card for card in sorted(legal) if owner[card] == mine))
    for number, trick in enumerate(tricks, 1):
        hush(states)
        do(states, " ".join(trick))
        if verdict(states) != "open":
            return number
    raise AssertionError("a mission ends")


def _plays(legal: set[str], states: np.ndarray) -> bool:
    """Whether the commander is to lead: all of its ten cards are legal, and no more."""
    return len(legal) == 10 and "R4" in legal


CASES = [(mission, False) for mission in MISSIONS] + [(mission, True) for mission in MISSIONS if FACTS[mission].tiles]


@pytest.mark.parametrize(("mission", "elsewhere"), CASES)
def test_tasks_that_the_tricks_fulfil_are_a_success_and_a_failure_with_the_first_tile_elsewhere(mission, elsewhere):
    """Elsewhere: the first tile, a 1, ``>`` or omega, lies on a task that is not done when it should be."""
    fact, rng, played = FACTS[mission], random.Random(mission), 0
    while played < 10:
        hands, tricks, winners = random_tricks(rng)
        laid = fitting_tasks(fact, tricks, winners, receivers(fact, rng), rng)
        others = range(1, len(fact.tiles) if fact.tiles and fact.tiles[0] == ">" else fact.tasks)
        worse = [n for n in others if laid and laid[n][0] != laid[0][0]]
        if not laid or (elsewhere and not worse):
            continue
        if elsewhere:
            n = rng.choice(worse)
            laid[0], laid[n] = laid[n], laid[0]
        states, last = given(mission, hands, " ".join(card for _, card, _ in laid)), 1 + max(n for n, _, _ in laid)
        number = play_on(states, fact, laid, tricks)
        assert number <= last if elsewhere else number == last
        assert verdict(states) == ("failure" if elsewhere else "success")
        played += 1
