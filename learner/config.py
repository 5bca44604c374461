"""Configuration of the model and its training; every value is checked before any work starts.

Hydra composes them from ``conf/model`` and ``conf/learner``. They are not frozen, because OmegaConf refuses to merge a
command line into frozen classes.
"""

from dataclasses import dataclass, field, fields
from typing import Any

from omegaconf import MISSING

from cluster.validation import above, at_least, at_least_below, one_of, require, within
from games.config import GameConfig

PRECISIONS = ("auto", "fp32", "bf16")
DEVICES = ("auto", "cpu", "cuda")
OUTCOME_INITS = ("normal", "points")
OPTIMIZERS = ("adamw", "muon")
SCHEDULES = ("linear", "cosine", "constant")
TARGETS = ("all", "actions")
POLICIES = ("played", "labels", "values", "gradient")
_READERS = {"kind": POLICIES, "weight": POLICIES[1:], "temperature": POLICIES[2:]}
_READERS |= dict.fromkeys(("label_weight", "improved"), ("values",))
"""Key of ``PolicyConfig`` -> the kinds that read it; ``gradient`` alone reads the others."""
TRUNKS = ("auto", "torch")
NETWORK_KINDS = {"kinds": "learner.kinds"}
"""Marks the field of a configuration whose keys depend on the kind of network (``cluster.composing``)."""


@dataclass
class NetworkConfig:
    """Keys of the group ``model`` shared by all kinds of network; each kind adds its own."""

    kind: str = MISSING
    """Kind of network (``learner.kinds``); presets of the group choose it."""


@dataclass
class TransformerConfig(NetworkConfig):
    """Size and regularisation of the transformer (paper 001, Table 4); the defaults are the paper's."""

    kind: str = "transformer"
    n_layer: int = 8
    n_head: int = 8
    n_embd: int = 256
    n_inner: int = 0
    """Width of the feed-forward layer; 0 means 4 * n_embd."""
    n_positions: int = 0
    """Longest sequence in tokens; 0 means the game's ``max_length``."""
    embd_pdrop: float = 0.05
    resid_pdrop: float = 0.05
    outcome_init: str = "normal"
    """Initial weights of the outcome head: ``normal`` like every other layer, or ``points``: labels with similar points
    start with similar weights, so that gradients of one move its neighbours too (``learner.model.outcome_init``)."""
    initializer_range: float = 0.02
    layer_norm_epsilon: float = 1e-5
    token_types: bool = False
    """Beyond the paper, like all keys below: embed the type and seat of each token, and the seat of the next."""
    mask_tokens: bool = False
    """Mask impossible next tokens, in training and use."""
    mask_outcomes: bool = False
    """Mask impossible outcomes, in training and use."""
    features: list[str] = field(default_factory=list)
    """Features of every position that the network reads: names of the game's features (docs/games). ``all`` stands for
    all that follow from the rules alone; ``[all,NAME]`` adds a set by strategy."""
    score_width: int = 64
    """Width of the layer that scores an action by its features, where the game has a set about actions."""
    score_layers: int = 0
    """Layers of that width behind it, each with a residual connection: what an action does to the rest of the deal."""
    board_channels: list[int] = field(default_factory=lambda: [64])
    """Channels of the 3 x 3 convolutions that read a board among the features (paper 003, Table 5)."""

    def __post_init__(self) -> None:
        at_least("model", self, 1, "n_layer", "n_head", "n_embd")
        at_least("model", self, 0, "n_inner", "n_positions", "score_layers")
        at_least("model", self, 1, "score_width")
        at_least_below("model", self, 0, 1, "embd_pdrop", "resid_pdrop", "initializer_range", "layer_norm_epsilon")
        above("model", self, 0, "initializer_range", "layer_norm_epsilon")
        one_of("model", self, OUTCOME_INITS, "outcome_init")
        multiple = self.n_embd % self.n_head == 0
        require(multiple, "model", self, "n_embd", f"a multiple of model.n_head={self.n_head}")
        require(len(set(self.features)) == len(self.features), "model", self, "features", "names given once each")
        channels = len(self.board_channels) > 0 and min(self.board_channels) > 0
        require(channels, "model", self, "board_channels", "numbers above 0, one at least")


