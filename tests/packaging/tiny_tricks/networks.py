"""A kind of network, and a player that asks it: what points a seat makes, by the first card of its hand."""

from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import nn

from games.shards import read_shards
from learner.config import NetworkConfig
from learner.model.checkpoint import load_network
from learner.network_kind import NetworkKind
from learner.training.data import held_out
from learner.training.objective import Objective
from search.alphahearts.config import QValuesConfig
from search.alphahearts.player import QValues
from search.players.kinds import PlayerKind


@dataclass
class FirstCardConfig(NetworkConfig):
    kind: str = "first_card"
    start: float = 0.0
    """What every card is worth before training."""


@dataclass(frozen=True)
class Shape:
    vocab_size: int
    start: float = 0.0


class FirstCard(nn.Module):
    def __init__(self, arch):
        super().__init__()
        self.arch, self.points = arch, nn.Parameter(torch.full((arch.vocab_size,), arch.start))

    def config_record(self, game):
        return {"model_type": "first_card", **asdict(self.arch)}


class Regression(Objective):
    """Squared error of the points of the seats that acted first with each card."""

    rows_are = "hands"

    def __init__(self, setup):
        super().__init__(setup)
        rows = read_shards(setup.shards, self.game)
        self.cards = torch.from_numpy(rows.tokens[:, 1].astype(np.int64))
        self.made = torch.from_numpy(self.game.outcomes.points[rows.outcome, 0].astype(np.float32))
        kept = held_out(rows.deal_seed)
        self.training, self.validation = np.flatnonzero(~kept), np.flatnonzero(kept)

    def losses(self, rows):
        loss = ((self.net.points[self.cards[rows]] - self.made[rows]) ** 2).mean()
        return loss, {"loss": loss}


class Engine:
    def __init__(self, net):
        self._worth = -net.points.detach().numpy()

    def values(self, states, seats):
        return np.repeat(self._worth[None], len(states), axis=0)


def shape(game, config):
    return Shape(game.vocabulary.size, config.start)


FIRST_CARD = NetworkKind(
    name="first_card",
    title="table of first cards",
    config=FirstCardConfig,
    input="states",
    model_type="first_card",
    architecture=shape,
    build=FirstCard,
    load=lambda checkpoint, game: load_network(checkpoint, game, FIRST_CARD),
    objective=Regression,
    engine=lambda checkpoint, game, config, utility: Engine(FIRST_CARD.load(checkpoint, game)),
    deal_bytes=lambda game, config: 16,
    free_at_start=("start",),
    whole_deals=True,
    in_groups=False,
)
VALUED = PlayerKind(
    name="valued",
    summary="Plays the card that is worth most.",
    games=("toy",),
    needs_model=True,
    model_input="states",
    factory=lambda game, model, settings: QValues(model, QValuesConfig(cheat=True)),
)
