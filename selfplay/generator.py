"""Plays the games of one shard and writes it: the whole work of a generator actor, without Ray.

Letters: ``G`` games of a table, ``P`` seats, ``N`` kept sequences.
"""

from collections.abc import Mapping, Sequence
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
from search.config import SearchConfig
from search.players.kinds import Told
from search.players.memory import check_deals, check_shard
from search.players.player import Player
from search.players.table import play_table
from search.roster import kinds
from search.roster.engines import Engines, check_cache
from search.roster.registry import (
    check_decisions,
    check_names,
    check_networks,
    further_networks,
    make_players,
    needs_model,
    own_checkpoints,
    seat_players,
)
from search.roster.spec import PlayerSpec, parse
from selfplay.branches import branch
from selfplay.config import GamesConfig
from selfplay.meter import Meter, MeteredModel
from selfplay.plan import Seating, ShardPlan, seats
from selfplay.successes import Played, Successes, play_on, told


@dataclass(frozen=True)
class GeneratorSettings:
    """What every generator of a run shares."""

    game: GameConfig
    search: SearchConfig
    engine: EngineConfig
    games: GamesConfig
    branched: tuple[bool, bool] = (True, True)
    """Whether iteration 0, and later ones, have such branches at all: only where a learner reads them."""


@dataclass(frozen=True)
class ShardReport:
    """What generating one shard took."""

    games: int
    decisions: int
    """Turns decided in games with networks."""
    illegal_mass: float
    """Mean probability that networks gave to tokens that were not legal when they were to move; 0 without any."""
    batch_fill: float
    """Mean rows of a forward pass as a part of the table's deals, over all networks; 0 without any."""


def check_players(
    settings: GeneratorSettings,
    game: Game,
    told: Told = "histories",
    networks: Sequence[str] = (),
) -> list[str]:
    """Check everybody who plays, before any work.

    Args:
        told: what the run's networks are told. Those of whole deals play in every seat, so nobody is an earlier player.
        networks: checkpoints that play beside those which players of iteration 0 bring.

    Returns:
        What the tables take in memory of all these networks, for people to read.

    Raises:
        ValueError: a player that cannot play here, a network that is missing or does not fit; one line.
    """
    games, initial = settings.games, settings.games.initial
    check_names(list(initial.players), game, given=(), search=settings.search)
    if initial.successes and not game.cooperative:
        raise ValueError(f"initial.successes={initial.successes}: {game.name} is no cooperative game; give 0")
    asked = {"newest_player": games.newest_player}
    if told == "histories":
        asked["earlier_player"] = games.earlier_player
    for key, name in asked.items():
        check_names([name], game, search=settings.search)
        spec = parse(name)
        if spec.checkpoint or not needs_model(spec, settings.search):
            raise ValueError(f"{key}={name}: it plays a network of the run; name a player that asks one, without @DIR")
        if kinds.find(spec.kind).told != told:
            raise ValueError(
                f"{key}={name}: it asks a network that is told {kinds.find(spec.kind).told}, and those of this run are "
                f"told {told}; name another"
            )
    if games.branches:
        if games.branches > game.max_length:
            raise ValueError(
                f"branches={games.branches}: no sequence of {game.name} has more than {game.max_length} decisions; "
                "give at most so many"
            )
        name = kinds.playout_player(games.branch_player, game)
        check_names([name], game, search=settings.search)
        if needs_model(parse(name), settings.search):
            raise ValueError(
                f"branch_player={name}: deals are played out without networks; name a player that needs none"
            )
    if told == "states" and len(networks) > 1:
        raise ValueError(f"checkpoints: {games.newest_player} sits at every seat, so give one of {len(networks)}")
    said, key = [], f"games_per_table={games.games_per_table}"
    run = parse(games.newest_player)
    brought = [*map(parse, [*initial.players, *asked.values()]), *(replace(run, checkpoint=path) for path in networks)]
    for arch in check_networks(brought, game, settings.search):
        said.append(check_cache(arch, settings.engine, games.games_per_table * game.num_players, key))
    return said


