"""A Q-network's values of first decisions, gathered by action (paper 002, "Neural Network Output").

The network reads the whole deal and evaluates the actions of the seat to act: in the paper's variant of Hearts seat 0,
which may lead any card. The paper draws the points that the seat will make, so the values here are minus q.

Letters: ``D`` deals, ``V`` tokens of the vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from games.game import Game
from games.rng import derive, derive_many
from learner.state_model import StateModel
from search.arena.tournament.statistics import ends_of

_BATCH = 4096
"""Deals of one call: its inputs and outputs take 3 MB in Hearts."""


@dataclass(frozen=True)
class OpeningValue:
    """One first action, over the deals in which it was legal."""

    action: str
    """Its name in the vocabulary."""
    deals: int
    """Number of deals in which it was legal; where any card may be led, in which it was held."""
    mean: float
    """Points that the network expects the seat to make."""
    low: float | None
    high: float | None
    """95 % t interval of ``mean`` over deals; None for too few deals."""
    variance: float | None
    """Variance of these points over deals, with the divisor n - 1; None for a single deal."""


def first_values(game: Game, model: StateModel, deals: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Expected points of every first action in newly dealt deals.

    Returns:
        ``float32[D, V]`` minus q, valid where the second result, legal actions ``bool[D, V]``, is true.
    """
    points, legal = [], []
    for first in range(0, deals, _BATCH):
        seeds = derive_many(derive(seed, "openings", "deals"), min(_BATCH, deals - first), first)
        states = game.deal(seeds)
        points.append(-model.values(states, game.to_move(states)))
        legal.append(game.legal(states))
    return np.concatenate(points), np.concatenate(legal)


def by_action(names: Sequence[str], points: np.ndarray, legal: np.ndarray) -> list[OpeningValue]:
    """Statistics of ``first_values`` for every action that was ever legal.

    Args:
        names: of the tokens, ``V``.

    Returns:
        the actions by suit and then in the vocabulary's order; in that order alone if they are no cards
        (``suit_place``).
    """
    found = [
        _value(names[token], points[legal[:, token], token]) for token in np.flatnonzero(legal.any(axis=0)).tolist()
    ]
    place = suit_place([value.action for value in found])
    if place is None:
        return found
    suits = [value.action[place] for value in found]
    order = sorted(range(len(found)), key=lambda row: suits.index(suits[row]))
    return [found[row] for row in order]


def suit_place(names: Sequence[str]) -> int | None:
    """Index of the suit in two-character names (``QS``: 1): the position with fewer different characters; None where
    some name is not of two characters."""
    if any(len(name) != 2 for name in names):
        return None
    first, second = (len({name[place] for name in names}) for place in (0, 1))
    return int(second < first)


def _value(action: str, points: np.ndarray) -> OpeningValue:
    values = points.astype(np.float64)
    low, high = ends_of(values)
    variance = float(values.var(ddof=1)) if len(values) > 1 else None
    return OpeningValue(action, len(values), float(values.mean()), low, high, variance)
