"""What shards hold besides games, and which learner reads it: branches, labels, probabilities."""

from cluster.errors import UserError
from games.game import Game
from learner.config import LearnerConfig
from learner.network_kind import NetworkKind
from learner.training.policies.utility import in_temperatures
from selfplay.config import TrainConfig

_READ_BY = {
    "branches": "give learner.loss.branch_weight or learner.policy.kind=values",
    "labels": "give learner.policy.kind=labels",
    "probabilities": "give learner.policy.kind=gradient",
}
"""What ``selfplay`` adds to shards -> the settings that read it."""


def check(config: TrainConfig, game: Game, kind: NetworkKind) -> list[str]:
    """``ValueError`` for branches, labels or probabilities that no learner reads, or that a learner reads and no player
    makes, or that it reads by a temperature that suits another game."""
    learners = {"initial_learner": config.first_learner, "learner": config.learner}
    readers = list(learners.values())  # also those of an iteration 0 that a first network takes the place of
    if config.selfplay.first_network:
        learners.pop("initial_learner")
    elif config.first_learner.policy.kind == "gradient":
        raise UserError(
            "initial_learner.policy.kind=gradient: the players of iteration 0 draw from no network's policy; set "
            "initial_learner.policy.kind=played"
        )
    elif config.selfplay.initial.shards:
        learners.pop("initial_learner")  # which checks what its shards hold itself
    for key in ("branches", "labels", "probabilities"):
        made = getattr(config.selfplay, key)
        for name, learner in learners.items():
            for setting, off in _reading(learner, key).items():
                if setting.startswith(kind.unused):
                    raise UserError(f"{name}.{setting}: a {kind.title} learns from none; set {name}.{off}")
                if not made:
                    raise UserError(
                        f"{name}.{setting}: selfplay.{key}={made or repr(made)} makes none; give it, or set "
                        f"{name}.{off}"
                    )
        if made and not any(_reading(learner, key) for learner in readers):
            raise UserError(f"selfplay.{key}={made}: no network learns from them; {_READ_BY[key]}, or leave them out")
    for group, learner in learners.items():
        if learner.policy.kind in ("values", "gradient"):
            in_temperatures(game, learner.policy)
        if config.selfplay.branch_values and learner.loss.branch_weight:
            raise UserError(
                f"{group}.loss.branch_weight={learner.loss.branch_weight}: branches of selfplay.branch_values have "
                "values and no outcomes; set it to 0"
            )
    return []


def read_by(config: TrainConfig, key: str) -> tuple[bool, bool]:
    """Whether a learner reads what ``selfplay.<key>`` makes in iteration 0 (also by replay), and in later ones."""
    selfplay = config.selfplay
    later = selfplay.iterations > 0 and bool(_reading(config.learner, key))
    if selfplay.first_network:
        return False, later
    again = selfplay.replay_games > 0 and not selfplay.replay_from
    return bool(_reading(config.first_learner, key)) or (later and again), later


def _reading(learner: LearnerConfig, key: str) -> dict[str, str]:
    """The settings by which a learner reads what ``selfplay.<key>`` makes -> what reads none."""
    loss, policy = learner.loss, learner.policy
    found = {f"policy.kind={policy.kind}": "policy.kind=played"} if key in policy.reads else {}
    if key == "labels" and policy.kind == "values" and found:
        found = {f"policy.label_weight={policy.label_weight}": "policy.label_weight=0"}
    if key == "branches" and loss.branch_weight:
        found[f"loss.branch_weight={loss.branch_weight}"] = "loss.branch_weight=0"
    return found