Q_NETWORKS = {"fc": (3, 0), "pv16": (16, 5), "pv24": (24, 9)}
"""Architecture of a Q-network -> its numbers of hidden layers and skip connections (paper 002, "Network
Architectures")."""


@dataclass
class QNetworkConfig(NetworkConfig):
    """A Q-network, and what it learns (paper 002); the optimiser's settings are ``LearnerConfig``'s."""

    kind: str = "q_network"
    architecture: str = "fc"
    """``fc`` (3 hidden layers), ``pv16`` (16, with 5 skip connections) or ``pv24`` (24, with 9)."""
    width: int = 256
    """Width of every hidden layer; the paper does not give it."""
    discount: float = 0.99
    """Gamma: weight of points that are taken one decision later."""
    states_per_step: int = 4
    """New decisions (of the newest iteration among the shards) per optimiser step."""
    target_every_steps: int = 100
    """Steps between copies of the weights to the target network, 0 for never: it then keeps the initial weights. The
    paper does not give it."""
    huber_delta: float = 26.0
    """Error in points from which the loss grows linearly. The paper's reward is a share of 26 points and its loss the
    usual one, which is linear from 1. Less makes q a median of points that are 0 mostly and 13 now and then."""

    def __post_init__(self) -> None:
        one_of("model", self, Q_NETWORKS, "architecture")
        at_least("model", self, 1, "width", "states_per_step")
        at_least("model", self, 0, "target_every_steps")
        within("model", self, 0, 1, "discount")
        above("model", self, 0, "huber_delta")


@dataclass
class LossConfig:
    """Weights of the losses (paper 001, Table 6); the defaults are the paper's."""

    observation_weight: float = 0.9
    others_weight: float = 1.0
    """Beyond the paper: weight in the observation loss of next tokens that are not the observer's own actions, which
    weigh 1. Few tokens are actions, so a small network learns its policy sooner with less weight on the others."""
    outcome_weight: float = 0.1
    outcome_positions: int = 0
    """Positions of each sequence that train the outcome head in a step, drawn so that the loss stays unbiased; 0 for
    all (see ``learner.training.loss``)."""
    branch_weight: float = 0.0
    """Beyond the paper: weight of the outcome loss of branches (``selfplay.branches``); 0 reads none."""

    def __post_init__(self) -> None:
        group = "learner.loss"
        at_least(group, self, 0, "observation_weight", "others_weight", "outcome_weight", "branch_weight")
        at_least(group, self, 0, "outcome_positions")
        if self.observation_weight + self.outcome_weight <= 0.0:
            raise ValueError(f"{group}.observation_weight=0.0 and {group}.outcome_weight=0.0: one must be above 0")


