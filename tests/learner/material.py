"""Networks, histories and shards that the learner's tests share."""

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cluster.errors import blaming_input
from games.branches import Branches
from games.game import Game
from games.hearts.game import HeartsGame
from games.rng import derive_many
from games.samegame.game import SameGame
from games.shards import Sequences, write_shard
from games.skat.game import SkatGame
from learner import kinds
from learner.config import LearnerConfig, NetworkConfig, QNetworkConfig, TransformerConfig
from learner.conformance import random_games
from learner.model.architecture import architecture
from learner.model.network import PolicyValueNet, initialise
from learner.model.pretrained import pretrained_model
from learner.model.rule_inputs import NO_INPUTS
from learner.network_kind import TrainingSetup
from learner.q_network.architecture import q_architecture
from learner.q_network.network import QNet
from learner.q_network.network import initialise as initialise_q
from learner.training import loop
from learner.training.batch import Batch
from learner.training.data import held_out
from learner.training.loop import Progress
from learner.training.parallel import Group
from learner.training.prefixes import real_prefixes
from search.config import SearchConfig
from search.players.table import play_table
from search.roster.registry import make_players
from selfplay.branches import branch

TINY = TransformerConfig(n_layer=2, n_head=2, n_embd=16, embd_pdrop=0.0, resid_pdrop=0.0, initializer_range=0.3)
"""Small, with weights large enough that what a position sees makes a difference."""


BOARD = SameGame(rows=5, columns=4, colours=3)
"""Of its 20 cells the last is the first token that networks of boards read."""
ON_BOARD = replace(TINY, features=["board"], board_channels=[5, 3])
ON_BLOCKS = replace(ON_BOARD, features=["board", "blocks"])
CPU = torch.device("cpu")
NO_PASS = {"pass_cards": False, "no_pts_on_first_trick": False, "must_break_hearts": False, "free_first_lead": True}
"""Rules of paper 002."""
transformers_model = pretrained_model


def tiny_net(game: Game, seed: int = 0, config: TransformerConfig = TINY) -> PolicyValueNet:
    """A network with fresh weights."""
    net = PolicyValueNet(architecture(game, config))
    initialise(net, seed)
    return net.eval()


def tiny_q_net(game: HeartsGame, seed: int = 0, **config: Any) -> QNet:
    """A network that judges known deals, with fresh weights."""
    net = QNet(q_architecture(game, QNetworkConfig(**{"width": 8, **config})))
    initialise_q(net, seed)
    return net


def inputs(net: PolicyValueNet, game: Game, history: list[int]) -> dict[str, torch.Tensor]:
    """What the transformers model is given for one history: its tokens from the first on that the network reads, and
    what the rules say, from the views of its prefixes."""
    arch, places = net.arch, np.arange(net.arch.first, len(history) + 1)
    views = game.views(np.repeat(np.array([history]), len(places), axis=0), places)
    coming = game.next_type(views).astype(np.int64)
    given: dict[str, np.ndarray] = {"input_ids": np.array(history[arch.first :], np.int64)}
    if arch.token_types:
        given["types"] = np.stack([coming[:-1], coming[1:]], axis=1)
    if arch.features:
        flat = [game.features[name].encode(views[1:]).reshape(len(places) - 1, -1) for name in arch.features]
        given["features"] = np.concatenate(flat, axis=1)
    if arch.mask_tokens:
        possible = game.view_possible(views[1:])
        possible[~possible.any(axis=1) & game.consistent(views[1:]), game.vocabulary.eos] = True
        possible[~possible.any(axis=1)] = True
        given["possible_tokens"] = possible
    if arch.mask_outcomes:
        given["possible_outcomes"] = game.view_outcomes(views[1:])
    return {name: torch.from_numpy(array)[None] for name, array in given.items()}


def shard_of(game: HeartsGame, directory: Path, count: int, seed: int = 0) -> str:
    """Path of a shard with ``4 * count`` sequences."""
    path = directory / f"shard-{count}-{seed}.parquet"
    write_shard(path, random_games(game, count, seed), game, {})
    return str(path)


def skat_games() -> Sequences:
    """Deals with every kind of decision; many are held out, so that every network has some decisions of these."""
    game, drawn = SkatGame(), np.arange(30_000, dtype=np.uint64)
    players = make_players(["skat_rules:noise=3:aggression=0.9", "random"], game, SearchConfig())
    seeds = np.concatenate([drawn[~held_out(drawn)][:1500], drawn[held_out(drawn)][:250]])
    seating = np.repeat(np.arange(len(seeds))[:, None] % 2, 3, axis=1)
    states = play_table(game, players, seating, seeds, 256, secret=5).states
    return Sequences.of_deals(game, states, seeds, "rules")


