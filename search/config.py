"""Settings of the players and of the engines they ask, checked where they are made."""

from dataclasses import dataclass, field

from cluster.validation import at_least, one_of, require, within


@dataclass
class ArgmaxValConfig:
    """ArgmaxVal* (paper 001, equations 2 and 3)."""

    threshold: float = 0.05
    """Lambda: the least probability, normalised over the legal actions, of an action that may be chosen."""
    policy_weight: float = 0.0
    """What is added to the value for each unit of log p_legal, in units of the utility; 0 is the paper's rule, more
    follows the policy where values hardly differ: beyond the paper."""
    utility: str = ""
    """Name of the outcome utility v(o) that is maximised; empty for the game's default."""

    def __post_init__(self) -> None:
        within("argmax_val", self, 0, 1, "threshold")
        within("argmax_val", self, 0, 100, "policy_weight")


@dataclass
class ImitationConfig:
    """Sampling from the policy head over the legal actions (paper 001, section 6.1)."""

    temperature: float = 1.0
    """The policy is raised to ``1 / temperature`` before it is sampled; 1 is the policy itself."""

    def __post_init__(self) -> None:
        holds = 0 < self.temperature <= 100
        require(holds, "imitation", self, "temperature", "above 0 and at most 100")


@dataclass
class GoMctsConfig:
    """GO-MCTS (paper 001, Algorithm 3; the defaults are section 9.3's for Hearts)."""

    num_runs: int = 100
    """Simulations of every decision: the paper's N_runs."""
    num_steps: int = 2
    """Own moves of a rollout before the value is taken from the model, N_steps."""
    exploration: float = 0.4
    """C of UCT, in units of the utility."""
    threshold: float = 0.05
    """The least probability, normalised over the legal actions, of an action that becomes a child."""
    illegal_penalty: float = 0.01
    """Mu: what a simulation that ended in an impossible history takes from every node on its path."""
    lanes: int = 1
    """Simulations of a search in flight at once that see each other; 1 is Algorithm 3 itself, more fill the batch of a
    lone search."""
    speculative: int = 0
    """With one lane, the most simulations of a search in flight at once: all but the first on a guess, and rolled back
    where it was wrong, so that the tree does not depend on it. 1 for none; 0 for what fills a pass, at most 16."""
    virtual_loss: float = 0.0
    """What a simulation in flight lowers the expectation of its path by, in units of the utility, with more than one
    lane."""
    mask_impossible: bool = False
    """Whether tokens after which a history could not have happened are never sampled: beyond the paper."""
    prune_impossible: bool = False
    """Whether a simulation ends as soon as its history could not have happened, not only at its end: beyond the
    paper."""
    selection: str = "uct"
    """``uct`` (the paper), or ``puct``: exploration in proportion to the policy's prior."""
    seconds: float = 0.0
    """Wall time after which the searches of a batch begin no further simulations; 0 for no limit. Results then depend
    on the machine."""
    keep_subtree: bool = False
    """Whether a search starts from what the seat's search before it found out about what has happened since: beyond the
    paper."""
    utility: str = ""
    """Name of the outcome utility v(o) that is maximised; empty for the game's default."""

    def __post_init__(self) -> None:
        at_least("go_mcts", self, 1, "num_runs", "lanes")
        non_negative = ("num_steps", "speculative", "seconds", "virtual_loss", "exploration", "illegal_penalty")
        at_least("go_mcts", self, 0, *non_negative)
        one_of("go_mcts", self, ("uct", "puct"), "selection")
        sees = self.virtual_loss == 0 or self.lanes > 1
        require(sees, "go_mcts", self, "virtual_loss", "0 with go_mcts.lanes=1, as simulations do not see each other")
        guesses = self.speculative <= 1 or self.lanes == 1
        require(guesses, "go_mcts", self, "speculative", f"0 with go_mcts.lanes={self.lanes}, which takes its place")
        within("go_mcts", self, 0, 1, "threshold")


