"""What a generator writes: whose sequences, from which games, and always the same bytes."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from cluster.errors import UserError
from games.config import GameConfig
from games.hearts.game import HeartsGame
from games.shards import Sequences, read_shard, shard_info
from learner.config import TransformerConfig
from learner.inference import engine
from learner.inference.engine import QueryEngine
from learner.inference.pool import SlotPool
from learner.model.checkpoint import checkpoint_id, save_weights
from learner.model.pretrained import PolicyValueModel
from selfplay import generate
from selfplay.config import GenerateConfig, InitialConfig
from selfplay.generator import Generator
from selfplay.meter import Meter, MeteredModel
from selfplay.plan import Network, Seating, ShardPlan, seats
from selfplay.players import check_players
from selfplay.recorded import record_settings
from tests.learner.material import tiny_net, tiny_q_net
from tests.search.models import FunctionModel
from tests.selfplay.material import TINY_RUN, over, settings
from tests.selfplay.material import generated as made

GAME = HeartsGame()


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Network, ...]:
    root = tmp_path_factory.mktemp("networks")
    return saved(root, GAME, TINY_RUN.model)


def saved(root: Path, game: HeartsGame, config: TransformerConfig) -> tuple[Network, ...]:
    """Three networks with fresh weights."""
    for seed in range(3):
        save_weights(root / str(seed), tiny_net(game, seed, config), game)
    return tuple(Network(f"{seed:03d}", str(root / str(seed))) for seed in range(3))


def plan(seating: Seating, networks: tuple[Network, ...] = (), **changes: object) -> ShardPlan:
    given = {"initial": InitialConfig(), "num_games": 12, "shard": 2} | changes
    return ShardPlan(iteration=len(networks), seating=seating, networks=networks, run_seed=9, **given)


def generated(work: ShardPlan, path: Path, **games: object) -> Sequences:
    """A shard's rows, of which each is what its seat saw of its deal, and its outcome the one of that seat."""
    rows, _ = made(work, path, **games)
    views = GAME.views(rows.tokens, (rows.tokens == GAME.vocabulary.eos).argmax(1) + 1)
    assert GAME.consistent(views).all()
    assert (GAME.view_outcome(views) == rows.outcome).all()
    dealt, _ = GAME.histories(GAME.deal(rows.deal_seed), rows.seat)
    assert (dealt[:, :14] == rows.tokens[:, :14]).all()
    return rows


def test_all_seats_of_the_initial_players_or_those_asked_for_are_kept_whatever_the_size_of_tables(tmp_path) -> None:
    mixed = InitialConfig(players=["hearts_rules", "random"])
    small, large = (
        generated(plan(Seating.INITIAL, initial=mixed), tmp_path / "shard.parquet", games_per_table=size)
        for size in (3, 100)
    )
    assert len(small) == 12 * 4 and set(small.player) == {"hearts_rules", "random"}
    assert np.array_equal(small.tokens, large.tokens) and small.game.tolist() == large.game.tolist()
    mixed.keep = ["hearts_rules"]
    rows = generated(plan(Seating.INITIAL, initial=mixed, num_games=50), tmp_path / "shard.parquet")
    assert 60 < len(rows) < 140 and set(rows.player) == {"hearts_rules"}


def test_the_first_network_plays_every_seat_and_of_a_population_the_newest_ones_is_kept(tmp_path, networks) -> None:
    rows = generated(plan(Seating.EVERYBODY, networks[:1]), tmp_path / "shard.parquet")
    assert len(rows) == 12 * 4 and set(rows.player) == {"argmax_val@000"}
    players = {"newest_player": "imitation:temperature=2", "earlier_player": "argmax_val"}
    for changes, name in (({}, "argmax_val"), (players, "imitation:temperature=2")):
        rows = generated(plan(Seating.POPULATION, networks, num_games=20), tmp_path / "shard.parquet", **changes)
        assert rows.game.tolist() == list(range(20)) and set(rows.player) == {f"{name}@002"}
        assert set(rows.seat.tolist()) == {0, 1, 2, 3}
    ids = [checkpoint_id(network.path) for network in networks]
    provenance = shard_info(tmp_path / "shard.parquet").provenance
    assert provenance["checkpoints"] == f"000:{ids[0]} 001:{ids[1]} 002:{ids[2]}"
    assert (provenance["run_seed"], provenance["iteration"], provenance["shard"]) == ("9", "3", "2")


