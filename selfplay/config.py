"""Configuration of a self-play run, checked before any work starts. YAML in ``conf/`` holds the values of presets."""

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from omegaconf import MISSING

from cluster.composing import overridden
from cluster.config import ClusterConfig
from cluster.validation import above, at_least, one_of, require, within
from cluster.watching.trackers import TRACKERS
from games.config import GameConfig
from learner.config import NETWORK_KINDS, EngineConfig, LearnerConfig
from search.arena.tournament.seatings import ALL, SEATINGS
from search.config import SearchConfig


@dataclass
class RunConfig:
    """Directory and seed of a run."""

    dir: str = MISSING
    """Run directory: a path or a URI such as ``s3://bucket/run``. The same command on it resumes."""
    seed: int = 0
    """Root of every random number of the run."""

    def __post_init__(self) -> None:
        within("run", self, 0, 2**63 - 1, "seed")


@dataclass
class InitialConfig:
    """Who plays the games of iteration 0 (paper 001, section 5.2): random players or a weak policy."""

    players: list[str] = field(default_factory=lambda: ["random"])
    """Players, with settings or their own network if they need one (``go_mcts:num_runs=20@DIR``). Every seat of every
    game draws one."""
    weights: list[float] = field(default_factory=list)
    """How often each of them is drawn, relative to the others; empty for all alike."""
    keep: list[str] = field(default_factory=list)
    """Players whose sequences are kept; empty keeps all."""
    successes: int = 0
    """For cooperative games: fewest full successes of every kind of deal (``Game.scenarios``) in a shard; it plays more
    deals of a kind with fewer (paper 001, section 6.3). 0 plays no more."""
    more_games: int = 0
    """Most deals that a shard adds for that; of each kind it keeps successes and as many failures."""
    shards: str = ""
    """Directory of shards, or URI, that are iteration 0's in place of games that ``players`` play, such as converted
    records; they stay where they are. Empty for none."""

    def __post_init__(self) -> None:
        group = "selfplay.initial"
        at_least(group, self, 0, "successes", "more_games")
        # Each alone plays no more deals, and a run of hours would lack the successes that were asked for.
        both = bool(self.successes) == bool(self.more_games)
        require(both, group, self, "more_games", "above 0 together with successes, else 0")
        once = len(set(self.players)) == len(self.players)
        require(once, group, self, "players", "names of players, once each")
        fits = not self.weights or (len(self.weights) == len(self.players) and min(self.weights) > 0)
        require(fits, group, self, "weights", "empty, or a number above 0 for each of the players")
        foreign = [name for name in self.keep if name not in self.players]
        if foreign:
            raise ValueError(f"{group}.keep names {', '.join(foreign)}, but only {', '.join(self.players)} play")


@dataclass
class GateConfig:
    """Beyond paper 001, as in 002: a new network plays the best one so far. Unless it is ahead, the run goes on from
    the best network, which also plays the final tournaments."""

    deals: int = 0
    """Deals that it plays against the best network so far, others in every iteration; 0 accepts every network."""
    margin: float = 0.0
    """Its lead must exceed this, in points a hand and seat (paper 002, "Further Work": 0.5)."""
    seating: str = ALL
    """Seating of these deals, see ``MatchConfig.seating``."""

    def __post_init__(self) -> None:
        at_least("selfplay.gate", self, 0, "deals", "margin")
        one_of("selfplay.gate", self, SEATINGS, "seating")


@dataclass
class GamesConfig:
    """How games are played into shards, in a run and by ``selfplay.generate``. The default players are the paper's
    (001, section 6.1)."""

    initial: InitialConfig = field(default_factory=InitialConfig)
    """The players while there is no network: iteration 0, or shards without checkpoints."""
    newest_player: str = "argmax_val"
    """Player with the newest network, with settings if need be (``go_mcts:num_runs=20``)."""
    earlier_player: str = "imitation"
    """Player with a network of the population, in the other seats."""
    branches: int = 0
    """Decisions of each kept sequence at which every legal action is played out in the true deal: targets for
    ``learner.loss.branch_weight`` and ``policy.kind=values``, made in iterations where a learner reads them; 0 for
    none."""
    branch_types: list[str] = field(default_factory=list)
    """Types of token that these decisions are (``my play``; docs/games/GAME.md lists them); empty for all."""
    branch_player: str = ""
    """Player of all seats in these playouts, without a network; empty for the game's scripted player, else
    ``random``."""
    branch_values: str = ""
    """Player that says, from what the seat has seen, what each action of these decisions is worth, in place of playouts
    (``pimc:...``): targets for ``learner.policy.kind=values`` alone. Empty for playouts."""
    newest_branch_player: str = ""
    """Player with the newest network in its place, for deals that networks played (``imitation``, ``argmax_val``);
    empty for ``branch_player`` in all."""
    branch_steps: int = 0
    """n > 0, with ``newest_branch_player``: a playout stops at the branched seat's n-th turn after the action, for what
    the network expects there; 0 plays all to the end."""
    labels: str = ""
    """Player that says for decisions of the kept sequences what it would have done: targets for
    ``learner.policy.kind=labels``, made in iterations where a learner reads them; empty for none."""
    label_share: float = 1.0
    """Share of the decisions that leave a choice which are labelled."""
    probabilities: bool = False
    """Keep the probabilities with which ``newest_player`` drew its actions, which ``learner.policy.kind=gradient``
    reads; for a player that draws from the network's policy as it is (``imitation``)."""
    games_per_shard: int = 10_000
    """Deals of one Parquet file: the unit of work that a dying actor loses. 0, in a run, for as many as occupy all
    generators that there are when an iteration begins."""
    games_per_table: int = 512
    """Deals a generator plays side by side; memory for keys and values grows with it."""

    def check_games(self, group: str = "", fewest_per_shard: int = 1) -> None:
        """``ValueError`` for sizes out of range and branches that contradict each other; ``group``: the one that these
        settings are in."""
        at_least(group, self, fewest_per_shard, "games_per_shard")
        at_least(group, self, 1, "games_per_table")
        above(group, self, 0, "label_share")
        within(group, self, 0, 1, "label_share")
        at_least(group, self, 0, "branches", "branch_steps")
        newest = bool(self.newest_branch_player)
        other = not self.branch_values or not (newest or self.branch_player)
        wanted = "empty with branch_player or newest_branch_player, which play out"
        require(other, group, self, "branch_values", wanted)
        why = "0 without newest_branch_player, whose network says what it expects"
        require(not self.branch_steps or newest, group, self, "branch_steps", why)


