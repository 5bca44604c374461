"""The Crew: the table of missions against the log, whole games of all of them against a referee of their own, what
people read, and missions whose tasks are chosen after the tricks, so that they succeed: random tricks are played in
plain Python, tasks are laid that these tricks fulfil in the order of the tiles, and then the mission is played."""

import random
import re
from collections import Counter

import numpy as np
import pytest

from games.crew.cards import VOCABULARY
from games.crew.game import CrewGame
from games.crew.missions import HEADER_LENGTHS, HEADERS, MISSIONS
from games.crew.public import CHOICES
from games.crew.rates import interval, main, successes
from games.docs import DIRECTORY
from games.rng import derive_many, mix
from tests.games.crew.facts import FACTS, Fact
from tests.games.crew.referee import Referee
from tests.games.crew.table import DECK, do, given, hush, legal_names, names_of, verdict, winner_of
from tests.games.material import played
from tests.marks import slow

OTHERS = {name: values[1] for name, values in CHOICES.items()}
OPTIONS = {"defaults": {}, "distress": {"distress": True}, "others": {"distress": True, **OTHERS}}


def test_the_table_of_missions_is_that_of_the_log() -> None:
    assert len(MISSIONS) == 50
    for number, mission in enumerate(MISSIONS, 1):
        fact = FACTS[number]
        assert (mission.tasks, tuple(mission.tiles.split())) == (fact.tasks, fact.tiles), number
        assert [mission.allocation, mission.communication, *mission.special] == [*fact.header[:2], *fact.special], (
            number
        )


def test_a_header_tells_its_mission() -> None:
    told = {number: tuple(HEADERS[number, : HEADER_LENGTHS[number]]) for number in FACTS}
    assert len(set(told.values())) == 50
    assert all(names_of(told[number]) == fact.header for number, fact in FACTS.items())


def test_the_vocabulary_has_the_groups_of_the_paper() -> None:
    sizes = {"Cards": 40, "Positions": 4, "Allocation": 4, "Tiles": 11, "Special": 18, "Communication": 4}
    assert {name: len(tokens) for name, tokens in VOCABULARY.groups.items()} == {**sizes, "Replies": 2, "Radio": 4}
    assert VOCABULARY.size == 88


def test_missions_are_dealt_equally_often_and_are_the_variants() -> None:
    game = CrewGame(missions="2,7,50")
    kinds, counts = np.unique(game.scenario(game.deal(derive_many(3, 30_000))), return_counts=True)
    assert [game.scenarios[kind] for kind in kinds] == ["mission 2", "mission 7", "mission 50"]
    assert (np.abs(counts - 10_000) < 5 * np.sqrt(30_000 * 2 / 9)).all()


# ---- whole games ---------------------------------------------------------------------------------------------------


def cautious_games(game: CrewGame, count: int, seed: int) -> np.ndarray:
    """Random games in which a seat takes back what fails the mission at once, twice: they last longer than others."""
    states = game.deal(derive_many(seed, count))
    for step in range(game.max_length):
        legal = game.legal(states)
        if not legal.any():
            return states
        before, open_rows = states.copy(), np.ones(count, np.bool_)
        for attempt in range(3):
            bits = mix(derive_many(seed + 1 + step, count), attempt) >> np.uint64(40)
            picked = bits.astype(np.int64) % legal.sum(axis=1).clip(1)
            tried = before.copy()
            game.play(tried, np.argmax(legal.cumsum(axis=1) > picked[:, None], axis=1))
            states[open_rows] = tried[open_rows]
            open_rows &= states["public"]["result"] == 0
    raise AssertionError("a mission ends")


def verdicts(game: CrewGame, states: np.ndarray) -> list[str]:
    """What the referee says of every game, which must be what the code says."""
    told = []
    tokens, lengths = zip(*(game.histories(states, np.full(len(states), seat)) for seat in range(4)), strict=True)
    for row in range(len(states)):
        histories = [names_of(tokens[seat][row, : lengths[seat][row]]) for seat in range(4)]
        mission, verdict = Referee(histories, dict(game.options)).judge()
        assert game.scenarios[game.scenario(states[row : row + 1])[0]] == f"mission {mission}"
        assert verdict == ["failure", "success"][int(game.outcome(states[row : row + 1])[0, 0])], f"mission {mission}"
        told.append(verdict)
    return told


WHOLE = [("defaults", 8), ("others", 8), *slow(("distress", 8), *((options, 30) for options in OPTIONS))]


