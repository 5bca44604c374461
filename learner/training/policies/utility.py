"""The game's utility in the unit of ``learner.policy``."""

import numpy as np

from games.game import Game
from learner.config import PolicyConfig


def in_temperatures(game: Game, policy: PolicyConfig) -> np.ndarray:
    """``float64[K]``: the default utility of every outcome label in units of ``learner.policy.temperature``.

    ``ValueError`` for a temperature above a quarter of what a deal can gain: a policy would learn next to nothing.
    """
    utility = game.outcomes.utility().astype(np.float64)
    most = float(np.ptp(utility)) / 4
    if policy.temperature > most:
        raise ValueError(
            f"learner.policy.temperature={policy.temperature}: must be at most {most:.3g} in {game.name}, a quarter of "
            f"what lies between a deal's best and worst {game.outcomes.default_utility!r} utility, whose unit it has"
        )
    return utility / policy.temperature
