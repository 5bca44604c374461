"""Plays the games of one shard and writes it: the whole work of a generator actor, without Ray.

Letters: ``G`` games of a table, ``P`` seats, ``N`` kept sequences.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cluster.errors import needing_memory
from cluster.watching.logs import logged
from games.branches import Branches
from games.compiling import compiling
from games.config import GameConfig
from games.game import Game
from games.registry import make_game
from games.rng import derive, mix
from games.shards import Sequences, write_shard
from learner.config import EngineConfig
from learner.devices import on_lent_device
from learner.observation_model import ObservationModel
from search.config import SearchConfig
from search.players.beginnings import Beginnings
from search.players.player import Player
from search.players.table import play_table
from search.roster import kinds
from search.roster.engines import Engines
from search.roster.registry import Entrant, make_players, networks_of, resolve, seat_players
from selfplay import targets
from selfplay.branch_values import valued
from selfplay.branches import DRAWS, ByNetwork, branch
from selfplay.config import GamesConfig, TrainConfig
from selfplay.labels import label, labeller, labels_by
from selfplay.meter import Meter, MeteredModel
from selfplay.plan import Seating, ShardPlan, seats
from selfplay.successes import Played, Successes, play_on, success_metadata


@dataclass(frozen=True)
class GeneratorSettings:
    """Settings shared by all generators of a run."""

    game: GameConfig
    search: SearchConfig
    engine: EngineConfig
    games: GamesConfig
    branched: tuple[bool, bool] = (True, True)
    """Whether iteration 0, and later ones, have branches: only where a learner reads them."""
    labelled: tuple[bool, bool] = (True, True)
    """Whether iteration 0, and later ones, have labels."""


def generator_settings(config: TrainConfig) -> GeneratorSettings:
    """The generators' settings."""
    return GeneratorSettings(
        game=config.game,
        search=config.search,
        engine=on_lent_device(config.engine, config.cluster.generator_gpus),
        games=config.selfplay,
        branched=targets.read_by(config, "branches"),
        labelled=targets.read_by(config, "labels"),
    )


@dataclass(frozen=True)
class ShardReport:
    """Figures of generating one shard."""

    plan: ShardPlan
    games: int
    decisions: int
    """Turns decided in games with networks."""
    illegal_mass: float
    """Mean probability of illegal tokens under the networks' policies; 0 without networks."""
    batch_fill: float
    """Mean rows of a forward pass divided by the table's deals, over all networks; 0 without networks."""