@dataclass
class PimcConfig:
    """PIMC (paper 001, Algorithm 2; the defaults are section 6.1's of the player it is compared with in Hearts)."""

    worlds: int = 50
    """Sampled deals that agree with what the seat has seen, n of Algorithm 2."""
    candidates: int = 0
    """Deals that the worlds are drawn from in proportion to how likely a network finds the others' actions in them; 0
    for worlds that are all equally likely, without a network."""
    evaluator: str = "uct"
    """What values the actions in a world, PerfectInfoVal of Algorithm 2: ``uct``, a search in which everybody sees all
    cards; ``playouts``, a playout by the game's scripted player after each action; ``network``, one by a network's
    policy, each seat seeing its own cards; ``value``, the same until the seat is to act again, and then the network's
    V(h); ``solver``, which Skat has alone, whether each card wins against the best play of all, and scripted playouts
    before the first card."""
    runs: int = 2000
    """Runs of UCT in every world."""
    exploration: float = 0.4
    """C of UCT, where the utility goes from 0 for the worst outcome to 1 for the best."""
    seconds: float = 0.0
    """Wall time for each decision, after which its worlds begin no further runs of UCT; drawing and weighing them
    counts. 0 for no limit. Results then depend on the machine."""
    cheat: bool = False
    """Whether all worlds are the true deal: no player, but the ceiling for one. The ``solver`` values it alike in every
    world, so one is enough."""
    utility: str = ""
    """Name of the outcome utility v(o) that every seat maximises; empty for the game's default."""

    def __post_init__(self) -> None:
        at_least("pimc", self, 1, "worlds", "runs")
        at_least("pimc", self, 0, "exploration", "seconds")
        one_of("pimc", self, ("uct", "playouts", "network", "value", "solver"), "evaluator")
        for key in ("runs", "exploration", "seconds"):
            default = getattr(PimcConfig, key)
            counts = self.evaluator == "uct" or getattr(self, key) == default
            require(counts, "pimc", self, key, f"{default} with pimc.evaluator={self.evaluator}; it is of uct alone")
        _check_candidates("pimc", self)

    @property
    def needs_model(self) -> bool:
        """Whether these settings ask a network."""
        return self.candidates > 0 or self.evaluator in ("network", "value")


@dataclass
class IsMctsConfig:
    """Information Set MCTS (Cowling, Powley and Whitehouse 2012)."""

    runs: int = 2000
    """Simulations of every decision."""
    exploration: float = 0.7
    """C of UCT; rewards lie between 0, the worst outcome of the game, and 1."""
    observers: str = "single"
    """``single``: one tree of what the deciding seat sees (SO-ISMCTS); ``multiple``: one for every seat (MO-ISMCTS);
    ``private``: the same, and the others' trees tell apart what they hold (as OpenSpiel's)."""
    seconds: float = 0.0
    """Wall time after which the searches of a batch begin no further simulations; 0 for no limit. Results then depend
    on the machine."""
    utility: str = ""
    """Name of the outcome utility v(o) that is maximised; empty for the game's default."""

    def __post_init__(self) -> None:
        at_least("is_mcts", self, 1, "runs")
        at_least("is_mcts", self, 0, "exploration", "seconds")
        one_of("is_mcts", self, ("single", "multiple", "private"), "observers")


@dataclass
class AlphaHeartsConfig:
    """AlphaHearts Zero (paper 002, "Monte Carlo Tree Search"; the defaults are those of "Experimental Details")."""

    worlds: int = 10
    """Sampled deals that agree with what the seat has seen, each searched by itself: the paper's determinizations."""
    iterations: int = 200
    """Iterations of the search in every world."""
    exploration: float = 1.0
    """K of UCB, where the utility goes from 0 for the worst outcome to 1 for the best."""
    cheat: bool = False
    """Whether the true deal is searched, once, instead of sampled ones: no player, but the ceiling for one."""
    utility: str = "own"
    """Name of the outcome utility that every seat maximises; ``own`` is the paper's share of points avoided, empty is
    the game's default."""
    seconds: float = 0.0
    """Wall time for each decision, after which its worlds begin no further iterations; drawing and weighing them
    counts. 0 for no limit. Results then depend on the machine."""
    selection: str = "uct"
    """``uct`` (the paper), or ``puct``: exploration in proportion to softmax(q), untried actions included; plays what
    was tried most often."""
    variance_penalty: float = 0.0
    """What is taken from an action's mean over the worlds for each unit of their standard deviation; 0 is the paper's
    rule, more avoids what is good in some worlds alone: beyond the paper."""
    candidates: int = 0
    """Deals that the worlds are drawn from in proportion to how likely the network ``beliefs`` finds the others'
    actions in them ("Further Work", Specific Sampling); 0 for worlds that are all equally likely, as in the paper."""
    beliefs: str = ""
    """Checkpoint of the network, told what seats have seen, that weighs the candidates: directory, URI or
    ``kibitz:NAME``; empty without candidates."""

    def __post_init__(self) -> None:
        at_least("alphahearts", self, 1, "worlds", "iterations")
        at_least("alphahearts", self, 0, "exploration", "seconds", "variance_penalty")
        one_of("alphahearts", self, ("uct", "puct"), "selection")
        varies = self.variance_penalty == 0 or self.worlds_searched > 1
        require(varies, "alphahearts", self, "variance_penalty", "0 where one world is searched")
        by_value = self.variance_penalty == 0 or self.selection == "uct"
        require(by_value, "alphahearts", self, "variance_penalty", "0 with selection=puct, which decides by visits")
        _check_cheat("alphahearts", self)
        _check_candidates("alphahearts", self)
        _check_beliefs("alphahearts", self)

    @property
    def worlds_searched(self) -> int:
        """How many deals a decision searches."""
        return 1 if self.cheat else self.worlds


