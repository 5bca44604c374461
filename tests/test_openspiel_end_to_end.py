"""A game of OpenSpiel takes part in everything: it is generated, learned, searched and played for points.

The parts are those of a run, without Ray: ``Generator``, ``train``, ``make_players``, ``play_deals``.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from games.config import GameConfig
from games.game import Game
from games.openspiel_histories import Observer
from games.registry import make_game
from games.shards import read_shards
from learner.config import EngineConfig, LearnerConfig, TransformerConfig
from search.arena.tournament.deals import Deals
from search.arena.tournament.matches import play_deals
from search.arena.tournament.result import summarize
from search.config import SearchConfig
from search.go_mcts.config import GoMctsConfig
from search.roster.registry import make_players
from selfplay.config import GamesConfig, InitialConfig
from selfplay.generator import Generator, GeneratorSettings
from selfplay.plan import Network, Seating, ShardPlan
from tests.learner.material import train

MODEL = TransformerConfig(n_layer=1, n_head=2, n_embd=32, embd_pdrop=0.0, resid_pdrop=0.0)
LEARNER = LearnerConfig(batch_size=32, num_epochs=10, max_steps=150, learning_rate=3e-3, num_threads=1, device="cpu")
ENGINE = EngineConfig(device="cpu")
SEARCH = SearchConfig(go_mcts=GoMctsConfig(num_runs=16))


@pytest.fixture(scope="module", params=["kuhn_poker", pytest.param("leduc_poker", marks=pytest.mark.slow)])
def game(request: pytest.FixtureRequest) -> Game:
    return make_game(f"openspiel:{request.param}")


@pytest.fixture(autouse=True)
def no_search_for_explanations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a history of these games are few states. Searched for, each impossible token costs seconds."""

    def explain(*args: object) -> None:
        raise AssertionError("an explanation was searched for")

    monkeypatch.setattr(Observer, "explain", explain)


@pytest.fixture(scope="module")
def checkpoint(game: Game, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A network that has seen 400 random games and 200 of its predecessor's against itself."""
    root = tmp_path_factory.mktemp(game.name.replace(":", "_"))
    generator = Generator(GeneratorSettings(GameConfig(game.name), SEARCH, ENGINE, GamesConfig(games_per_table=50)))
    networks: tuple[Network, ...] = ()
    for iteration, (seating, games) in enumerate([(Seating.INITIAL, 400), (Seating.EVERYBODY, 200)]):
        plan = ShardPlan(iteration, 0, games, seating, InitialConfig(), networks, run_seed=1)
        shard, out = root / f"{iteration}.parquet", root / f"{iteration}"
        assert generator.generate(plan, str(shard)).games == games
        assert len(read_shards([str(shard)], game)) == games * game.num_players
        init_from = networks[-1].path if networks else None
        train(game, MODEL, LEARNER, [str(shard)], out, init_from, seed=iteration)
        networks = (Network(f"{iteration:03d}", str(out)),)
    return networks[-1].path


def test_shards_hold_whole_games_of_argmax_val(game: Game, checkpoint: str) -> None:
    sequences = read_shards([str(Path(checkpoint).parent / "1.parquet")], game)
    assert set(sequences.player) == {"argmax_val@000"}
    lengths = (sequences.tokens == game.vocabulary.eos).argmax(axis=1) + 1
    views = game.views(sequences.tokens, lengths)
    assert np.array_equal(game.view_outcome(views), sequences.outcome) and game.consistent(views).all()


def test_the_network_has_learned_more_than_which_tokens_there_are(game: Game, checkpoint: str) -> None:
    """The validation deals of random games cost less than half of what a uniform guess over the tokens does."""
    metrics = json.loads((Path(checkpoint).parent / "0/training/state.json").read_text())["metrics"]
    assert metrics["validation_observation_loss"] < 0.5 * np.log(game.vocabulary.size)


@pytest.mark.parametrize("player", ["go_mcts", "go_mcts:mask_impossible=true", "argmax_val", "imitation"])
def test_every_kind_of_player_plays_a_tournament_against_random_ones(game: Game, checkpoint: str, player: str) -> None:
    entrants = [player, "random"]
    matches = play_deals(game, make_players(entrants, game, SEARCH, checkpoint, ENGINE), Deals(2, 6))
    assert matches.points.shape == (6, 2, 2) and (matches.points.sum(axis=2) == 0).all()
    result = summarize(game, entrants, matches)
    assert not result.lower_is_better and result.columns[0].comparisons[0].low is not None


def test_masked_and_plain_search_meet_in_one_tournament_and_deals_are_shared_out(game: Game, checkpoint: str) -> None:
    def played(first: int, count: int) -> np.ndarray:
        players = make_players(["go_mcts:mask_impossible=true", "go_mcts"], game, SEARCH, checkpoint, ENGINE)
        return play_deals(game, players, Deals(3, count, first)).points

    assert np.array_equal(played(0, 4), np.concatenate([played(0, 1), played(1, 3)]))


@pytest.mark.slow
def test_search_wins_from_the_random_players_its_network_has_seen(game: Game, checkpoint: str) -> None:
    entrants = [f"go_mcts:mask_impossible=true@{Path(checkpoint).parent / '0'}", "random"]
    matches = play_deals(game, make_players(entrants, game, SEARCH, "", ENGINE), Deals(4, 100))
    assert summarize(game, entrants, matches).columns[0].comparisons[0].advantage > 0