@pytest.mark.parametrize("earlier", ["imitation", "argmax_val:explore=0.3"])
def test_a_population_that_is_asked_in_one_pass_a_step_plays_the_same_games(tmp_path, networks, earlier, monkeypatch):
    engines = replace(TINY_RUN.engine, device="cpu", precision="fp32", trunk="torch")
    work, passes, alone = plan(Seating.POPULATION, networks, num_games=40), [], SlotPool.__init__

    def on_a_gpu(pool, *given):
        alone(pool, *given)
        pool.together = True
        passes.append(pool.stats)

    for init in (alone, on_a_gpu):
        monkeypatch.setattr(SlotPool, "__init__", init)
        generator = Generator(replace(settings(games_per_table=20, earlier_player=earlier), engine=engines))
        report = generator.generate(work, str(tmp_path / f"{init.__name__}.parquet"))
    apart, together = (read_shard(tmp_path / f"{name}.parquet", GAME) for name in ("__init__", "on_a_gpu"))
    monkeypatch.setattr(SlotPool, "__init__", alone)
    generator = Generator(replace(settings(games_per_table=20, earlier_player=earlier), engine=engines))
    swapped = [replace(one, path=other.path) for one, other in zip(networks, [*networks[1:], networks[0]], strict=True)]
    generator.generate(replace(work, networks=tuple(swapped)), str(tmp_path / "swapped.parquet"))
    others = read_shard(tmp_path / "swapped.parquet", GAME)
    assert (apart.tokens == others.tokens).all(axis=1).mean() < 0.1, "whose answers these are shows in nearly all games"
    same = (apart.tokens == together.tokens).all(axis=1)
    # Values of fresh networks are nearly equal, so rounding turns a choice in some games: in none to a tenth of them on
    # Intel's processors, in up to three tenths on AMD's.
    assert same.mean() >= 0.5
    (stats,) = passes
    assert report.batch_fill == stats.rows / stats.passes / 20 > 0.6


def log_probability(network: Network, tokens: np.ndarray) -> np.ndarray:
    """``float64[N, L, V]``: log p(next token) behind every position of histories ``[N, L]``, as transformers has it."""
    model = PolicyValueModel.from_pretrained(network.path).eval()
    with torch.inference_mode():
        return model(torch.tensor(tokens.astype(np.int64))).logits.log_softmax(-1).double().numpy()