@dataclass
class PolicyConfig:
    """What the policy learns at the observer's own decisions (``learner.training.policies``)."""

    kind: str = "played"
    """``played``: the action played (paper 001). Beyond the paper ``labels``: what another player would have done
    (``selfplay.labels``); ``values``: at decisions with branches, which actions were better; ``gradient``: at actions
    whose probabilities shards have, the clipped policy gradient of PPO."""
    weight: float = 1.0
    """Weight in the observation loss of labels, of decisions with values, or of those of a gradient."""
    label_weight: float = 0.0
    """``values`` only: weight of labels at decisions without branches; 0 reads no labels."""
    temperature: float = 0.1
    """``values`` and ``gradient`` only: difference in the game's default utility that counts as 1."""
    improved: bool = False
    """``values`` only: learn the policy that the values improve, in place of the policy gradient over all actions."""
    clip: float = 0.1
    """``gradient`` only, like all keys below: change of an action's probability, as a share of it, from which its
    advantage pulls no further."""
    entropy_weight: float = 0.0
    """Weight of the policy's entropy, in nats, against an advantage of one ``temperature``."""
    magnet_weight: float = 0.0
    """Weight of KL(policy, magnet's policy): a magnet is a frozen earlier network (R-NaD, arXiv 2206.15378)."""
    magnet: str = ""
    """Checkpoint of the magnet. In a run it is left out: an earlier iteration's network is taken."""
    magnet_iterations: int = 4
    """Iterations of a run for which the magnet stays the same."""
    advantage_lambda: float = 1.0
    """Lambda of generalised advantage estimation (arXiv 1506.02438); 1 takes the deal's outcome less the value."""
    max_staleness: int = 1
    """Shards that are more iterations older than the newest one teach nothing, and are counted."""

    def __post_init__(self) -> None:
        group = "learner.policy"
        one_of(group, self, POLICIES, "kind")
        at_least(group, self, 0, "label_weight", "entropy_weight", "magnet_weight", "max_staleness")
        above(group, self, 0, "weight", "temperature", "clip")
        at_least(group, self, 1, "magnet_iterations")
        within(group, self, 0, 1, "advantage_lambda")

    @property
    def reads(self) -> frozenset[str]:
        """What it learns from beside the actions played, by the keys of ``selfplay`` that make it."""
        if self.kind == "values" and self.label_weight:
            return frozenset({"branches", "labels"})
        read = {"labels": "labels", "values": "branches", "gradient": "probabilities"}
        return frozenset({read[self.kind]} if self.kind in read else ())

    def unread(self) -> list[str]:
        """Keys that differ from their defaults and have no effect with this ``kind``."""
        others = [key for key in fields(self) if self.kind not in _READERS.get(key.name, ("gradient",))]
        return [key.name for key in others if getattr(self, key.name) != key.default]


@dataclass
class LearnerConfig:
    """Training of the network (paper 001, section 9.1 and Table 6); the defaults are the paper's where it gives any."""

    learning_rate: float = 1e-4
    optimizer: str = "adamw"
    """``adamw``, or beyond the paper ``muon``: Muon (momentum 0.95) for the matrices inside the network, AdamW with
    ``betas`` for the rest."""
    schedule: str = "linear"
    """``linear``: falls to 0 at the last step; ``cosine``: the same along half a cosine (paper 003, section 4.1);
    ``constant``: stays."""
    schedule_steps: int = 0
    """Step at which the schedule has fallen; 0 for the last one."""
    warmup_steps: int = 0
    """Steps over which the rate first rises from 0."""
    num_epochs: int = 3
    max_steps: int = 0
    """Optimiser steps at most, 0 for no limit; the schedule ends there."""
    batch_size: int = 128
    """Sequences in a step."""
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.999)
    grad_clip: float = 1.0
    """Largest global norm of the gradient, 0 for no limit."""
    targets: str = "all"
    """What is learned: ``all`` tokens, or only the observer's own ``actions``, with outcomes only where it acts (paper
    003, section 3.4): for games in which all else can be worked out."""
    augment: bool = False
    """Beyond the papers: train on every sequence with tokens renamed that the rules do not tell apart
    (``Game.renamed``), such as SameGame's colours, drawn anew for every epoch."""
    loss: LossConfig = field(default_factory=LossConfig)
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    precision: str = "fp32"
    """Precision of matrix products: ``fp32``, ``bf16``, or ``auto``: ``bf16`` where the device is fast at it."""
    device: str = "auto"
    num_threads: int = 0
    """Threads of a CPU run, 0 to leave torch's own choice."""
    batch_threads: int = 0
    """Threads that make batches ahead of the steps, 0 to make each at its step. For a GPU: the learner's cores less
    one; rule inputs take longer to compute than a step there."""
    cuda_graphs: bool = True
    """On a GPU, replay the step of every layout of batches that comes often as one captured graph."""
    checkpoint_every_steps: int = 1000
    """Steps between resumable checkpoints, 0 for none; another is written every five minutes."""
    log_every_steps: int = 20

    def __post_init__(self) -> None:
        at_least("learner", self, 1, "num_epochs", "batch_size", "log_every_steps")
        at_least("learner", self, 0, "warmup_steps", "max_steps", "num_threads", "schedule_steps", "batch_threads")
        at_least("learner", self, 0, "checkpoint_every_steps", "weight_decay", "grad_clip")
        above("learner", self, 0, "learning_rate")
        self.betas = tuple(float(beta) for beta in self.betas)  # type: ignore[assignment]
        two = len(self.betas) == 2 and all(0.0 <= beta < 1.0 for beta in self.betas)
        require(two, "learner", self, "betas", "two numbers, at least 0 and below 1")
        one_of("learner", self, OPTIMIZERS, "optimizer")
        one_of("learner", self, SCHEDULES, "schedule")
        one_of("learner", self, TARGETS, "targets")
        later = self.schedule_steps == 0 or self.schedule_steps > self.warmup_steps
        require(later, "learner", self, "schedule_steps", f"0, or above learner.warmup_steps={self.warmup_steps}")
        loss, policy = self.loss, self.policy
        if self.targets == "actions":
            require(loss.outcome_positions == 0, "learner.loss", loss, "outcome_positions", "0 with targets=actions")
            require(loss.others_weight == 1.0, "learner.loss", loss, "others_weight", "1 with targets=actions")
        if policy.kind == "gradient":
            require(loss.outcome_positions == 0, "learner.loss", loss, "outcome_positions", "0 with a policy gradient")
            require(self.targets == "all", "learner", self, "targets", "all with a policy gradient")
        learns = policy.kind == "played" or loss.observation_weight > 0.0
        require(learns, "learner.policy", policy, "kind", "played where loss.observation_weight is 0")
        one_of("learner", self, PRECISIONS, "precision")
        one_of("learner", self, DEVICES, "device")


