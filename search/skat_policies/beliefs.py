"""How likely the networks of paper 004 find what other seats did, so that PIMC's worlds may be weighed by it
(policy-based inference: Rebstock, Solinas, Buro and Sturtevant, 2019)."""

from functools import partial

import numpy as np

from games.game import Game
from games.skat.policies.decisions import Decisions, decisions_of
from games.skat.policies.points import CARD, DISCARD
from learner.decision_model import DecisionModel
from search.players.beliefs import ODD, Beliefs

_AT_ONCE = 4096
"""Histories whose features are spread out at once."""


def by_policies(model: DecisionModel) -> Beliefs:
    """Seats act by the networks. Of limits a pass shows one, a won duel the least; discards, which nobody sees, count
    nothing. All else that histories show is seen by everybody, so ``places`` are not looked at."""
    return partial(_logs, model)


def _logs(model: DecisionModel, game: Game, tokens: np.ndarray, lengths: np.ndarray, places: np.ndarray) -> np.ndarray:
    logs = np.zeros(len(tokens))
    for first in range(0, len(tokens), _AT_ONCE):
        block = slice(first, first + _AT_ONCE)
        found = decisions_of(tokens[block], np.asarray(lengths[block]), survivors=True)
        bits = np.unpackbits(found.bits, axis=1, bitorder="little")
        for point in np.unique(found.point):
            if DISCARD <= point < CARD:
                continue
            rows = np.flatnonzero(found.point == point)
            policy = model.probabilities(int(point), bits[rows], found.numbers[rows]).astype(np.float64)
            np.add.at(logs, first + found.row[rows], np.log(_taken(policy, found, rows)))
    return logs


def _taken(policy: np.ndarray, found: Decisions, rows: np.ndarray) -> np.ndarray:
    """``float64[D]``: probability of what was done, or of a limit of at least that, with the share of random ones."""
    each, label = np.arange(len(rows)), found.label[rows]
    least = policy[:, ::-1].cumsum(axis=1)[:, ::-1][each, label]
    taken = np.where(found.censored[rows], least, policy[each, label])
    return np.asarray((1 - ODD) * taken + ODD / policy.shape[1])