def branched_shard(game: HeartsGame, directory: Path, count: int, seed: int = 0, share: float = 1.0) -> str:
    """Path of a shard with ``4 * count`` sequences, a first ``share`` of them with branches at 1, 0 or 2 decisions."""
    sequences, states = random_games(game, count, seed), game.deal(derive_many(seed, count))
    game.playout(states, derive_many(seed + 1, count))
    one, two = (branch(game, states, sequences, None, decisions, seed) for decisions in (1, 2))
    parts = [one, Branches.none(len(sequences)), two]
    rows = np.arange(len(sequences))
    chosen = [parts[row % 3 if row < share * len(rows) else 1].take(rows[[row]]) for row in rows]
    path = directory / f"branched-{count}-{seed}.parquet"
    write_shard(path, replace(sequences, branches=Branches.concat(chosen)), game, {})
    return str(path)


def train(
    game: Game,
    model_config: NetworkConfig,
    learner_config: LearnerConfig,
    shards: list[str],
    out: str | Path,
    init_from: str | Path | None = None,
    seed: int = 0,
    on_progress: Progress | None = None,
    group: Group | None = None,
    stop: threading.Event | None = None,
) -> dict[str, float]:
    """Train a network of whatever kind; the final metrics."""
    with blaming_input():
        kind = kinds.find(model_config.kind)
        objective = kind.objective(TrainingSetup(kind, game, model_config, learner_config, shards, seed, group))
    return loop.train(objective, out, init_from, on_progress, stop=stop)


def changed(config: LearnerConfig, **settings: Any) -> LearnerConfig:
    """The configuration with other settings: each goes to the group, ``loss`` or ``policy``, that has its name."""
    groups: dict[str, dict[str, Any]] = {"loss": {}, "policy": {}}
    for name, group in groups.items():
        fields = getattr(config, name).__dataclass_fields__
        group.update({key: settings.pop(key) for key in [*settings] if key in fields})
    whole = {name: replace(getattr(config, name), **group) for name, group in groups.items()}
    return replace(config, **whole, **settings)


def assembled(
    tokens: torch.Tensor, lengths: np.ndarray, outcome: torch.Tensor, judged: np.ndarray | None = None
) -> Batch:
    """A batch of ``tokens`` that learns all prefixes that are no padding, for a network without rule inputs."""
    prefixes = torch.from_numpy(real_prefixes(lengths, tokens.shape[1] - 1))
    counts = torch.tensor([len(prefixes), 1.0])
    drawn = None if judged is None else torch.from_numpy(judged)
    return Batch(tokens, torch.from_numpy(lengths), outcome, prefixes, counts, drawn, NO_INPUTS)


# ---- trainings that are killed


class KilledError(Exception):
    pass


def killing_at(step: int) -> Progress:
    def on_progress(metrics: dict[str, float]) -> None:
        if metrics["step"] >= step:
            raise KilledError

    return on_progress


def train_until(step: int, *arguments: Any, **settings: Any) -> None:
    """``train`` with these arguments, killed as soon as it reports this step."""
    with pytest.raises(KilledError):
        train(*arguments, **settings, on_progress=killing_at(step))


def contents(directory: Path) -> dict[str, bytes]:
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def without_clocks(directory: Path) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Everything of a checkpoint but the seconds it took, which its digests are of too."""
    files = contents(directory)
    del files["digests.json"]
    state = json.loads(files.pop("training/state.json"))
    for key in [key for key in state["metrics"] if key.endswith(("_per_second", "matmul_share", "train_seconds"))]:
        del state["metrics"][key]
    del state["seconds"]
    return files, state


def check_resumes(run: Callable[..., dict[str, float]], tmp_path: Path, kills: tuple[int, ...]) -> dict[str, float]:
    """``run(out, on_progress=...)``, killed and started again, ends in the bytes of one left alone; its metrics."""
    metrics = run(tmp_path / "alone")
    for step in kills:
        with pytest.raises(KilledError):
            run(tmp_path / "killed", on_progress=killing_at(step))
        assert not (tmp_path / "killed").exists()
    run(tmp_path / "killed")
    assert without_clocks(tmp_path / "killed") == without_clocks(tmp_path / "alone")
    return metrics


def flip(file: Path) -> None:
    """Damage a bit."""
    content = bytearray(file.read_bytes())
    content[-20] ^= 1
    file.write_bytes(content)