@dataclass
class SelfplayConfig(GamesConfig):
    """Games of each iteration and their players; the defaults are the paper's (001, section 6.1)."""

    first_network: str = ""
    """Checkpoint that is iteration 0, in place of games and a training: a directory, a URI or ``kibitz:NAME``, of the
    shape that ``model`` says. Empty for a network that learns from ``initial_games``."""
    initial_games: int = 4_000_000
    """Deals of iteration 0."""
    initial_games_per_shard: int = 0
    """Deals of one Parquet file of iteration 0; 0 for ``games_per_shard``."""
    iterations: int = 10
    """Iterations of self-play and retraining after iteration 0."""
    games_per_iteration: int = 500_000
    """Deals of every later iteration."""
    population: bool = True
    """From iteration 2 on, earlier networks play all seats but one, and only that seat's sequence is kept; false: the
    newest network plays every seat and all sequences are kept, as Q-networks need."""
    pool_size: int = 0
    """Number of newest earlier networks to draw imitations from; 0 for all (the paper's Skat: 10)."""
    replay_games: int = 0
    """Number of newest deals to learn from: all of the iteration's own, then earlier iterations' from their last shard
    on; whole shards. 0 for the iteration's own alone."""
    replay_from: int = 0
    """First iteration whose deals are learned from again: 1 leaves out those of iteration 0, whose branches hold
    what actions are worth in the play of its players. Iterations up to it learn from their own alone."""
    staleness: int = 0
    """Beyond the paper: number of newest networks that an iteration's players lack. 0: games, training and tournaments
    take turns. n > 0: games go on beside training and tournaments, up to n iterations ahead (``selfplay.overlap``)."""
    gate: GateConfig = field(default_factory=GateConfig)

    @property
    def first_games(self) -> int:
        """Deals that iteration 0 plays."""
        return 0 if self.first_network or self.initial.shards else self.initial_games

    def __post_init__(self) -> None:
        at_least("selfplay", self, 1, "initial_games", "games_per_iteration")
        at_least("selfplay", self, 0, "iterations", "pool_size", "replay_games", "initial_games_per_shard")
        at_least("selfplay", self, 0, "replay_from", "staleness")
        played = bool(self.initial.players or self.initial.shards)
        require(
            played, "selfplay.initial", self.initial, "players", "names of players; or [] with shards=DIR beside it"
        )
        self.check_games("selfplay", fewest_per_shard=0)


@dataclass
class MatchConfig:
    """One tournament: every deal in every seating of its players."""

    players: list[str] = MISSING
    """The entrants, e.g. ``[go_mcts, argmax_val]``: two; in a cooperative game or one of a single seat any number."""
    deals: int = 100
    """Deals; each is played in every seating."""
    seating: str = ALL
    """``all`` seat permutations (paper 001), or ``pairs``: North and South against East and West, and vice versa (paper
    002)."""
    game_options: dict[str, Any] = field(default_factory=dict)
    """Options of the game that differ in this tournament: those that say which deals come (``Game.dealing_options``),
    as a network plays with the others that it has learned."""

    def __post_init__(self) -> None:
        at_least("evaluation", self, 1, "deals")
        one_of("evaluation", self, SEATINGS, "seating")

    def game(self, game: GameConfig) -> GameConfig:
        """The run's game with the options of this tournament."""
        return replace(game, options={**game.options, **self.game_options})