@pytest.mark.parametrize(("options", "count"), WHOLE)
@pytest.mark.parametrize("mission", range(1, 51))
def test_whole_games_are_judged_as_the_referee_does(mission, options, count) -> None:
    game = CrewGame(missions=mission, **OPTIONS[options])
    verdicts(game, played(game, count, mission))
    verdicts(game, cautious_games(game, count, mission))


@pytest.mark.parametrize("mission", [12, 16, 17, 26, 34, 41, 44, 46, 48, 50])
def test_rare_successes_of_random_games_are_successes_to_the_referee(mission) -> None:
    game, found = CrewGame(missions=mission), 0
    for seed in range(10):
        states = played(game, 10_000, 2 * seed)
        states = states[states["public"]["result"] == 1][:5]
        assert set(verdicts(game, states)) <= {"success"}
        found += len(states)
        if found >= 5:
            return
    assert found > 0


OTHERWISE = {"nines": 17, "singleton": 9, "pink_target": 46, "roles": 50, "muted": 11, "muting": 11, "shown_card": 12}


@pytest.mark.parametrize(("option", "mission"), OTHERWISE.items())
def test_the_referee_notices_games_by_another_rule(mission, option) -> None:
    game = CrewGame(missions=mission, distress=option == "pink_target", **{option: CHOICES[option][1]})
    states = cautious_games(game, 300, 1)
    verdicts(game, states)
    game.options = {**game.options, option: CHOICES[option][0]}
    with pytest.raises((AssertionError, ValueError, KeyError)):
        verdicts(game, states)


def test_utilities_are_one_and_zero_for_all_seats() -> None:
    game = CrewGame()
    assert game.cooperative
    assert game.outcomes.points.tolist() == [[0, 0, 0, 0], [1, 1, 1, 1]]
    assert game.outcomes.utility().tolist() == [0, 1]


def test_the_longest_history_is_that_of_the_longest_mission() -> None:
    """Mission 43 with distress: 12 tokens of the mission, 11 of cards and commander, 45 for nine tasks, 7 for the
    signal and the cards passed, 44 of talk, 40 plays, ``eos``."""
    assert CrewGame(distress=True).max_length == 12 + 11 + 45 + 7 + 44 + 40 + 1
    assert CrewGame(missions=1).max_length == 4 + 11 + 2 + 44 + 40 + 1


def test_a_mission_reads_as_people_write_it() -> None:
    game = CrewGame(missions="7")
    states = played(game, 40, 3)
    row = int(np.argmax(states["public"]["num_played"]))
    tokens, lengths = game.histories(states[row : row + 1], np.zeros(1, np.int64))
    lines = game.describe(tokens[0, : lengths[0]]).splitlines()
    assert lines[0] == "mission 7: draft, normal, 3 tasks, tiles omega"
    assert [line.split(":")[0] for line in lines[1:5]] == ["hand", "commander", "tasks", "draft"]
    assert lines[-1] in ("success", "failure")
    tricks = [line for line in lines if line[:2].strip().isdigit()]
    assert len(tricks) == states["public"]["num_played"][row] // 4
    assert all(line.count("*") == 1 for line in tricks)


def test_random_play_succeeds_about_as_often_as_the_documentation_says() -> None:
    page = (DIRECTORY.parent / "crew.md").read_text(encoding="utf-8")
    told = re.search(r"^\| 1 \| ([\d,]+) \|", page, re.MULTILINE)[1]
    low, high = interval(successes(1, 4000, 5), 4000)
    assert low < int(told.replace(",", "")) / 1_000_000 < high
    assert interval(0, 10)[0] == 0
    assert interval(10, 10)[1] == pytest.approx(1)
    low, high = interval(10, 100)
    assert low == pytest.approx(0.0552, abs=1e-4), "Wilson's interval of 10 out of 100"
    assert high == pytest.approx(0.1744, abs=1e-4)


def test_the_command_prints_a_table_and_refuses_what_it_cannot_play(capsys) -> None:
    main(["--games", "100", "--missions", "1,5"])
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()[2:4]] == ["1", "5"]
    with pytest.raises(SystemExit, match="2"):
        main(["--games", "100", "--missions", "51"])
    assert "does not lie within 1 to 50" in capsys.readouterr().err.splitlines()[-1]


# ---- missions whose tasks are chosen after the tricks


WITH_TASKS = [number for number, fact in FACTS.items() if fact.tasks and number not in (12, 17)]
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


CASES = [(mission, False) for mission in WITH_TASKS] + [
    (mission, True) for mission in WITH_TASKS if FACTS[mission].tiles
]


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
