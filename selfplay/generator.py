"""Plays the games of one shard and writes it: the whole work of a generator actor, without Ray.

Letters: ``G`` games of a table, ``P`` seats, ``N`` kept sequences.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from games.config import GameConfig
from games.game import Game
from games.registry import make_game
from games.shards import Sequences, write_shard
from learner.checkpoint import checkpoint_id, load_weights
from learner.engine import QueryEngine
from learner.trunk import PolicyValueNet, device_of
from search.argmax_val import ArgmaxVal
from search.config import SearchConfig
from search.imitation import Imitation
from search.player import Player
from search.queries import Answer, ObservationModel
from search.registry import make_model_free
from search.table import play_table
from selfplay.plan import Seating, ShardPlan


@dataclass(frozen=True)
class GeneratorSettings:
    """What every generator of a run shares."""

    game: GameConfig
    search: SearchConfig
    games_per_table: int
    """Deals played side by side."""
    device: str = "cpu"
    precision: str = "fp32"
    num_threads: int = 1
    """Threads of one generator; fixed, because the order of additions in a matrix product depends on it."""


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

    def __init__(self, settings: GeneratorSettings, checkpoint_of: Callable[[int], str]) -> None:
        """``checkpoint_of`` maps an iteration to the directory of its network."""
        import torch

        torch.set_num_threads(settings.num_threads)
        self._settings = settings
        self._checkpoint_of = checkpoint_of
        self._nets: dict[int, PolicyValueNet] = {}
        self._ids: dict[int, str] = {}
        self.game: Game = make_game(settings.game.name, settings.game.options)

    def generate(self, plan: ShardPlan, path: str) -> ShardReport:
        """Play the shard's games, write its file, and say what it took."""
        began = time.perf_counter()
        self._forget_networks_before(min(plan.networks, default=0))
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
        """The players of a table, who of them has which seat (``int[G, P]``) and whose sequences are kept (``bool[G, P]``)."""
        if plan.seating is Seating.INITIAL:
            return self._seat_initial(plan, bits)
        newest = self._argmax_val(plan.networks[-1], meter)
        if plan.seating is Seating.EVERYBODY:
            return [newest], np.zeros(bits.shape, np.int64), np.ones(bits.shape, bool)
        imitations: list[Player] = [self._imitation(iteration) for iteration in plan.networks]
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

    def _argmax_val(self, iteration: int, meter: "LegalMassMeter") -> Player:
        meter.model = self._engine(iteration)
        return ArgmaxVal(meter, self._settings.search.argmax_val, f"argmax_val@{iteration:03d}")

    def _imitation(self, iteration: int) -> Player:
        return Imitation(self._engine(iteration), self._settings.search.imitation, f"imitation@{iteration:03d}")

    # ---- networks

    def _engine(self, iteration: int) -> QueryEngine:
        """An engine with lanes of its own over the network of an iteration; its weights are loaded once."""
        if iteration not in self._nets:
            path = self._checkpoint_of(iteration)
            self._nets[iteration] = load_weights(path, self.game).to(device_of(self._settings.device))
            self._ids[iteration] = checkpoint_id(path)
        utility = self.game.outcomes.utility(self._settings.search.argmax_val.utility)
        return QueryEngine(self._nets[iteration], utility, self._settings.device, self._settings.precision)

    def _forget_networks_before(self, iteration: int) -> None:
        """Networks that have left the pool give their memory back."""
        for old in [known for known in self._nets if known < iteration]:
            del self._nets[old]

    def _provenance(self, plan: ShardPlan) -> dict[str, str]:
        return {
            "run_seed": str(plan.run_seed),
            "iteration": str(plan.iteration),
            "shard": str(plan.shard),
            "seating": plan.seating.value,
            "checkpoints": " ".join(f"{iteration:03d}:{self._ids[iteration]}" for iteration in plan.networks),
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
