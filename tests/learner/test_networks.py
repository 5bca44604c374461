"""The networks that come with the package play what their cards say."""

import numpy as np
import pytest

from games.hearts.game import HeartsGame
from games.registry import make_game
from learner.config import EngineConfig
from learner.model.checkpoint import NETWORKS, find, load_weights
from search.arena.tournament.tournament import run_tournament
from search.config import SearchConfig
from search.roster.registry import make_players

NAMES = sorted(path.parent.name for path in NETWORKS.glob("*/config.json"))


def test_there_is_one_for_hearts_and_every_one_has_a_card() -> None:
    assert "hearts" in NAMES
    for name in NAMES:
        files = {path.name: path.stat().st_size for path in find(f"kibitz:{name}").iterdir()}
        assert files.keys() - {"players.json"} == {"README.md", "config.json", "digests.json", "model.safetensors"}
        assert files["model.safetensors"] < 8_000_000


def test_the_network_for_hearts_is_ahead_of_the_rules_without_search() -> None:
    game = make_game("hearts")
    assert load_weights("kibitz:hearts", game).arch.reads_rules
    players = ["argmax_val@kibitz:hearts", "hearts_rules"]
    made = make_players(players, game, SearchConfig(), engine=EngineConfig(device="cpu"))
    result = run_tournament(game, made, 40, 11, 280)
    assert result.columns[0].comparisons[0].advantage > 0.5
    assert np.isfinite(list(result.columns[0].points.values())).all()


def test_the_q_network_makes_a_search_better_than_random_rollouts() -> None:
    game = HeartsGame(pass_cards=False, no_pts_on_first_trick=False, must_break_hearts=False, free_first_lead=True)
    twin = "pimc:worlds=1:runs=20:cheat=true:exploration=1:utility=own"
    players = ["alphahearts:cheat=true:iterations=20@kibitz:alphahearts", twin]
    made = make_players(players, game, SearchConfig(), engine=EngineConfig(device="cpu"))
    result = run_tournament(game, made, 60, 11, 120, seating="pairs")
    assert result.columns[0].comparisons[0].advantage > 0.2


def test_it_refuses_another_moon() -> None:
    with pytest.raises(ValueError, match="game_options"):
        load_weights("kibitz:hearts", make_game("hearts", {"moon": "shooter_minus_26"}))
