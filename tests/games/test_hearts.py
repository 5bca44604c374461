"""Hearts: dealing, passing, scoring, histories, how they are written, and what they say of the table."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.conformance.playing import random_play
from games.hearts.cards import VOCABULARY, card_id
from games.hearts.game import HeartsGame
from games.hearts.rules import MOONS, OPTIONS, PUBLIC, score
from games.hearts.table import card_text, in_hand_order, stops, table_of
from games.rng import derive_many
from tests.games.material import members, played

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


# ---- what a history says of the table, against the true deals


GAME = HeartsGame()


def test_the_table_agrees_with_the_deal_at_every_moment_and_from_every_seat() -> None:
    for states in random_play(GAME, 12, 4):
        for seat in range(4):
            tokens, lengths = GAME.histories(states, np.full(len(states), seat))
            for state, row, length in zip(states, tokens, lengths, strict=True):
                table, public = table_of(GAME, row[:length]), state["public"]
                assert set(table.hand) == members(state["hands"][seat])
                assert table.direction == public["direction"]
                assert (table.turn + seat) % 4 == public["turn"] or table.turn == public["turn"] == -1
                winners = [trick.winner for trick in table.tricks if trick.complete]
                won = np.roll([len(members(cards)) // 4 for cards in public["taken"]], -seat)
                assert [winners.count(place) for place in range(4)] == won.tolist()
                assert sum(len(trick.cards) for trick in table.tricks) == public["num_played"]
                shown = set(table.tricks[-1].cards) if public["num_played"] % 4 else set()
                assert shown == members(public["trick"])
    points = GAME.points(states)
    plain = np.abs(points).sum(axis=1) == 26  # nobody shot the moon
    assert plain.any()
    for state, row in zip(states[plain], points[plain], strict=True):
        tokens, lengths = GAME.histories(np.array([state]), np.array([2]))
        assert table_of(GAME, tokens[0, : lengths[0]]).points == tuple(np.roll(row, -2))


def test_what_was_passed_and_received_is_told_in_the_order_of_the_history() -> None:
    states = GAME.deal(derive_many(1, 8))
    row = int(np.flatnonzero(states["public"]["direction"] == 1)[0])
    state = states[row : row + 1]
    given = []
    for turn in range(12):
        card = int(np.flatnonzero(GAME.legal(state)[0])[-1 - turn % 2])
        given.append(card)
        tokens, lengths = GAME.histories(state, np.array([0]))
        assert table_of(GAME, tokens[0, : lengths[0]]).passing == (turn < 3)
        GAME.play(state, np.array([card]))
    tokens, lengths = GAME.histories(state, np.array([0]))
    table = table_of(GAME, tokens[0, : lengths[0]])
    assert table.passed == tuple(given[:3]) and set(table.received) == set(given[9:])


def test_a_trick_goes_to_the_highest_card_of_the_suit_led() -> None:
    names = "hold 2D 3D 4D 5D 6D 7D 8D 9D TD JD QD KD 2S right 2C TC AS AC"
    tokens = np.array([GAME.vocabulary.names.index(name) for name in names.split()])
    (trick,) = table_of(GAME, tokens).tricks
    assert trick.complete and (trick.leader, trick.winner) == (3, 2) and trick.cards[1] == card_id("TC")
    (led,) = table_of(GAME, tokens[:-3]).tricks
    assert led.winner == 3 and not led.complete


def test_the_scenes_of_a_history_are_the_deal_the_pass_and_every_card() -> None:
    states = played(GAME, 12, 4)
    tokens, lengths = GAME.histories(states, np.zeros(12, int))
    for row, length, direction in zip(tokens, lengths, states["public"]["direction"], strict=True):
        found = stops(row[:length])
        assert found == sorted(set(found)) and found[-1] == length - 1
        assert len(found) == (55 if direction else 54)
        assert [len(table_of(GAME, row[:stop]).tricks) for stop in found[-2:]] == [13, 13]
        assert stops(row[:20])[-1] <= 20
    assert stops(tokens[0, :0]) == [0] and stops(tokens[0, :5]) == [5]


def test_a_hand_is_sorted_by_suits_of_alternating_colours_then_ranks() -> None:
    cards = [card_id(name) for name in ("2H", "AS", "TC", "KD", "2C", "QS")]
    assert [card_text(card) for card in in_hand_order(cards)] == ["2♣", "10♣", "K♦", "Q♠", "A♠", "2♥"]
