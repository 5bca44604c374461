"""The Crew as a game: its sizes, what people read, how often random play succeeds."""

import re

import numpy as np
import pytest

from games.crew.game import CrewGame
from games.crew.rates import interval, main, successes
from games.docs import DIRECTORY
from tests.games.material import played


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
