"""The rule-based Hearts player: what it does in clear-cut positions, and how strong it is."""

import numpy as np
import pytest

from games.hearts.cards import VOCABULARY
from games.hearts.game import HeartsGame
from games.rng import derive_many
from search.arena.tournament.tournament import run_tournament
from search.players.player import Turns
from search.players.random_player import RandomPlayer
from search.players.table import play_table
from search.scripted.hearts.rules import HeartsRules

HAND = "3C 5C 7C 9C 2H 3H 4H 2S 3S 4S 5S QS KS"
"""No diamonds."""


def chosen(history: list[str], options: dict[str, bool] | None = None) -> str:
    """What the player does after a history of token names."""
    game = HeartsGame(**(options or {}))
    tokens = np.array([[VOCABULARY.names.index(name) for name in history]], np.uint8)
    lengths = np.array([len(history)], np.int32)
    legal = game.view_legal(game.views(tokens, lengths))
    player = HeartsRules()
    player.start(game, 1)
    zero = np.zeros(1, np.int64)
    return VOCABULARY.name(player.act(Turns(zero, zero, tokens, lengths, legal, derive_many(0, 1)))[0])


def after(hand: str, leader: str, plays: str) -> list[str]:
    """The history of a hand without passing."""
    return ["hold", *hand.split(), leader, *plays.split()]


def test_it_throws_the_queen_of_spades_on_somebody_elses_trick() -> None:
    assert chosen(after(HAND, "right", "2C 9C TC JC AD 3D")) == "QS"


def test_the_queen_of_spades_goes_under_the_king_and_not_over_the_jack() -> None:
    hand = "3C 5C 7C 9C 2H 3H 4H 2S 3S 4S 5S 6S QS"
    assert chosen(after(hand, "right", "2C 9C TC JC KS 7S")) == "QS"
    assert chosen(after(hand, "right", "2C 9C TC JC JS 7S")) != "QS"


def test_high_spades_stay_at_home_while_the_queen_may_fall_on_them() -> None:
    hand = "3C 5C 7C 9C 2H 3H 4H 2S 3S 4S 5S KS AS"
    assert chosen(after(hand, "right", "2C 9C TC JC 8S 7S")) == "5S"


def test_the_last_hand_takes_a_harmless_trick_with_its_highest_card() -> None:
    hand = "3C 5C 7C KC 2H 3H 4H 2S 3S 4S 5S 6S 7S"
    assert chosen(after(hand, "left", "2C 4C 6C")) == "KC"


def test_it_ducks_a_trick_with_points_with_the_highest_card_that_loses() -> None:
    hand = "3C 5C 7C KC 2H 5H 9H AH 3S 4S 5S 6S 7S"
    history = after(hand, "left", "2C 4C 6C KC 3S 2S 8S JS")  # takes the first trick; right wins the second
    assert chosen([*history, "TH"], {"must_break_hearts": False}) == "9H"


def test_it_passes_high_spades_it_cannot_guard_and_keeps_guarded_ones() -> None:
    alone = "2C 3C 4C 5C 2D 3D 4D 5D 2H 3H 4H QS KS"
    assert chosen(["pass left", *alone.split()]) in ("QS", "KS")
    guarded = "2C 3C 4C AC 2D 3D 4D 5D 2S 3S 4S 5S QS"
    assert chosen(["pass left", *guarded.split()]) == "AC"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"pass_cards": False, "no_pts_on_first_trick": False},
        {"can_lead_any_club": True, "must_break_hearts": False, "jd_bonus": True},
        {"qs_breaks_hearts": False, "can_lead_hearts_instead_of_qs": True, "avoid_all_tricks_bonus": True},
    ],
)
def test_it_plays_whole_deals_under_every_rule_option_and_always_alike(options: dict[str, bool]) -> None:
    game, seeds = HeartsGame(**options), derive_many(5, 60)
    seating = np.zeros((60, 4), np.int64)
    first = play_table(game, [HeartsRules()], seating, seeds, secret=1)
    again = play_table(game, [HeartsRules()], seating, seeds, secret=1)
    assert first.states.tobytes() == again.states.tobytes()
    if not options:
        assert set(first.points.sum(axis=1).tolist()) <= {26.0, 78.0}


def test_it_beats_three_random_players_by_more_than_four_points_a_hand() -> None:
    result = run_tournament(HeartsGame(), [HeartsRules(), RandomPlayer()], deals=100, seed=2)
    alone = result.columns[-1].comparisons[0]
    assert alone.advantage == -alone.delta
    assert alone.high is not None and alone.high < -4.0
    assert alone.p_value < 0.001
