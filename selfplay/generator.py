"""Plays the games of one shard and writes it: the whole work of a generator actor, without Ray.

Letters: ``G`` games of a table, ``P`` seats, ``N`` kept sequences.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cluster.storage import local_copy
from games.config import GameConfig
from games.game import Game
from games.registry import make_game
from games.rng import derive
from games.shards import Sequences, write_shard
from learner.config import EngineConfig
from learner.model.checkpoint import checkpoint_id, load_weights
from learner.model.network import PolicyValueNet
from learner.observation_model import ObservationModel
from search.config import SearchConfig
from search.players.argmax_val import ArgmaxVal
from search.players.imitation import Imitation
from search.players.player import Player
from search.players.registry import make_model, make_model_free
from search.table import play_table
from selfplay.meter import Meter, MeteredModel
from selfplay.plan import Network, Seating, ShardPlan, seats


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
    """Turns decided in games with networks."""
    seconds: float
    illegal_mass: float
    """Mean probability the newest network gave to tokens that were not legal when it was to move; 0 without one."""
    batch_fill: float
    """Mean rows of a forward pass as a part of the table's deals, over all networks; 0 without any."""


class Generator:
    """Plays shards; networks stay loaded between them."""

    def __init__(self, settings: GeneratorSettings) -> None:
        self._settings = settings
        self._nets: dict[Network, PolicyValueNet] = {}
        self._ids: dict[Network, str] = {}
        self.game: Game = make_game(settings.game.name, settings.game.options)
        self._decisions = 0

    def generate(self, plan: ShardPlan, path: str) -> ShardReport:
        """Play the shard's games, write its file, and say what it took."""
        began = time.perf_counter()
        self._decisions = 0
        self._load(plan.networks)
        meter = Meter()
        players = self._players(plan, meter)
        kept, decisions = self._play(plan, players)
        write_shard(path, kept, self.game, self._provenance(plan))
        return ShardReport(
            path=path,
            iteration=plan.iteration,
            shard=plan.shard,
            games=plan.num_games,
            sequences=len(kept),
            decisions=decisions,
            seconds=time.perf_counter() - began,
            illegal_mass=meter.illegal_mass,
            batch_fill=meter.batch_fill(self._settings.games_per_table),
        )

    def progress(self) -> dict[str, float]:
        """Decisions taken so far in the shard under way; asked from another thread."""
        return {"decisions": self._decisions}

    def _note(self, decisions: int) -> None:
        self._decisions += decisions

    def pid(self) -> int:
        """Process id, for operators and for tests that kill it."""
        return os.getpid()

    def _play(self, plan: ShardPlan, players: Sequence[Player]) -> tuple[Sequences, int]:
        """The shard's games: the kept sequences, and the decisions that asked a network."""
        seeds, bits = plan.deal_seeds(), plan.seat_bits(self.game.num_players)
        seating, keep = seats(plan, bits)
        if [player.name for player in players] == ["random"]:
            states = self.game.deal(seeds)
            self.game.playout(states, bits[:, 0])
            labels, decisions = self.game.outcome(states), 0
        else:
            size, secret = self._settings.games_per_table, derive(plan.run_seed, "decisions")
            result = play_table(self.game, players, seating, seeds, size, on_decisions=self._note, secret=secret)
            states, labels = result.states, result.labels
            decisions = int(result.decisions.sum()) if plan.networks else 0
        rows, seat = np.nonzero(keep)
        names = np.array([player.name for player in players], object)
        sequences = Sequences(
            tokens=self.game.histories(states[rows], seat)[0],
            outcome=labels[rows, seat],
            seat=seat,
            player=names[seating[rows, seat]],
            deal_seed=seeds[rows],
            game=rows,
        )
        return sequences, decisions

    # ---- players and their networks

    def _players(self, plan: ShardPlan, meter: Meter) -> list[Player]:
        """Everybody who plays, in the order that ``selfplay.plan.seats`` numbers them."""
        if plan.seating is Seating.INITIAL:
            return [make_model_free(name, self.game) for name in plan.initial.players]
        search, newest = self._settings.search, plan.networks[-1]
        argmax_val = ArgmaxVal(self._model(newest, meter), search.argmax_val, f"argmax_val@{newest.name}")
        imitated = plan.networks if plan.seating is Seating.POPULATION else ()
        return [
            argmax_val,
            *(Imitation(self._model(net, meter), search.imitation, f"imitation@{net.name}") for net in imitated),
        ]

    def _load(self, networks: Sequence[Network]) -> None:
        """Have these networks in memory and no others; what was there already stays."""
        self._nets = {network: net for network, net in self._nets.items() if network in networks}
        for network in networks:
            if network not in self._nets:
                path = local_copy(network.path)
                self._nets[network] = load_weights(path, self.game)
                self._ids[network] = checkpoint_id(path)

    def _model(self, network: Network, meter: Meter) -> ObservationModel:
        """An engine with a cache of its own over a loaded network."""
        utility = self.game.outcomes.utility(self._settings.search.argmax_val.utility)
        return MeteredModel(make_model(self._nets[network], utility, self._settings.engine), meter)

    def _provenance(self, plan: ShardPlan) -> dict[str, str]:
        return {
            "run_seed": str(plan.run_seed),
            "iteration": str(plan.iteration),
            "shard": str(plan.shard),
            "seating": plan.seating.value,
            "checkpoints": " ".join(f"{network.name}:{self._ids[network]}" for network in plan.networks),
        }