@dataclass
class EvaluationConfig:
    """Tournaments during the run and at its end."""

    curve: list[MatchConfig] = field(default_factory=list)
    """Tournaments after every iteration, with its network: the learning curve."""
    curve_every: int = 1
    """n: they are played after every n-th iteration, from 0 on, and after the last one."""
    final: list[MatchConfig] = field(default_factory=list)
    """Tournaments with the last network, printed at the end."""
    table_size: int = 256
    """Deals times seatings that an evaluator plays side by side."""
    deals_per_task: int = 10
    """Deals of one task of an evaluator."""

    def __post_init__(self) -> None:
        at_least("evaluation", self, 1, "curve_every", "table_size", "deals_per_task")


def _differing(settings: dict[str, Any], others: dict[str, Any]) -> dict[str, Any]:
    """The settings whose values differ from ``others``, group by group."""
    differing = {key: value for key, value in settings.items() if value != others[key]}
    return {key: _differing(v, others[key]) if isinstance(v, dict) else v for key, v in differing.items()}


@dataclass
class TrainConfig:
    """A whole run: ``python -m selfplay``."""

    run: RunConfig = field(default_factory=RunConfig)
    game: GameConfig = MISSING
    model: Any = field(default=MISSING, metadata=NETWORK_KINDS)
    """``learner.config.NetworkConfig`` of the chosen kind."""
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    initial_learner: dict[str, Any] = field(default_factory=dict)
    """Settings of ``learner`` that differ in iteration 0, where the network is new. With ``rate_factor`` its rate is
    that many times ``learner``'s, unless it has a ``learning_rate`` of its own."""
    selfplay: SelfplayConfig = field(default_factory=SelfplayConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    engine: EngineConfig = field(default_factory=EngineConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)
    tracker: str = "tensorboard"
    """Where the run's values go beside ``metrics.jsonl``: ``none``, ``tensorboard``, ``mlflow`` or ``wandb``."""

    def __post_init__(self) -> None:
        one_of("", self, TRACKERS, "tracker")
        self.initial_learner = _differing(asdict(self.first_learner), asdict(self.learner))

    @property
    def first_learner(self) -> LearnerConfig:
        """The learner's settings for iteration 0."""
        others = dict(self.initial_learner)
        factor = others.pop("rate_factor", 1.0)
        if type(factor) not in (int, float) or not 0 < factor < math.inf:
            raise ValueError(f"initial_learner.rate_factor={factor}: must be a number above 0")
        return overridden(
            self.learner, {"learning_rate": self.learner.learning_rate * factor, **others}, "initial_learner"
        )


@dataclass
class DoctorRunConfig(RunConfig):
    """A run whose directory is optional."""

    dir: str = ""
    """Run directory: a path or a URI such as ``s3://bucket/run``; empty to check the machines alone."""


@dataclass
class DoctorConfig(TrainConfig):
    """Checks before a run: ``kibitz doctor``."""

    run: DoctorRunConfig = field(default_factory=DoctorRunConfig)
    gpu: bool = False
    """Measure this machine's GPUs with the network and the settings of the run, without Ray, in place of the checks of
    a cluster; ``--gpu`` says the same, and ``engine.device=cpu`` beside it tries it without one. The last line is
    JSON."""
    gpu_seconds: float = 10.0
    """Seconds of each measurement of speed; there are about ten, each warmed up for as long."""

    def __post_init__(self) -> None:
        super().__post_init__()
        above("", self, 0, "gpu_seconds")


@dataclass
class GenerateConfig(GamesConfig):
    """Shards alone: ``python -m selfplay.generate``."""

    game: GameConfig = MISSING
    out: str = MISSING
    """Directory of the shards."""
    games: int = 10_000
    """Deals in all."""
    seed: int = 0
    """Root of every random number."""
    checkpoints: list[str] = field(default_factory=list)
    """Networks that play, oldest first."""
    search: SearchConfig = field(default_factory=SearchConfig)
    engine: EngineConfig = field(default_factory=EngineConfig)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)

    def __post_init__(self) -> None:
        at_least("", self, 1, "games")
        at_least("", self, 0, "seed")
        self.check_games()
        # Else hours of games would be played in the place of those that exist.
        require(not self.initial.shards, "initial", self.initial, "shards", "empty: these games are played")


@dataclass
class LabelConfig:
    """Labels for shards that exist: ``python -m selfplay.label``."""

    game: GameConfig = MISSING
    data: str = MISSING
    """Directory of the shards, or URI."""
    player: str = MISSING
    """Player that labels; one with a network names it, as in ``argmax_val@DIR``."""
    out: str = MISSING
    """Directory of the labelled shards; those of ``data`` stay as they are."""
    share: float = 1.0
    """Share of the decisions that leave a choice which are labelled."""
    seed: int = 0
    """Root of every random number."""
    search: SearchConfig = field(default_factory=SearchConfig)
    engine: EngineConfig = field(default_factory=EngineConfig)

    def __post_init__(self) -> None:
        above("", self, 0, "share")
        within("", self, 0, 1, "share")
        at_least("", self, 0, "seed")
