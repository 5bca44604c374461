"""The record that declares a kind of network, once; training, self-play, players and the docs read it.

The folder of every kind ends with its record; ``learner.kinds`` lists them. A package of your own offers one as an
entry point of the group ``kibitz.models`` (``games.plugins``). Nothing here loads torch: the functions of a record do,
when they are called.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from games.game import Game
from learner.config import EngineConfig, LearnerConfig, NetworkConfig

if TYPE_CHECKING:
    from pathlib import Path

    from learner.model.checkpoint import Network
    from learner.training.parallel import Group

ModelInput = Literal["histories", "states", "decisions"]
"""What a network reads: what one seat has seen (``learner.observation_model.ObservationModel``), a whole deal
(``learner.state_model.StateModel``), or features of one decision (``learner.decision_model.DecisionModel``)."""


@dataclass(frozen=True)
class NetworkKind:
    """Everything that differs between kinds of network. In what follows ``config`` is an instance of the dataclass, and
    ``arch`` is what ``architecture`` returns."""

    name: str
    """``model.kind``."""
    title: str
    """What messages call it."""
    config: type[NetworkConfig]
    """Dataclass of the group ``model``: defaults for all keys, a docstring under each, checks in ``__post_init__``."""
    input: ModelInput
    """Players whose networks have this input (``PlayerKind.model_input``) play with it."""
    model_type: str
    """What ``config.json`` of a checkpoint calls it: no other kind may have the same."""
    architecture: Callable[[Game, Any], Any]
    """(game, config) -> a dataclass, all that fixes the shape; ``ValueError`` where it does not fit the game."""
    build: "Callable[[Any], Network]"
    """(arch) -> the network; weights that ``initialise`` does not set must not be random."""
    load: "Callable[[str | Path, Game], Network]"
    """(checkpoint, game) -> its network, float32, on the CPU; ``ValueError`` naming the file and the reason. Where the
    shape follows from the game and the configuration, ``learner.model.checkpoint.load_network`` does it."""
    objective: "Callable[[TrainingSetup], Any]"
    """(setup) -> its ``learner.training.objective.Objective``; ``ValueError`` naming what cannot be trained on."""
    engine: Callable[[str, Game, EngineConfig, str], Any]
    """(checkpoint, game, settings, name of a utility) -> the model of ``input`` that players ask."""
    deal_bytes: Callable[[Game, Any], int]
    """(game, config): memory that a learner takes for one deal."""
    initialise: Callable[[Any, Game, int], None] = lambda net, game, seed: None
    """(network, game, seed): give it fresh weights, on the CPU; they follow from the seed alone."""
    free_at_start: tuple[str, ...] = ()
    """Fields of ``arch`` that may differ between a network and the weights that its training starts from."""
    history_bytes: Callable[[Any, EngineConfig], int] = lambda arch, engine: 0
    """(arch, settings): memory that an engine keeps for one history of full length."""
    size_keys: str = "the size of the network"
    """Settings that make it smaller, for messages."""
    learner: str = "default"
    """Preset of the group ``learner`` that suits it; ours bring it (``conf/model``), and a command says it."""
    unused: tuple[str, ...] = ()
    """Settings of ``learner`` that have no effect on it."""
    whole_deals: bool = False
    """Whether it learns from deals of which every seat's sequence is there."""
    pooled: bool = False
    """Whether ``engine`` takes one more argument, with a default: the engines of the process, with one of which it may
    share memory."""
    in_groups: bool = True
    """Whether several learners can train it together (``learner.training.parallel``)."""
    muon: bool = False
    """Whether ``learner.optimizer=muon`` can train it: the network has ``hidden_matrices``."""

    def __post_init__(self) -> None:
        if self.input not in get_args(ModelInput):
            inputs = " or ".join(map(repr, get_args(ModelInput)))
            raise ValueError(f"NetworkKind {self.name!r}: input is {self.input!r}; give {inputs}")

    def note(self) -> str:
        """What is trained and what has no effect on it, in a line for the user."""
        without = f"; learner.{', '.join(self.unused)} have no effect on it" if self.unused else ""
        suits = f"; learner={self.learner} suits it" if self.learner != "default" else ""
        return f"trains a {self.title} (model.kind={self.name}){without}{suits}"

    def without_effect(self, learner: LearnerConfig) -> list[str]:
        """Notes for the user on settings of ``learner`` that have no effect beside its others."""
        policy = learner.policy
        keys = [] if "policy" in self.unused else policy.unread()
        return [f"learner.policy.{', '.join(keys)}: no effect with learner.policy.kind={policy.kind}"] if keys else []

    def check_training(self, learners: int, **settings: "LearnerConfig") -> None:
        """``ValueError`` where so many learners with these settings, by their group, cannot train it."""
        if learners > 1 and not self.in_groups:
            raise ValueError(f"cluster.learners={learners}: a {self.title} is trained by one learner; give 1")
        for group, learner in settings.items():
            if learner.optimizer == "muon" and not self.muon:
                raise ValueError(f"{group}.optimizer=muon: a {self.title} is trained with AdamW; give adamw")


@dataclass(frozen=True)
class TrainingSetup:
    """What a training learns, and from what; two equal ones give the same weights on the same hardware."""

    kind: NetworkKind
    game: Game
    model: Any
    """Settings of the kind."""
    learner: LearnerConfig
    shards: Sequence[str]
    """Paths or URIs, in order."""
    seed: int = 0
    group: "Group | None" = None
    """Learners that train together; None for one alone."""

    @cached_property
    def arch(self) -> Any:
        """The network's shape."""
        return self.kind.architecture(self.game, self.model)
