"""A Q-network's values of first decisions, gathered by action (paper 002, "Neural Network Output").

The network reads the whole deal and judges the actions of the seat to act: in the paper's variant of Hearts seat 0,
which leads any of its cards. The paper draws the points that the seat will make, so the values here are minus q.

Letters: ``D`` deals, ``V`` tokens of the vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from games.game import Game
from games.rng import derive, derive_many
from learner.state_model import StateModel
from search.tournament.statistics import ends_of

_BATCH = 4096
"""Deals of one call: their numbers and answers take 3 MB in Hearts."""


@dataclass(frozen=True)
class OpeningValue:
    """One first action, over the deals in which it was legal."""

    action: str
    """Its name in the vocabulary."""
    deals: int
    """In how many deals it was legal; where any card of the hand may be led, in how many it was held."""
    mean: float
    """Points that the network expects the seat to make."""
    low: float | None
    high: float | None
    """95 % t interval of ``mean`` over deals; None where they are too few for one."""
    variance: float | None
    """Of those points over deals, with the divisor n - 1; None for a single deal."""


def first_values(game: Game, model: StateModel, deals: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The points that every first action is expected to cost in freshly dealt deals.

    Returns:
        ``float32[D, V]`` minus q, which means something where ``bool[D, V]``, legal actions, holds.
    """
    points, legal = [], []
    for first in range(0, deals, _BATCH):
        seeds = derive_many(derive(seed, "openings", "deals"), min(_BATCH, deals - first), first)
        states = game.deal(seeds)
        points.append(-model.values(states, game.to_move(states)))
        legal.append(game.legal(states))
    return np.concatenate(points), np.concatenate(legal)


def by_action(names: Sequence[str], points: np.ndarray, legal: np.ndarray) -> list[OpeningValue]:
    """What ``first_values`` found, for every action that was ever legal.

    Args:
        names: of the tokens, ``V``.

    Returns:
        the actions by suit and then in the vocabulary's order; all in that order if they are no cards (``suit_place``).
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
    """At which of two characters the suit stands, the one of which there are fewer (``QS``: 1); None where the names
    are not all of two characters."""
    if any(len(name) != 2 for name in names):
        return None
    first, second = (len({name[place] for name in names}) for place in (0, 1))
    return int(second < first)


def _value(action: str, points: np.ndarray) -> OpeningValue:
    values = points.astype(np.float64)
    low, high = ends_of(values)
    variance = float(values.var(ddof=1)) if len(values) > 1 else None
    return OpeningValue(action, len(values), float(values.mean()), low, high, variance)
