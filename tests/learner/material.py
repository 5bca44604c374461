"""Networks, histories and shards that the learner's tests share."""

from pathlib import Path

import numpy as np

from games.hearts.game import HeartsGame
from games.rng import derive_many
from games.shards import Sequences, write_shard
from learner.config import ModelConfig
from learner.model.network import PolicyValueNet, architecture, initialise
from learner.model.pretrained import pretrained_model

TINY = ModelConfig(n_layer=2, n_head=2, n_embd=16, embd_pdrop=0.0, resid_pdrop=0.0, initializer_range=0.3)
"""Small, with weights large enough that what a position sees makes a difference."""


transformers_model = pretrained_model


def tiny_net(game: HeartsGame, seed: int = 0, config: ModelConfig = TINY) -> PolicyValueNet:
    """A network with fresh weights."""
    net = PolicyValueNet(architecture(game, config))
    initialise(net, seed)
    return net.eval()


def random_games(game: HeartsGame, count: int, seed: int = 0) -> Sequences:
    """All four seats of ``count`` randomly played deals."""
    seeds = derive_many(seed, count)
    states = game.deal(seeds)
    game.playout(states, derive_many(seed + 1, count))
    outcome = game.outcome(states)
    parts = []
    for seat in range(game.num_players):
        tokens, _ = game.histories(states, np.full(count, seat))
        player = np.full(count, "random", object)
        parts.append(Sequences(tokens, outcome[:, seat], np.full(count, seat), player, seeds, np.arange(count)))
    return Sequences.concat(parts)


def shard_of(game: HeartsGame, directory: Path, count: int, seed: int = 0) -> str:
    """Path of a shard with ``4 * count`` sequences."""
    path = directory / f"shard-{count}-{seed}.parquet"
    write_shard(path, random_games(game, count, seed), game, {})
    return str(path)
