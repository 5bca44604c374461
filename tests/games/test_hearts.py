"""Hearts: dealing, passing, scoring, histories and how they are written."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.hearts.cards import VOCABULARY, card_id
from games.hearts.game import HeartsGame
from games.hearts.rules import MOONS, OPTIONS, PUBLIC, score
from tests.games.material import played

GOLDEN = json.loads((Path(__file__).parent / "golden" / "hearts.json").read_text())
RULES = st.fixed_dictionaries({**{name: st.booleans() for name in OPTIONS}, "moon": st.sampled_from(MOONS)})
HEARTS = [card_id(rank + "H") for rank in "23456789TJQKA"]


def cards(*names: str) -> int:
    return sum(1 << card_id(name) for name in names)


def points_for(taken: list[int], **options: bool | str) -> list[int]:
    public = np.zeros(1, PUBLIC)
    for name, value in options.items():
        public[name] = MOONS.index(value) if isinstance(value, str) else value
    public["taken"] = taken
    points = np.zeros(4, np.int64)
    score(public[0], points)
    return points.tolist()


@settings(max_examples=20)
@given(RULES, st.integers(0, 1 << 32))
def test_points_of_a_deal_add_up(options, seed) -> None:
    game = HeartsGame(**options)
    states = played(game, 20, seed)
    taken = states["public"]["taken"]
    penalties = sum((taken >> heart & 1) for heart in HEARTS) + 13 * (taken >> card_id("QS") & 1)
    moon = np.max(penalties, axis=1) == 26
    total = np.where(moon, 78 if options["moon"] == "others_plus_26" else -26, 26)
    total -= 10 * options["jd_bonus"]
    total -= 5 * options["avoid_all_tricks_bonus"] * np.where(moon, 0, (taken == 0).sum(axis=1))
    np.testing.assert_array_equal(game.points(states).sum(axis=1), total)


def test_a_moon_is_scored_as_the_option_says() -> None:
    taken = [cards("2C"), cards("QS", *("23456789TJQKA"[i] + "H" for i in range(13))), cards("JD"), 0]
    assert points_for(taken, moon="others_plus_26") == [26, 0, 26, 26]
    assert points_for(taken, moon="shooter_minus_26") == [0, -26, 0, 0]
    assert points_for(taken, moon="others_plus_26", jd_bonus=True) == [26, 0, 16, 26]
    assert points_for(taken, moon="others_plus_26", avoid_all_tricks_bonus=True) == [26, 0, 26, 26]


def test_who_shot_the_moon_and_who_let_it_happen_is_shown() -> None:
    game, hearts = HeartsGame(jd_bonus=True, moon=MOONS[1]), [f"{rank}H" for rank in "23456789TJQKA"]
    states = played(game, 3, 5)
    states["public"]["taken"][0] = [0, 0, cards("QS", "2C", *hearts), cards("JD")]
    states["public"]["taken"][1] = [cards("QS"), 0, cards(*hearts), 0]
    states["public"]["taken"][2] = [cards(*hearts[1:], "QS"), cards("2H"), 0, 0]
    shown, nobody = game.indicators(states), [0] * 4
    assert shown["moon"].tolist() == [[0, 0, 1, 0], nobody, nobody]
    assert shown["conceded"].tolist() == [[1, 1, 0, 1], nobody, nobody]


@pytest.mark.parametrize("moon", MOONS)
def test_there_are_2234_outcomes_valued_by_equation_4_unless_told(moon: str) -> None:
    table = HeartsGame(moon=moon).outcomes
    assert table.num_labels == 2234
    assert len(np.unique(table.points, axis=0)) == 2234
    assert table.default_utility == "relative"
    np.testing.assert_allclose(table.utility(), (table.points[:, 1:].mean(1) - table.points[:, 0]) / 26, rtol=1e-6)
    np.testing.assert_allclose(table.utility("own"), -table.points[:, 0] / 26)


def test_equation_4_values_both_ways_to_score_a_moon_alike() -> None:
    theirs, papers = (HeartsGame(moon=moon).outcomes.utility() for moon in MOONS)
    assert theirs.max() == 1.0
    np.testing.assert_allclose(np.sort(theirs), np.sort(papers), atol=1e-6)


@pytest.mark.parametrize("bonus", [{"jd_bonus": True}, {"avoid_all_tricks_bonus": True}, dict.fromkeys(OPTIONS, True)])
def test_bonuses_enlarge_the_table_and_every_deal_finds_its_label(bonus) -> None:
    game = HeartsGame(**bonus)
    assert game.outcomes.num_labels > 2234
    states = played(game, 3000, 5)
    expected = [points_for(row["public"]["taken"].tolist(), **bonus) for row in states]
    np.testing.assert_array_equal(game.points(states), expected)


@pytest.mark.parametrize("case", GOLDEN, ids=[case["direction"] for case in GOLDEN])
def test_histories_look_as_they_did_when_they_were_recorded(case) -> None:
    game = HeartsGame()
    states = game.deal(np.array([case["seed"]], np.uint64))
    game.playout(states, np.array([case["seed"] + 1], np.uint64))
    tokens, lengths = game.histories(states, np.array([case["seat"]]))
    names = [VOCABULARY.name(token) for token in tokens[0, : lengths[0]]]
    assert " ".join(names) == case["history"], "the layout has changed: raise HeartsGame.rules_version"
    assert game.points(states)[0].tolist() == case["points"]
    assert game.describe(tokens[0]).splitlines() == case["described"]