FREE_LEARNER_KEYS = (
    "device",
    "num_threads",
    "batch_threads",
    "cuda_graphs",
    "checkpoint_every_steps",
    "log_every_steps",
)
"""Learner settings that a resumed training may change: they do not change the result."""
FREE_ENGINE_KEYS = ("device", "cache_mb", "max_batch", "cuda_graphs")
"""Engine settings of devices and batches, which change answers by rounding errors at most."""


@dataclass
class EngineConfig:
    """Settings of the query engine."""

    device: str = "auto"
    """``auto`` (CUDA where there is a device), ``cpu`` or ``cuda``."""
    precision: str = "fp32"
    """``fp32``, ``bf16``, or ``auto``: bf16 where the device has instructions for it."""
    max_batch: int = 1024
    """Most rows of one forward pass."""
    cache_mb: int = 4096
    """Most MiB for keys and values of all networks of one shape in a process; a GPU allocates them at once."""
    cuda_graphs: bool = False
    """On a GPU, pad passes to a few shapes and replay each as a captured graph."""
    trunk: str = "auto"
    """``auto``: on a CPU the compiled trunk where it is installed, else torch's; ``torch``: torch's everywhere."""
    mask_outcomes: bool = False
    """Values count only outcomes that are still possible by the rules (``Game.view_outcomes``)."""
    history: bool = True
    """False: every position sees itself alone, without attention to those before it (paper 003, Table 6)."""

    def __post_init__(self) -> None:
        one_of("engine", self, DEVICES, "device")
        one_of("engine", self, PRECISIONS, "precision")
        one_of("engine", self, TRUNKS, "trunk")
        at_least("engine", self, 1, "cache_mb", "max_batch")


@dataclass
class LearnConfig:
    """Training alone: ``python -m learner``."""

    data: str = MISSING
    """Directory or URI that holds the shards."""
    out: str = MISSING
    """Directory of the finished checkpoint; the same command again resumes a killed run."""
    game: GameConfig = MISSING
    model: Any = field(default=MISSING, metadata=NETWORK_KINDS)
    """``NetworkConfig`` of the chosen kind."""
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    init_from: str | None = None
    """Checkpoint to start from; null for fresh weights."""
    seed: int = 0
    """Root of every random number of the training."""
