"""Plays the games of one shard and writes it: the whole work of a generator actor, without Ray.

Letters: ``G`` games of a table, ``P`` seats, ``N`` kept sequences.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from cluster.storage import local_copy
from games.config import GameConfig
from games.game import Game
from games.registry import make_game
from games.shards import Sequences, write_shard
from learner.checkpoint import checkpoint_id, load_weights
from learner.engine import QueryEngine
from learner.trunk import PolicyValueNet
from search.argmax_val import ArgmaxVal
from search.config import EngineConfig, SearchConfig
from search.imitation import Imitation
from search.player import Player
from search.queries import Answer, ObservationModel
from search.registry import make_model_free
from search.table import play_table
from selfplay.plan import Network, Seating, ShardPlan


@dataclass(frozen=True)
class GeneratorSettings:
    """What every generator of a run shares."""

    game: GameConfig
    search: SearchConfig
    engine: EngineConfig
    games_per_table: int
    """Deals played side by side."""


@dataclass(frozen=True)
class ShardReport:
    """What generating one shard took."""

    path: str
    iteration: int
    shard: int
    games: int
    sequences: int
    """Rows written; only the kept seats' histories are."""
    decisions: int
    """Turns decided by anybody."""
    seconds: float
    illegal_mass: float
    """Mean probability the newest network gave to tokens that were not legal when it was to move; 0 without one."""


class Generator:
    """Plays shards; networks stay loaded between them."""

    def __init__(self, settings: GeneratorSettings) -> None:
        self._settings = settings
        self._nets: dict[Network, PolicyValueNet] = {}
        self._ids: dict[Network, str] = {}
        self.game: Game = make_game(settings.game.name, settings.game.options)

    def generate(self, plan: ShardPlan, path: str) -> ShardReport:
        """Play the shard's games, write its file, and say what it took."""
        began = time.perf_counter()
        self._load(plan.networks)
        seeds, bits = plan.deal_seeds(), plan.seat_bits(self.game.num_players)
        meter = LegalMassMeter()
        parts, decisions = [], 0
        for first in range(0, plan.num_games, self._settings.games_per_table):
            table = slice(first, first + self._settings.games_per_table)
            sequences, decided = self._play(plan, seeds[table], bits[table], meter, first)
            parts.append(sequences)
            decisions += decided
        kept = Sequences.concat(parts)
        write_shard(path, kept, self.game, self._provenance(plan))
        seconds = time.perf_counter() - began
        return ShardReport(
            path, plan.iteration, plan.shard, plan.num_games, len(kept), decisions, seconds, meter.illegal_mass
        )

    def pid(self) -> int:
        """Process id, for operators and for tests that kill it."""
        return os.getpid()

    def _play(
        self, plan: ShardPlan, seeds: np.ndarray, bits: np.ndarray, meter: "LegalMassMeter", first: int
    ) -> tuple[Sequences, int]:
        players, seating, keep = self._seat(plan, bits, meter)
        if [player.name for player in players] == ["random"]:
            states = self.game.deal(seeds)
            self.game.playout(states, bits[:, 0])
            labels = self.game.outcome(states)
            _, lengths = self.game.histories(states, np.zeros(len(seeds), np.int64))
            decisions = int(lengths.sum())
        else:
            result = play_table(self.game, players, seating, seeds)
            states, labels, decisions = result.states, result.labels, int(result.decisions.sum())
        rows, seats = np.nonzero(keep)
        tokens, _ = self.game.histories(states[rows], seats)
        names = np.array([player.name for player in players], object)
        return (
            Sequences(
                tokens=tokens,
                outcome=labels[rows, seats],
                seat=seats,
                player=names[seating[rows, seats]],
                deal_seed=seeds[rows],
                game=rows + first,
            ),
            decisions,
        )

    # ---- who sits where

    def _seat(
        self, plan: ShardPlan, bits: np.ndarray, meter: "LegalMassMeter"
    ) -> tuple[list[Player], np.ndarray, np.ndarray]:
        """The players, who of them has which seat (``int[G, P]``), whose sequences are kept (``bool[G, P]``)."""
        if plan.seating is Seating.INITIAL:
            return self._seat_initial(plan, bits)
        newest = self._argmax_val(plan.networks[-1], meter)
        if plan.seating is Seating.EVERYBODY:
            return [newest], np.zeros(bits.shape, np.int64), np.ones(bits.shape, bool)
        imitations: list[Player] = [self._imitation(network) for network in plan.networks]
        seating = 1 + draw(bits, np.full(len(imitations), 1 / len(imitations)))
        newest_seat = (bits[:, 0] % np.uint64(bits.shape[1])).astype(np.int64)
        keep = np.arange(bits.shape[1]) == newest_seat[:, None]
        return [newest, *imitations], np.where(keep, 0, seating), keep

    def _seat_initial(self, plan: ShardPlan, bits: np.ndarray) -> tuple[list[Player], np.ndarray, np.ndarray]:
        names = list(plan.initial.players)
        weights = np.array([plan.initial.players[name] for name in names])
        seating = draw(bits, weights / weights.sum())
        kept = [names.index(name) for name in plan.initial.keep or names]
        players = [make_model_free(name, self.game) for name in names]
        return players, seating, np.isin(seating, kept)

    def _argmax_val(self, network: Network, meter: "LegalMassMeter") -> Player:
        meter.model = self._engine(network)
        return ArgmaxVal(meter, self._settings.search.argmax_val, f"argmax_val@{network.name}")

    def _imitation(self, network: Network) -> Player:
        return Imitation(self._engine(network), self._settings.search.imitation, f"imitation@{network.name}")

    # ---- networks

    def _load(self, networks: Sequence[Network]) -> None:
        """Have these networks in memory and no others; what was there already stays."""
        self._nets = {network: net for network, net in self._nets.items() if network in networks}
        for network in networks:
            if network not in self._nets:
                path = local_copy(network.path)
                self._nets[network] = load_weights(path, self.game)
                self._ids[network] = checkpoint_id(path)

    def _engine(self, network: Network) -> ObservationModel:
        """An engine with lanes of its own over a loaded network."""
        engine = self._settings.engine
        utility = self.game.outcomes.utility(self._settings.search.argmax_val.utility)
        model = QueryEngine(self._nets[network], utility, engine.device, engine.precision, engine.max_batch)
        return cast(ObservationModel, model)  # met structurally: the learner does not know the search package

    def _provenance(self, plan: ShardPlan) -> dict[str, str]:
        return {
            "run_seed": str(plan.run_seed),
            "iteration": str(plan.iteration),
            "shard": str(plan.shard),
            "seating": plan.seating.value,
            "checkpoints": " ".join(f"{network.name}:{self._ids[network]}" for network in plan.networks),
        }