def check_memory(settings: GeneratorSettings, game: Game, shards: Mapping[str, int], group: str = "") -> None:
    """``UserError`` where this machine has not the memory for a decision of whoever plays, for a table or for a shard.

    Args:
        shards: setting with its value -> deals of a shard that it asks for.
        group: that ``settings`` are of, with a dot behind it.
    """
    games, initial = settings.games, settings.games.initial
    branch = [kinds.playout_player(games.branch_player, game)] if games.branches else []
    names = [*initial.players, games.newest_player, games.earlier_player, *branch]
    check_decisions(map(parse, names), game, settings.search)
    at_once = min(games.games_per_table, max(shards.values()))
    check_deals(game, at_once, f"{group}games_per_table={games.games_per_table}")
    for key, deals in shards.items():
        check_shard(game, deals, games.branches, key)


class Generator:
    """Plays shards; the engines of their networks stay from one to the next."""

    def __init__(self, settings: GeneratorSettings) -> None:
        self._settings = settings
        self.game: Game = make_game(settings.game.name, settings.game.options)
        self._engines = Engines(self.game, settings.engine)
        self._branch_player = kinds.playout_player(settings.games.branch_player, self.game)
        self._decisions = 0

    @logged("{1}")
    @needing_memory("playing games", "games_per_table, engine.cache_mb or engine.max_batch")
    def generate(self, plan: ShardPlan, path: str) -> ShardReport:
        """Play the shard's games, write its file, and say what it took."""
        meter = Meter()
        specs, names = self._seated(plan)
        try:
            with self._engines.serving(own_checkpoints(specs, self._settings.search)):
                players = seat_players(
                    specs, names, self.game, self._settings.search, self._engines, lambda m: MeteredModel(m, meter)
                )
                kept, decisions, counts = self._play(plan, players, any(spec.checkpoint for spec in specs))
        finally:  # whoever asks next has counted this shard already
            self._decisions = 0
        write_shard(path, kept, self.game, self._provenance(plan, specs) | told(*counts))
        return ShardReport(
            games=plan.num_games,
            decisions=decisions,
            illegal_mass=meter.illegal_mass,
            batch_fill=meter.batch_fill(self._settings.games.games_per_table),
        )

    def progress(self) -> dict[str, float]:
        """Decisions taken so far in the shard under way, and 1 while kernels compile; asked from another thread."""
        return {"decisions": self._decisions, "compiling": compiling.under_way}

    def _note(self, ended: int, decisions: int) -> None:
        self._decisions += decisions

    def _play(
        self, plan: ShardPlan, players: Sequence[Player], networks: bool
    ) -> tuple[Sequences, int, tuple[Successes, Successes | None]]:
        """The shard's games: the kept sequences, the decisions taken where ``networks`` play, and what succeeded, of
        the planned games and of those played for rare successes."""
        played = self._deals(plan, players, plan.deal_seeds(), plan.seat_bits(self.game.num_players))
        planned, more = Successes.of(self.game, played.states, played.labels), None
        if plan.seating is Seating.INITIAL and plan.initial.successes:
            played, more = self._play_on(plan, players, played)
        sequences = self._sequences(plan, players, played)
        return sequences, played.decisions if networks else 0, (planned, more)

    def _deals(self, plan: ShardPlan, players: Sequence[Player], seeds: np.ndarray, bits: np.ndarray) -> Played:
        """Deals of ``seeds``, played by whom ``bits`` seat."""
        seating, keep = seats(plan, bits)
        if [player.name for player in players] == ["random"]:
            states = self.game.deal(seeds)
            self.game.playout(states, bits[:, 0])
            return Played(seeds, states, self.game.outcome(states), seating, keep, 0)
        size, secret = self._settings.games.games_per_table, derive(plan.run_seed, "decisions")
        result = play_table(self.game, players, seating, seeds, size, on_progress=self._note, secret=secret)
        return Played(seeds, result.states, result.labels, seating, keep, int(result.decisions.sum()))

    def _play_on(self, plan: ShardPlan, players: Sequence[Player], played: Played) -> tuple[Played, Successes]:
        """More deals of the kinds that seldom succeed, seated by bits of their own."""
        salt = derive(plan.run_seed, "seating of more", plan.iteration, plan.shard)
        places = np.arange(self.game.num_players, dtype=np.uint64)

        def play(seeds: np.ndarray) -> Played:
            return self._deals(plan, players, seeds, mix(mix(seeds, salt)[:, None], places[None]))

        initial, seed = plan.initial, derive(plan.run_seed, "more deals", plan.iteration, plan.shard)
        return play_on(self.game, played, play, initial.successes, initial.more_games, seed)

    def _sequences(self, plan: ShardPlan, players: Sequence[Player], played: Played) -> Sequences:
        """What is kept of the deals."""
        rows, seat = np.nonzero(played.keep)
        names = np.array([player.name for player in players], object)
        sequences = Sequences(
            tokens=self.game.histories(played.states[rows], seat)[0],
            outcome=played.labels[rows, seat],
            seat=seat,
            player=names[played.seating[rows, seat]],
            deal_seed=played.seeds[rows],
            game=rows,
        )
        if self._branched(plan):
            sequences = replace(sequences, branches=self._branches(plan, played.states, sequences))
        return sequences

    def _branched(self, plan: ShardPlan) -> bool:
        return self._settings.games.branches > 0 and self._settings.branched[plan.iteration > 0]

    def _branches(self, plan: ShardPlan, ended: np.ndarray, sequences: Sequences) -> Branches:
        settings, name = self._settings, self._branch_player
        (player,) = make_players([name], self.game, settings.search, engines=self._engines)
        seed = derive(plan.run_seed, "branches", plan.iteration, plan.shard)
        return branch(self.game, ended, sequences, None if name == "random" else player, settings.games.branches, seed)

    # ---- players and their networks

    def _seated(self, plan: ShardPlan) -> tuple[list[PlayerSpec], list[str]]:
        """Everybody who plays and what the shard calls them, in the order that ``selfplay.plan.seats`` numbers them."""
        if plan.seating is Seating.INITIAL:
            return [parse(name) for name in plan.initial.players], list(plan.initial.players)
        newest, earlier = parse(self._settings.games.newest_player), parse(self._settings.games.earlier_player)
        seated = [(newest, plan.networks[-1])]
        if plan.seating is Seating.POPULATION:
            seated += [(earlier, network) for network in plan.networks]
        specs = [replace(spec, checkpoint=network.path) for spec, network in seated]
        return specs, [f"{spec.name}@{network.name}" for spec, network in seated]

    def _provenance(self, plan: ShardPlan, specs: Sequence[PlayerSpec]) -> dict[str, str]:
        networks = [(network.name, network.path) for network in plan.networks]
        if plan.seating is Seating.INITIAL:
            networks = [(spec.name, spec.checkpoint) for spec in specs if spec.checkpoint]
        further = [further_networks(spec, self._settings.search) for spec in specs]
        networks += dict.fromkeys((path, path) for paths in further for path in paths)
        ids = {path: self._engines.checkpoint_id(path) for _, path in networks}
        branches = f"{self._settings.games.branches} decisions of each sequence, played out by {self._branch_player}"
        return {
            **({"branches": branches} if self._branched(plan) else {}),
            "run_seed": str(plan.run_seed),
            "iteration": str(plan.iteration),
            "shard": str(plan.shard),
            "seating": plan.seating.value,
            "checkpoints": " ".join(f"{name}:{ids[path]}" for name, path in networks),
        }
