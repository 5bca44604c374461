"""Hearts: dealing, passing, scoring, histories and how they are written."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.hearts.cards import ALL_CARDS, EOS, VOCABULARY, card_id
from games.hearts.game import HeartsGame
from games.hearts.outcomes import build
from games.hearts.rules import MOONS, OPTIONS, PUBLIC, score
from games.registry import make_game
from games.rng import derive_many, mix

GOLDEN = json.loads((Path(__file__).parent / "golden" / "hearts.json").read_text())
RULES = st.fixed_dictionaries({**{name: st.booleans() for name in OPTIONS}, "moon": st.sampled_from(MOONS)})
HEARTS = [card_id(rank + "H") for rank in "23456789TJQKA"]


def cards(*names: str) -> int:
    return sum(1 << card_id(name) for name in names)


def finished(game: HeartsGame, seed: int, count: int) -> np.ndarray:
    states = game.deal(derive_many(seed, count))
    game.playout(states, derive_many(seed + 1, count))
    return states


def points_for(taken: list[int], **options: bool | str) -> list[int]:
    public = np.zeros(1, PUBLIC)
    for name, value in options.items():
        public[name] = MOONS.index(value) if isinstance(value, str) else value
    public["taken"] = taken
    points = np.zeros(4, np.int64)
    score(public[0], points)
    return points.tolist()


@settings(deadline=None, max_examples=40)
@given(RULES, st.integers(0, 1 << 32))
def test_every_card_is_always_in_exactly_one_place(options, seed) -> None:
    game = HeartsGame(**options)
    states = game.deal(derive_many(seed, 3))
    for step in range(65):
        waiting = states["passed"] * (states["num_passed"] < 12)[:, None]  # passed, not yet received
        places = np.concatenate(
            [states["hands"], waiting, states["public"]["taken"], states["public"]["trick"][:, None]], axis=1
        )
        assert (places.sum(axis=1) == ALL_CARDS).all()
        assert (np.bitwise_or.reduce(places, axis=1) == ALL_CARDS).all()
        if (game.to_move(states) < 0).all():
            return
        preferences = mix(derive_many(seed, 3)[:, None], 61 * step + np.arange(61, dtype=np.uint64)) >> np.uint64(1)
        game.play(states, np.argmax(preferences * game.legal(states), axis=1))
    raise AssertionError("a deal has at most 64 actions")


@settings(deadline=None, max_examples=40)
@given(RULES, st.integers(0, 1 << 32))
def test_points_of_a_deal_add_up(options, seed) -> None:
    game = HeartsGame(**options)
    states = finished(game, seed, 20)
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


@pytest.mark.parametrize("options", [{}, {"jd_bonus": True, "moon": MOONS[1]}], ids=["default", "other scores"])
def test_who_shot_the_moon_and_who_let_it_happen_is_shown(options: dict[str, bool | str]) -> None:
    game = HeartsGame(**options)
    states = finished(game, 5, 3)
    hearts = [f"{rank}H" for rank in "23456789TJQKA"]
    states["public"]["taken"][0] = [0, 0, cards("QS", "2C", *hearts), cards("JD")]
    states["public"]["taken"][1] = [cards("QS"), 0, cards(*hearts), 0]
    states["public"]["taken"][2] = [cards(*hearts[1:], "QS"), cards("2H"), 0, 0]
    shown = game.indicators(states)
    assert {name: each.tolist()[1:] for name, each in shown.items()} == {
        "moon": [[0] * 4] * 2,
        "conceded": [[0] * 4] * 2,
    }
    assert shown["moon"][0].tolist() == [0, 0, 1, 0] and shown["conceded"][0].tolist() == [1, 1, 0, 1]


def test_bonuses_take_points_off() -> None:
    taken = [cards("QS", "2H", "3H"), ALL_CARDS & ~cards("QS", "2H", "3H", "JD"), cards("JD"), 0]
    assert points_for(taken) == [15, 11, 0, 0]
    assert points_for(taken, jd_bonus=True) == [15, 11, -10, 0]
    assert points_for(taken, avoid_all_tricks_bonus=True) == [15, 11, 0, -5]


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
    states = finished(game, 5, 3000)
    expected = [points_for(row["public"]["taken"].tolist(), **bonus) for row in states]
    np.testing.assert_array_equal(game.points(states), expected)


def test_labels_are_ordered_so_that_lookup_is_a_binary_search() -> None:
    template = np.zeros(1, PUBLIC)
    table, keys, *_ = build(template)
    assert (np.diff(keys) > 0).all() and len(keys) == table.num_labels


def test_deals_are_uniform() -> None:
    count = 40_000
    states = HeartsGame().deal(derive_many(9, count))
    directions = np.bincount(states["public"]["direction"], minlength=4) / count
    np.testing.assert_allclose(directions, 0.25, atol=0.011)  # five standard deviations
    holds = (states["hands"][:, :, None] >> np.arange(52) & 1).astype(np.float64)
    np.testing.assert_allclose(holds.mean(axis=0), 0.25, atol=0.011)
    together = np.einsum("bsi,bsj->ij", holds, holds) / count
    np.testing.assert_allclose(together[~np.eye(52, dtype=bool)], 12 / 51, atol=0.012)


@pytest.mark.parametrize("direction", range(1, 4))
def test_passed_cards_arrive_and_are_seen_by_giver_and_receiver_only(direction: int) -> None:
    game = HeartsGame()
    states = game.deal(derive_many(4, 200))
    states = states[states["public"]["direction"] == direction]
    before = [game.histories(states, np.full(len(states), seat))[1] for seat in range(4)]
    game.playout(states, derive_many(6, len(states)))
    tokens = np.stack([game.histories(states, np.full(len(states), seat))[0] for seat in range(4)])
    assert (np.array(before) == 14).all()
    for giver in range(4):
        receiver = (giver + direction) % 4
        np.testing.assert_array_equal(np.sort(tokens[giver, :, 14:17]), np.sort(tokens[receiver, :, 17:20]))
    assert (tokens[:, :, 73] == EOS).all() and (tokens[:, :, 72] < 52).all()


def test_tokens_are_the_sixty_of_table_1_and_eos() -> None:
    assert VOCABULARY.size == 61 and VOCABULARY.eos == 60
    assert [len(names) for names in VOCABULARY.groups.values()] == [52, 4, 4]
    assert [VOCABULARY.name(t) for t in (0, 1, 2, 3, 4, 32, 43, 51)] == ["2C", "2D", "2H", "2S", "3C", "TC", "QS", "AS"]
    assert HeartsGame.max_length == 75


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


def test_any_tokens_can_be_described() -> None:
    game, random = HeartsGame(), np.random.default_rng(1)
    for length in range(75):
        assert game.describe(random.integers(0, 61, length).astype(np.uint8))


def test_unknown_games_and_options_are_named_with_what_exists() -> None:
    assert make_game("hearts", {"jd_bonus": True}).options["jd_bonus"] is True
    assert make_game("hearts").options == {**OPTIONS, "moon": "others_plus_26", "free_first_lead": False}
    for name, options, message in [
        ("whist", {}, "no game 'whist'; there are hearts"),
        ("hearts", {"jack": True}, "no option 'jack'; its options are pass_cards"),
        ("hearts", {"moon": "none"}, "moon='none': choose one of others_plus_26, shooter_minus_26"),
        ("hearts", {"jd_bonus": "yes"}, "jd_bonus='yes': choose one of true, false"),
        ("openspiel", {}, "no game 'openspiel'; there are hearts, skat, crew, samegame, openspiel:<game>"),
        ("openspiel:", {}, "OpenSpiel has no game ''"),
    ]:
        with pytest.raises(ValueError, match=message):
            make_game(name, options)