def decisions_of(game: HeartsGame, rows: Sequences) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every history of the games, ``[G, 4, L]``, and for each of the 52 plays the seat and the legal cards; from what
    the kept seat saw. Nobody passes cards, so that it saw every play."""
    states = game.deal(rows.deal_seed)
    ends = (rows.tokens == game.vocabulary.eos).argmax(1)
    movers, legal = [], []
    for play in range(52):
        movers.append(game.to_move(states).astype(np.int64))
        legal.append(game.legal(states))
        game.play(states, rows.tokens[np.arange(len(rows)), ends - 52 + play])
    histories = [game.histories(states, np.full(len(states), seat))[0] for seat in range(4)]
    return np.stack(histories, 1), np.stack(movers, 1), np.stack(legal, 1)


def test_every_imitation_of_the_population_plays_by_its_own_network(tmp_path: Path) -> None:
    game = HeartsGame(pass_cards=False)
    networks = saved(tmp_path, game, replace(TINY_RUN.model, initializer_range=0.5))
    work, config = plan(Seating.POPULATION, networks, num_games=30), GameConfig("hearts", {"pass_cards": False})
    Generator(replace(settings(games_per_table=30), game=config)).generate(work, str(tmp_path / "shard.parquet"))
    rows = read_shard(tmp_path / "shard.parquet", game)

    seating, _ = seats(work, work.seat_bits(4))
    histories, movers, legal = decisions_of(game, rows)
    deals, plays = np.indices(movers.shape)
    places = int((histories[0, 0] == game.vocabulary.eos).argmax()) - 52 + plays
    played = histories[deals, movers, places].astype(np.int64)[..., None]
    likelihood = np.zeros((3, 3))  # of all that one network's imitation has played, judged by another
    for judge, network in enumerate(networks):
        behind = log_probability(network, histories.reshape(-1, histories.shape[-1])).reshape(*histories.shape, -1)
        policy = np.where(legal, behind[deals, movers, places - 1], -np.inf)
        chosen = np.take_along_axis(policy, played, axis=-1)[..., 0] - np.logaddexp.reduce(policy, axis=-1)
        for number in range(3):
            likelihood[number, judge] = chosen[seating[deals, movers] == number + 1].sum()
    assert likelihood.argmax(1).tolist() == [0, 1, 2]


def test_a_player_with_a_network_of_its_own_plays_iteration_0(tmp_path: Path, networks: tuple[Network, ...]) -> None:
    own = f"argmax_val:threshold=0.2@{networks[1].path}"
    initial = InitialConfig(players=[own, "random"], keep=[own])
    rows = generated(plan(Seating.INITIAL, initial=initial), tmp_path / "shard.parquet")
    assert set(rows.player) == {own}
    provenance = shard_info(tmp_path / "shard.parquet").provenance
    assert provenance["checkpoints"] == f"argmax_val:threshold=0.2@{networks[1].path}:{checkpoint_id(networks[1].path)}"


def test_a_network_of_whole_deals_is_checked_and_on_record(tmp_path: Path) -> None:
    q, name = str(tmp_path / "q"), "q_values:worlds=2"
    save_weights(q, tiny_q_net(GAME, 1), GAME)
    of_states = settings(newest_player=name)
    assert check_players(of_states, GAME, "states", [q]) == []  # no keys and values
    initial = plan(Seating.INITIAL, initial=InitialConfig(players=[f"{name}@{q}"]), num_games=1)
    for work, called in ((initial, f"{name}@{q}"), (plan(Seating.EVERYBODY, (Network("000", q),), num_games=1), "000")):
        Generator(of_states).generate(work, str(tmp_path / "shard.parquet"))
        provenance = shard_info(tmp_path / "shard.parquet").provenance
        assert provenance["checkpoints"] == f"{called}:{checkpoint_id(q)}"
    with pytest.raises(ValueError, match="/nowhere/at/all: no such directory"):
        check_players(of_states, GAME, "states", ["/nowhere/at/all"])
    with pytest.raises(ValueError, match="checkpoints: q_values:worlds=2 sits at every seat, so give one of 2"):
        check_players(of_states, GAME, "states", ["a", "b"])


def test_engines_stay_between_shards_until_their_networks_no_longer_play(tmp_path, networks, monkeypatch) -> None:
    made: list[str] = []
    monkeypatch.setattr(engine, "QueryEngine", lambda *given: made.append("") or QueryEngine(*given))
    worker = Generator(settings())
    for shard in range(2):
        worker.generate(plan(Seating.POPULATION, networks, shard=shard), str(tmp_path / f"{shard}.parquet"))
    assert len(made) == 3  # the newest network plays ArgmaxVal* and imitation on one engine
    worker.generate(plan(Seating.EVERYBODY, networks[:1]), str(tmp_path / "2.parquet"))
    worker.generate(plan(Seating.POPULATION, networks), str(tmp_path / "3.parquet"))
    assert len(made) == 5


def test_after_an_exception_a_generator_goes_on_with_new_engines(tmp_path: Path, networks: tuple[Network, ...]) -> None:
    tight = replace(TINY_RUN.engine, cache_mb=1)  # 8,192 tokens, far less than 64 games come to
    worker = Generator(replace(settings(games_per_table=64), engine=tight))
    with pytest.raises(ValueError, match="cache_mb"):
        worker.generate(plan(Seating.EVERYBODY, networks[:1], num_games=64), str(tmp_path / "much.parquet"))
    assert not (tmp_path / "much.parquet").exists()
    worker.generate(plan(Seating.EVERYBODY, networks[:1], num_games=4), str(tmp_path / "little.parquet"))
    assert len(read_shard(tmp_path / "little.parquet", GAME)) == 16


def test_the_mass_on_illegal_tokens_is_measured(tmp_path: Path, networks: tuple[Network, ...]) -> None:
    report = Generator(settings()).generate(plan(Seating.EVERYBODY, networks[:1]), str(tmp_path / "shard.parquet"))
    # A fresh network spreads its mass over 61 tokens, of which few are legal.
    assert 0.7 < report.illegal_mass < 1.0
    assert report.games == 12 and report.decisions >= 12 * 52
    # Tables of 5, 5 and 2 deals; while passing and playing not every deal asks at every move.
    assert 0.3 < report.batch_fill <= 1.0


@pytest.mark.parametrize("seating", list(Seating))
def test_the_same_plan_gives_the_same_bytes(tmp_path: Path, networks: tuple[Network, ...], seating: Seating) -> None:
    playing = {Seating.INITIAL: (), Seating.EVERYBODY: networks[:1]}.get(seating, networks)
    work = plan(seating, playing)
    Generator(settings()).generate(work, str(tmp_path / "once.parquet"))
    busy = Generator(settings())
    busy.generate(plan(seating, playing, shard=5), str(tmp_path / "other.parquet"))
    busy.generate(work, str(tmp_path / "again.parquet"))
    assert (tmp_path / "once.parquet").read_bytes() == (tmp_path / "again.parquet").read_bytes()
    assert (tmp_path / "once.parquet").read_bytes() != (tmp_path / "other.parquet").read_bytes()


def test_shards_of_a_command_are_made_once_and_not_mixed_with_others(tmp_path, capsys) -> None:
    config = GenerateConfig(game=TINY_RUN.game, out=str(tmp_path), games=10, games_per_shard=4)
    record_settings(f"{tmp_path}/config.yaml", config)
    for work in generate.planned(config):
        Generator(settings()).generate(work, f"{tmp_path}/{work.name}")
    made = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert sorted(made) == ["00000.parquet", "00001.parquet", "00002.parquet", "config.yaml"]
    generate.main(config)
    assert "10 games in 3 shards" in capsys.readouterr().out
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == made

    def refused(message: str, change: str = "seed=0") -> None:
        with pytest.raises(UserError, match=re.escape(message)):
            generate.main(over(config, change))

    refused("made with seed=0, the command says 1", "seed=1")
    refused("there are games=10, the command says 4", "games=4")
    refused("there are games=10, the command says 16", "games=16")
    refused("made with search.argmax_val.threshold=0.05, the command says 0.5", "search.argmax_val.threshold=0.5")
    refused(
        "made with search.given=[], the command says ['argmax_val.threshold']", "search.given=[argmax_val.threshold]"
    )
    (tmp_path / "00001.parquet").rename(tmp_path / "00000.parquet")
    refused("00000.parquet: its shard is 1, and 0 belongs there; remove")
    (tmp_path / "config.yaml").unlink()
    refused(f"{tmp_path}: holds shards, and no config.yaml that says how")


def test_only_queries_with_candidates_count_for_the_mass_on_illegal_tokens() -> None:
    size, meter = GAME.vocabulary.size, Meter()
    even = np.full(size, 1 / size, np.float32)
    candidates = np.zeros((3, size), bool)
    candidates[1, :10] = True
    model = MeteredModel(FunctionModel(lambda history: (even, 0.0)), meter)
    model.query(np.full(3, -1), np.array([58, 56, 57]), np.ones(3, np.int64), candidates)
    assert (meter.batches, meter.rows, meter.judged) == (1, 3, 1)
    np.testing.assert_allclose(meter.illegal_mass, 1 - 10 / size, rtol=1e-5)