class Generator:
    """Plays shards; keeps the engines of networks between shards."""

    def __init__(self, settings: GeneratorSettings) -> None:
        self._settings = settings
        self.game: Game = make_game(settings.game.name, settings.game.options)
        self.engines = Engines(self.game, settings.engine)
        labels = settings.games.labels
        self._labeller = labeller(labels, "labels", self.game, settings.search) if labels else None
        values = settings.games.branch_values
        self._valuer = labeller(values, "branch_values", self.game, settings.search) if values else None
        self._branch_player = kinds.playout_player(settings.games.branch_player, self.game)
        self._decisions = 0

    @logged("{1}")
    @needing_memory("playing games", "games_per_table, engine.cache_mb, engine.max_batch or how many share a GPU")
    def generate(self, plan: ShardPlan, path: str) -> ShardReport:
        """Play the shard's games and write its file."""
        meter = Meter()
        entrants, names = self.seated(plan)
        helpers = [helper for helper in (self._labelled_by(plan), self._valued_by(plan)) if helper]
        try:
            with self.engines.serving(networks_of([*entrants, *helpers])):
                players = seat_players(entrants, names, self.game, self.engines, lambda m: MeteredModel(m, meter))
                kept, decisions, counts = self._play(plan, players, any(entrant.checkpoint for entrant in entrants))
        finally:  # the caller has counted this shard by the next query
            self._decisions = 0
        write_shard(path, kept, self.game, self._provenance(plan, entrants) | success_metadata(*counts))
        return ShardReport(
            plan=plan,
            games=plan.num_games,
            decisions=decisions,
            illegal_mass=meter.illegal_mass,
            batch_fill=meter.batch_fill(self._settings.games.games_per_table),
        )

    def progress(self) -> dict[str, float]:
        """Decisions so far in the current shard, and 1 while kernels compile; called from another thread."""
        return {"decisions": self._decisions, "compiling": compiling.under_way}

    def _note(self, ended: int, decisions: int) -> None:
        self._decisions += decisions

    def _play(
        self, plan: ShardPlan, players: Sequence[Player], networks: bool
    ) -> tuple[Sequences, int, tuple[Successes, Successes | None]]:
        """The shard's games: kept sequences, number of decisions (0 without ``networks``), and successes of the planned
        games and of the games added for rare successes."""
        played = self._deals(plan, players, plan.deal_seeds(), plan.seat_bits(self.game.num_players))
        planned, more = Successes.of(self.game, played.states, played.labels), None
        if plan.seating is Seating.INITIAL and plan.initial.successes:
            played, more = self._play_on(plan, players, played)
        sequences = self._sequences(plan, players, played)
        return sequences, played.decisions if networks else 0, (planned, more)

    def _deals(self, plan: ShardPlan, players: Sequence[Player], seeds: np.ndarray, bits: np.ndarray) -> Played:
        """Play the deals of ``seeds``, seated by ``bits``."""
        seating, keep = seats(plan, bits)
        if [player.name for player in players] == ["random"]:
            states = self.game.deal(seeds)
            self.game.playout(states, bits[:, 0])
            return Played(seeds, states, self.game.outcome(states), seating, keep, 0)
        size, secret = self._settings.games.games_per_table, derive(plan.run_seed, "decisions")
        drawn = self._settings.games.probabilities and plan.seating is not Seating.INITIAL
        result = play_table(
            self.game,
            players,
            seating,
            seeds,
            size,
            on_progress=self._note,
            secret=secret,
            with_probabilities=drawn,
        )
        decisions = int(result.decisions.sum())
        return Played(seeds, result.states, result.labels, seating, keep, decisions, result.probabilities)

    def _play_on(self, plan: ShardPlan, players: Sequence[Player], played: Played) -> tuple[Played, Successes]:
        """Play more deals of the kinds that seldom succeed, seated by their own bits."""
        salt = derive(plan.run_seed, "seating of more", plan.iteration, plan.shard)
        places = np.arange(self.game.num_players, dtype=np.uint64)

        def play(seeds: np.ndarray) -> Played:
            return self._deals(plan, players, seeds, mix(mix(seeds, salt)[:, None], places[None]))

        initial, seed = plan.initial, derive(plan.run_seed, "more deals", plan.iteration, plan.shard)
        return play_on(self.game, played, play, initial.successes, initial.more_games, seed)

    def _sequences(self, plan: ShardPlan, players: Sequence[Player], played: Played) -> Sequences:
        """The kept sequences of the deals."""
        names = np.array([player.name for player in players], object)[played.seating]
        drawn = played.probabilities
        sequences = Sequences.of_deals(self.game, played.states, played.seeds, names, played.keep, probabilities=drawn)
        if self._branched(plan):
            sequences = replace(sequences, branches=self._branches(plan, played.states, sequences))
        if entrant := self._labelled_by(plan):
            sequences = replace(sequences, labels=self._labels(plan, sequences, entrant))
        return sequences

    def _branched(self, plan: ShardPlan) -> bool:
        return self._settings.games.branches > 0 and self._settings.branched[plan.iteration > 0]

    def _labelled_by(self, plan: ShardPlan) -> Entrant | None:
        """The player that labels the shard, if one does."""
        return self._labeller if self._settings.labelled[plan.iteration > 0] else None

    def _valued_by(self, plan: ShardPlan) -> Entrant | None:
        """The player that values the shard's branches, if one does."""
        return self._valuer if self._branched(plan) else None

    def _labels(self, plan: ShardPlan, sequences: Sequences, entrant: Entrant) -> np.ndarray:
        games, seed = self._settings.games, derive(plan.run_seed, "labels", plan.iteration, plan.shard)
        (player,) = seat_players([entrant], [entrant.name], self.game, self.engines)
        at_once = games.games_per_table * self.game.num_players
        return label(self.game, sequences, player, games.label_share, seed, at_once)

    def _branches(self, plan: ShardPlan, ended: np.ndarray, sequences: Sequences) -> Branches:
        games, seed = self._settings.games, derive(plan.run_seed, "branches", plan.iteration, plan.shard)
        drawn = games.branches, seed, games.branch_types
        if self._newest_branches(plan):
            player, network = self._newest_branch_player(plan)
            return branch(self.game, ended, sequences, player, *drawn, network)
        if entrant := self._valued_by(plan):
            (player,) = seat_players([entrant], [entrant.name], self.game, self.engines)
            return valued(self.game, sequences, player, *drawn)
        name = self._branch_player
        (player,) = make_players([name], self.game, self._settings.search, engines=self.engines)
        return branch(self.game, ended, sequences, None if name == "random" else player, *drawn)

    def _newest_branches(self, plan: ShardPlan) -> str:
        """The player with the newest network that plays branches out; empty where none does."""
        return "" if plan.seating is Seating.INITIAL else self._settings.games.newest_branch_player

    def _newest_branch_player(self, plan: ShardPlan) -> tuple[Player, ByNetwork]:
        games, models = self._settings.games, list[Beginnings]()

        def beginnings(model: ObservationModel) -> ObservationModel:
            models.append(Beginnings(model))
            return models[-1]

        (entrant,) = resolve([games.newest_branch_player], self.game, self._settings.search)
        entrant = entrant.with_network(plan.networks[-1].path)
        (player,) = seat_players([entrant], [entrant.name], self.game, self.engines, beginnings)
        model = models[0] if entrant.kind.model_input == "histories" else None
        return player, ByNetwork(games.games_per_table, model, games.branch_steps)

    # ---- players and their networks

    def seated(self, plan: ShardPlan) -> tuple[list[Entrant], list[str]]:
        """All players and their names in the shard, in the order that ``selfplay.plan.seats`` numbers them."""
        games, search = self._settings.games, self._settings.search
        if plan.seating is Seating.INITIAL:
            return resolve(plan.initial.players, self.game, search), plan.initial.players
        seated = [(games.newest_player, plan.networks[-1])]
        if plan.seating is Seating.POPULATION:
            seated += [(games.earlier_player, network) for network in plan.networks]
        found = resolve([name for name, _ in seated], self.game, search)
        entrants = [entrant.with_network(network.path) for entrant, (_, network) in zip(found, seated, strict=True)]
        return entrants, [f"{name}@{network.name}" for name, network in seated]

    def _provenance(self, plan: ShardPlan, entrants: Sequence[Entrant]) -> dict[str, str]:
        networks = [(network.name, network.path) for network in plan.networks]
        if plan.seating is Seating.INITIAL:
            networks = [(entrant.name, entrant.checkpoint) for entrant in entrants if entrant.checkpoint]
        ids = {path: self.engines.checkpoint_id(path) for _, path in networks}
        return {
            **({"branches": self._branches_by(plan)} if self._branched(plan) else {}),
            **({"labels": labels_by(labels, self.engines)} if (labels := self._labelled_by(plan)) else {}),
            "run_seed": str(plan.run_seed),
            "iteration": str(plan.iteration),
            "shard": str(plan.shard),
            "seating": plan.seating.value,
            "checkpoints": " ".join(f"{name}:{ids[path]}" for name, path in networks),
        }

    def _branches_by(self, plan: ShardPlan) -> str:
        """What a shard says of its branches."""
        games, newest = self._settings.games, self._newest_branches(plan)
        player = f"{newest}@{plan.networks[-1].name}" if newest else self._branch_player
        types = f" ({', '.join(games.branch_types)})" if games.branch_types else ""
        said = f"{games.branches} decisions of each sequence{types}, "
        if entrant := self._valued_by(plan):
            return f"{said}valued by {labels_by(entrant, self.engines)}"
        said += f"played out by {player}"
        if newest and games.branch_steps:
            said += f" to turn {games.branch_steps} of the seat, {DRAWS} outcomes expected there"
        return said
