"""Conformance of a kind of network: call ``check_kind(MY_KIND, game)`` in a test of your package. ``AssertionError``
says in one line what the kind does wrong. ``games.conformance.check_game`` does the same for games.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from games.game import Game
from games.rng import derive_many
from games.shards import Sequences, write_shard
from learner import kinds
from learner.config import EngineConfig, LearnerConfig, NetworkConfig
from learner.model.checkpoint import CONFIG_FILE, model_type_of, save_weights
from learner.network_kind import NetworkKind, TrainingSetup
from learner.observation_model import EMPTY
from learner.training.loop import starting_network, train

STEPS = 2


def check_kind(
    kind: NetworkKind, game: Game, config: NetworkConfig | None = None, num_deals: int = 40, seed: int = 1
) -> None:
    """Build, save, load, train and ask a network of this kind on random deals of ``game``; its defaults if ``config``
    is None."""
    with TemporaryDirectory(prefix="kibitz-conformance-") as name:
        folder = Path(name)
        with _doing(kind, "config()"):
            config = config or kind.config()
            assert config.kind == kind.name, f"config().kind is {config.kind!r}; its default must be the kind's name"
        with _doing(kind, "architecture, build, deal_bytes or history_bytes"):
            arch = _check_sizes(kind, game, config)
        learner = LearnerConfig(max_steps=STEPS, log_every_steps=1, batch_size=16, device="cpu")
        shard = str(folder / "shard.parquet")
        setup = TrainingSetup(kind, game, config, learner, [shard], seed)
        with _doing(kind, "build or initialise"):
            net, again = starting_network(setup, None), starting_network(setup, None)
            assert net.arch == arch, f"build(arch).arch is {net.arch}, and architecture gives {arch}"
            assert _same(net, again), "build and initialise give other weights with the same seed"
        with _doing(kind, "load, or config_record of the network,"):
            _check_checkpoint(kind, game, net, folder)
        with _doing(kind, "the objective"):
            write_shard(shard, random_games(game, num_deals, seed), game, {})
            train(kind.objective(setup), folder / "trained", folder / "saved", lambda metrics: None)
            state = json.loads((folder / "trained/training/state.json").read_text())
            losses = [line["loss"] for line in state["history"]]
            assert len(losses) == STEPS and np.isfinite(losses).all(), f"losses of {STEPS} steps are {losses}"
            assert not _same(net, kind.load(folder / "trained", game)), f"{STEPS} steps left the weights as they were"
        with _doing(kind, "the engine"):
            utility = game.outcomes.default_utility if kind.input == "histories" else ""
            engine = kind.engine(str(folder / "trained"), game, EngineConfig(device="cpu", cache_mb=256), utility)
            check = _check_histories if kind.input == "histories" else _check_states
            check(engine, game, game.deal(derive_many(seed, num_deals)))


def random_games(game: Game, count: int, seed: int = 0) -> Sequences:
    """All seats' sequences of ``count`` deals that are played at random."""
    seeds = derive_many(seed, count)
    states = game.deal(seeds)
    game.playout(states, derive_many(seed + 1, count))
    seats = [np.tile(seat, (count, 1)) for seat in np.eye(game.num_players, dtype=bool)]
    return Sequences.concat([Sequences.of_deals(game, states, seeds, "random", seat) for seat in seats])


@contextmanager
def _doing(kind: NetworkKind, what: str) -> Iterator[None]:
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"kind {kind.name!r}: {error}") from error
    except Exception as error:
        reason = " ".join(str(error).split())
        raise AssertionError(f"kind {kind.name!r}: {what} raised {type(error).__name__}: {reason}") from error


def _check_sizes(kind: NetworkKind, game: Game, config: NetworkConfig) -> Any:
    arch = kind.architecture(game, config)
    assert is_dataclass(arch), f"architecture gives {arch!r}, which is no dataclass"
    with torch.device("meta"):  # as training asks for the size, without memory
        assert kind.build(arch).arch == arch, "build(arch).arch is another than arch"
    deal, history = kind.deal_bytes(game, config), kind.history_bytes(arch, EngineConfig(device="cpu"))
    assert isinstance(deal, int) and deal > 0, f"deal_bytes gives {deal!r}; it must be an int above 0"
    assert isinstance(history, int) and history >= 0, f"history_bytes gives {history!r}; it must be an int, 0 for none"
    return arch


def _check_checkpoint(kind: NetworkKind, game: Game, net: Any, folder: Path) -> None:
    save_weights(folder / "saved", net, game)
    found = model_type_of(folder / "saved")
    assert found == kind.model_type, f"checkpoints say model_type {found!r}, and the record {kind.model_type!r}"
    if kind.name in kinds.names():
        found = kinds.of_checkpoint(folder / "saved").name
        assert found == kind.name, f"its checkpoint is taken for the kind {found!r}"
    loaded = kind.load(folder / "saved", game)
    assert loaded.arch == net.arch and _same(net, loaded), "load gives other weights or another arch than were saved"
    save_weights(folder / "foreign", net, game)
    config = json.loads((folder / "foreign" / CONFIG_FILE).read_text())
    (folder / "foreign" / CONFIG_FILE).write_text(json.dumps({**config, "rules_version": -1}))
    with suppress(ValueError):
        kind.load(folder / "foreign", game)
        raise AssertionError("load takes a checkpoint of other rules; call check_record (learner.model.checkpoint)")


def _same(net: Any, other: Any) -> bool:
    one, two = net.state_dict(), other.state_dict()
    return one.keys() == two.keys() and all(torch.equal(one[name].cpu(), two[name].cpu()) for name in one)


def _check_states(engine: Any, game: Game, states: np.ndarray) -> None:
    """``StateModel`` at the first decisions of deals."""
    seats = game.to_move(states)
    values, shape = engine.values(states, seats), (len(states), game.vocabulary.size)
    assert values.shape == shape, f"values has shape {values.shape}, not {shape}"
    assert np.isfinite(values[game.legal(states)]).all(), "values of legal actions are not finite"
    alone = engine.values(states[:1], seats[:1])
    assert np.allclose(alone, values[:1], atol=1e-4), "values of a state change with the batch that it is in"


def _check_histories(engine: Any, game: Game, states: np.ndarray) -> None:
    """``ObservationModel`` at the first decisions of deals."""
    seats, legal, free = game.to_move(states), game.legal(states), engine.slots_left
    tokens, lengths = game.histories(states, seats)
    flat, rows = tokens[np.arange(tokens.shape[1]) < lengths[:, None]], len(states)
    answer = engine.query(np.full(rows, EMPTY), flat, lengths, legal, np.ones(rows, bool))
    shape = (rows, game.vocabulary.size)
    assert answer.next_token.shape == shape, f"next_token has shape {answer.next_token.shape}, not {shape}"
    assert np.allclose(answer.next_token.sum(axis=1), 1, atol=1e-3), "next_token does not add up to 1"
    assert answer.action_values.shape == (legal.sum(),), "action_values has not one value for each candidate"
    assert np.isfinite(answer.value).all() and np.isfinite(answer.action_values).all(), "values are not finite"
    outcomes = engine.outcomes(answer.handles, flat[:0], np.zeros(rows, np.int64))
    shape = (rows, game.outcomes.num_labels)
    assert outcomes.shape == shape, f"outcomes has shape {outcomes.shape}, not {shape}"
    assert np.allclose(outcomes.sum(axis=1), 1, atol=1e-3), "outcomes does not add up to 1"
    engine.release(answer.handles)
    engine.release(answer.action_handles)
    assert engine.slots_left == free, "slots_left is another after all handles were released"