class LegalMassMeter:
    """An observation model that passes everything on and notes how much probability falls on illegal tokens.

    It counts the rows that ask for candidates, whose candidates are the legal actions.
    """

    def __init__(self) -> None:
        self.model: ObservationModel
        self._rows = 0
        self._illegal = 0.0

    @property
    def illegal_mass(self) -> float:
        """Mean over the decisions so far; 0 before the first."""
        return self._illegal / self._rows if self._rows else 0.0

    def reset(self, num_lanes: int) -> None:
        """See ``ObservationModel``."""
        self.model.reset(num_lanes)

    def query(
        self, lanes: np.ndarray, tokens: np.ndarray, lengths: np.ndarray, candidates: np.ndarray | None = None
    ) -> Answer:
        """See ``ObservationModel``."""
        answer = self.model.query(lanes, tokens, lengths, candidates)
        if candidates is not None:
            self._rows += len(candidates)
            self._illegal += float((1.0 - (answer.next_token * candidates).sum(1)).sum())
        return answer

    def keep(self, lanes: np.ndarray, tokens: np.ndarray) -> None:
        """See ``ObservationModel``."""
        self.model.keep(lanes, tokens)

    def truncate(self, lanes: np.ndarray, lengths: np.ndarray) -> None:
        """See ``ObservationModel``."""
        self.model.truncate(lanes, lengths)


def draw(bits: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """``int64``, shaped as ``bits``: index drawn from ``weights`` (summing to 1) by each 64 random bits."""
    uniform = (bits >> np.uint64(11)).astype(np.float64) / 2**53
    return np.minimum(np.searchsorted(np.cumsum(weights), uniform, side="right"), len(weights) - 1)