@dataclass
class QValuesConfig:
    """The highest q without a search (paper 002, "Multi-agent Reinforcement Learning")."""

    worlds: int = 10
    """Sampled deals that agree with what the seat has seen, whose q are averaged."""
    cheat: bool = False
    """Whether the true deal is judged instead of sampled ones: no player, but the paper's rule Perfect Information."""
    candidates: int = 0
    """As ``alphahearts`` has it."""
    beliefs: str = ""
    """As ``alphahearts`` has it."""

    def __post_init__(self) -> None:
        at_least("q_values", self, 1, "worlds")
        _check_cheat("q_values", self)
        _check_candidates("q_values", self)
        _check_beliefs("q_values", self)


def _check_cheat(group: str, config: AlphaHeartsConfig | QValuesConfig) -> None:
    counts = not config.cheat or config.worlds in (1, type(config).worlds)
    require(counts, group, config, "worlds", f"1 with {group}.cheat=true, which looks at the true deal once")


def _check_candidates(group: str, config: PimcConfig | AlphaHeartsConfig | QValuesConfig) -> None:
    fits = config.candidates == 0 or (config.candidates >= config.worlds and not config.cheat)
    wanted = f"0, or at least {group}.worlds={config.worlds} with {group}.cheat=false"
    require(fits, group, config, "candidates", wanted)


def _check_beliefs(group: str, config: AlphaHeartsConfig | QValuesConfig) -> None:
    if config.candidates:
        wanted = f"the checkpoint of the network that weighs {group}.candidates={config.candidates}"
        require(bool(config.beliefs), group, config, "beliefs", wanted)
    else:
        wanted = f"empty with {group}.candidates=0, as there is nothing to weigh"
        require(not config.beliefs, group, config, "beliefs", wanted)


@dataclass
class SkatRulesConfig:
    """The rule-based Skat player; other values make other bidders."""

    aggression: float = 0.5
    """How bold it bids and declares: 0 takes odds of winning for 7 times lower than they are, 1 for 7 times higher."""
    noise: float = 0.0
    """Standard deviation of an error in judging the hand, one for each hand dealt, in the logarithm of the odds."""

    def __post_init__(self) -> None:
        within("skat_rules", self, 0, 1, "aggression")
        within("skat_rules", self, 0, 10, "noise")


@dataclass
class HeartsComplexConfig:
    """The rule-based Hearts player of paper 002."""

    cheat: bool = False
    """Whether its rules look at the true hidden cards."""


@dataclass
class OpenSpielConfig:
    """A bot of OpenSpiel's."""

    bot: str = "is_mcts"
    """``is_mcts``: Information Set MCTS with random rollouts; ``xinxin``: the Hearts program, where pyspiel was built
    with it."""
    simulations: int = 500
    """Simulations of a decision; for xinxin, in each of its 20 worlds."""
    exploration: float = 0.4
    """C of UCT; for ``is_mcts`` in units of the largest return."""

    def __post_init__(self) -> None:
        one_of("openspiel", self, ("is_mcts", "xinxin"), "bot")
        at_least("openspiel", self, 1, "simulations")
        at_least("openspiel", self, 0, "exploration")


@dataclass
class SearchConfig:
    """The settings of every player that has some; the group ``search`` of ``conf/``."""

    argmax_val: ArgmaxValConfig = field(default_factory=ArgmaxValConfig)
    imitation: ImitationConfig = field(default_factory=ImitationConfig)
    go_mcts: GoMctsConfig = field(default_factory=GoMctsConfig)
    pimc: PimcConfig = field(default_factory=PimcConfig)
    is_mcts: IsMctsConfig = field(default_factory=IsMctsConfig)
    alphahearts: AlphaHeartsConfig = field(default_factory=AlphaHeartsConfig)
    q_values: QValuesConfig = field(default_factory=QValuesConfig)
    skat_rules: SkatRulesConfig = field(default_factory=SkatRulesConfig)
    hearts_complex: HeartsComplexConfig = field(default_factory=HeartsComplexConfig)
    openspiel: OpenSpielConfig = field(default_factory=OpenSpielConfig)
