"""What a generator writes: whose sequences, from which games, and always the same bytes."""

from pathlib import Path

import numpy as np
import pytest

from games.hearts.game import HeartsGame
from games.shards import Sequences, read_shard, shard_info
from learner.model.checkpoint import checkpoint_id, save_weights
from learner.model.network import PolicyValueNet, architecture, initialise
from selfplay.config import InitialConfig, TrainConfig
from selfplay.generator import Generator, GeneratorSettings
from selfplay.plan import Network, Seating, ShardPlan
from tests.selfplay.material import tiny_config

GAME = HeartsGame()
CONFIG: TrainConfig = tiny_config("unused")


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Network, ...]:
    root = tmp_path_factory.mktemp("networks")
    for seed in range(3):
        net = PolicyValueNet(architecture(GAME, CONFIG.model))
        initialise(net, seed)
        save_weights(root / str(seed), net, GAME)
    return tuple(Network(f"{seed:03d}", str(root / str(seed))) for seed in range(3))


def generator(games_per_table: int = 5) -> Generator:
    return Generator(GeneratorSettings(CONFIG.game, CONFIG.search, CONFIG.engine, games_per_table))


def plan(seating: Seating, networks: tuple[Network, ...] = (), **changes: object) -> ShardPlan:
    settings = {"initial": InitialConfig(), "num_games": 12, "shard": 2} | changes
    return ShardPlan(iteration=len(networks), seating=seating, networks=networks, run_seed=9, **settings)  # type: ignore[arg-type]


def generated(work: ShardPlan, path: Path, games_per_table: int = 5) -> Sequences:
    generator(games_per_table).generate(work, str(path))
    return read_shard(path, GAME)


def replayed(rows: Sequences) -> None:
    """Every row is what its seat saw of its deal, and its outcome is the one of that seat."""
    views = GAME.views(rows.tokens, (rows.tokens == GAME.vocabulary.eos).argmax(1) + 1)
    assert GAME.consistent(views).all()
    assert (GAME.view_outcome(views) == rows.outcome).all()
    dealt, _ = GAME.histories(GAME.deal(rows.deal_seed), rows.seat)
    assert (dealt[:, :14] == rows.tokens[:, :14]).all()


def test_random_games_keep_all_four_seats(tmp_path: Path) -> None:
    rows = generated(plan(Seating.INITIAL), tmp_path / "shard.parquet")
    assert len(rows) == 12 * 4
    assert set(rows.player) == {"random"}
    replayed(rows)


def test_only_the_players_asked_for_are_kept(tmp_path: Path) -> None:
    mixed = InitialConfig(players={"hearts_rules": 0.5, "random": 0.5}, keep=["hearts_rules"])
    rows = generated(plan(Seating.INITIAL, initial=mixed, num_games=50), tmp_path / "shard.parquet")
    assert set(rows.player) == {"hearts_rules"}
    assert 60 < len(rows) < 140
    replayed(rows)


def test_the_first_network_plays_every_seat_and_all_are_kept(tmp_path: Path, networks: tuple[Network, ...]) -> None:
    rows = generated(plan(Seating.EVERYBODY, networks[:1]), tmp_path / "shard.parquet")
    assert len(rows) == 12 * 4
    assert set(rows.player) == {"argmax_val@000"}
    replayed(rows)


def test_in_the_population_one_seat_of_each_game_is_kept(tmp_path: Path, networks: tuple[Network, ...]) -> None:
    rows = generated(plan(Seating.POPULATION, networks, num_games=40), tmp_path / "shard.parquet")
    assert rows.game.tolist() == list(range(40))
    assert set(rows.player) == {"argmax_val@002"}
    assert set(rows.seat.tolist()) == {0, 1, 2, 3}
    replayed(rows)


def test_a_shard_names_the_networks_that_played_it(tmp_path: Path, networks: tuple[Network, ...]) -> None:
    generated(plan(Seating.POPULATION, networks[:2]), tmp_path / "shard.parquet")
    provenance = shard_info(tmp_path / "shard.parquet").provenance
    ids = [checkpoint_id(network.path) for network in networks[:2]]
    assert provenance["checkpoints"] == f"000:{ids[0]} 001:{ids[1]}"
    assert (provenance["run_seed"], provenance["iteration"], provenance["shard"]) == ("9", "2", "2")


@pytest.mark.parametrize("seating", list(Seating))
def test_the_same_plan_gives_the_same_bytes(tmp_path: Path, networks: tuple[Network, ...], seating: Seating) -> None:
    playing = {Seating.INITIAL: (), Seating.EVERYBODY: networks[:1], Seating.POPULATION: networks}[seating]
    work = plan(seating, playing)
    generator().generate(work, str(tmp_path / "once.parquet"))
    busy = generator()
    busy.generate(plan(seating, playing, shard=5), str(tmp_path / "other.parquet"))
    busy.generate(work, str(tmp_path / "again.parquet"))
    assert (tmp_path / "once.parquet").read_bytes() == (tmp_path / "again.parquet").read_bytes()
    assert (tmp_path / "once.parquet").read_bytes() != (tmp_path / "other.parquet").read_bytes()


def test_the_size_of_tables_does_not_change_games_without_networks(tmp_path: Path) -> None:
    mixed = InitialConfig(players={"hearts_rules": 0.5, "random": 0.5})
    small = generated(plan(Seating.INITIAL, initial=mixed), tmp_path / "small.parquet", games_per_table=3)
    large = generated(plan(Seating.INITIAL, initial=mixed), tmp_path / "large.parquet", games_per_table=100)
    assert np.array_equal(small.tokens, large.tokens)
    assert small.game.tolist() == large.game.tolist()


def test_the_mass_on_illegal_tokens_is_measured(tmp_path: Path, networks: tuple[Network, ...]) -> None:
    report = generator().generate(plan(Seating.EVERYBODY, networks[:1]), str(tmp_path / "shard.parquet"))
    # A fresh network spreads its mass over 61 tokens, of which few are legal.
    assert 0.7 < report.illegal_mass < 1.0
    assert (report.games, report.sequences) == (12, 48)
    assert report.decisions >= 12 * 52
    # Tables of 5, 5 and 2 deals; while passing and playing not every deal asks at every move.
    assert 0.3 < report.batch_fill <= 1.0
