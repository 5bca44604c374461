"""Deals consistent with a seat's history, weighted by the likelihood of the others' actions.

``Game.determinize`` samples consistent deals uniformly. Here deals are drawn in proportion to the likelihood of the
others' actions (``search.players.beliefs``): importance sampling with resampling.

Only actions that the seat has seen count; these are the same in all candidates. Unseen actions, such as the cards that
others passed to each other in Hearts, are sampled uniformly with the deal; they would make almost all weights 0.

Letters: ``M`` views, ``C`` candidates of each, ``W`` worlds of each, ``B`` histories.
"""

from typing import NamedTuple

import numpy as np

from games.game import Game
from games.rng import mix
from search.players.beliefs import Beliefs

FLOOR = 25
"""Least effective sample size of the weights; of few candidates, half of them."""
_DEAL, _PICK = 1, 2
"""Salts of a view's seed."""


class Worlds(NamedTuple):
    """Deals for each view, equally weighted after resampling."""

    states: np.ndarray
    """``[M, W]``"""
    exponent: np.ndarray
    """``float64[M]``: beta; weights are likelihoods to this power, 1 unless they would collapse."""
    effective: np.ndarray
    """``float64[M]``: effective sample size of the weights, 1 to C."""


def weighted_worlds(
    game: Game, beliefs: Beliefs, views: np.ndarray, seeds: np.ndarray, worlds: int, candidates: int
) -> Worlds:
    """``worlds`` deals for each view, drawn from ``candidates`` deals in proportion to their weights.

    Args:
        views: ``[M]``, consistent.
        seeds: ``uint64[M]``; the deals of a view depend on its own seed alone.
    """
    number = np.arange(candidates)
    each = mix(mix(seeds, _DEAL)[:, None], number).reshape(-1)
    states, seats = (drawn.reshape(-1, candidates) for drawn in game.determinize(np.repeat(views, candidates), each))
    weights, exponent = tempered(log_likelihoods(game, beliefs, states, seats), min(FLOOR, candidates / 2))
    picked = resample(weights, worlds, mix(seeds, _PICK))
    return Worlds(np.take_along_axis(states, picked, axis=1), exponent, effective_size(weights))


def resample(weights: np.ndarray, worlds: int, seeds: np.ndarray) -> np.ndarray:
    """``int64[M, W]``: candidates by systematic resampling (Kitagawa 1996). A candidate of weight w is drawn
    ``worlds * w`` times, rounded up or down, exactly so often on average.

    Args:
        weights: ``float64[M, C]``, rows sum to 1.
        seeds: ``uint64[M]``.
    """
    first = (seeds >> np.uint64(11)).astype(np.float64) / 2**53
    marks = (np.arange(worlds) + first[:, None]) / worlds
    below = np.cumsum(weights, axis=1)[:, :-1]
    return np.asarray((below[:, None] <= marks[:, :, None]).sum(axis=2))


def tempered(logs: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights ``float64[M, C]``, and their exponents ``float64[M]``.

    Weights are likelihoods (logarithms ``float64[M, C]``) to the largest power up to 1 at which their effective size is
    at least ``floor``, found to 1e-6 by bisection.
    """
    low = np.where(effective_size(_normalised(logs)) >= floor, 1.0, 0.0)
    high = np.ones(len(logs))
    for _ in range(20):
        middle = (low + high) / 2
        holds = effective_size(_normalised(middle[:, None] * logs)) >= floor
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return _normalised(low[:, None] * logs), low


def _normalised(logs: np.ndarray) -> np.ndarray:
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def effective_size(weights: np.ndarray) -> np.ndarray:
    """``float64[M]``: effective sample size (Kish 1965) of weights ``[M, C]`` that sum to 1."""
    return np.asarray(1 / np.square(weights).sum(axis=1))


def log_likelihoods(game: Game, beliefs: Beliefs, states: np.ndarray, seats: np.ndarray) -> np.ndarray:
    """``float64[M, C]``: ln p of the actions of all seats but the observer's (``int[M, C]``), as far as they are the
    same in all candidates (``[M, C]``) of a row."""
    behind = np.arange(1, game.num_players)
    others = (seats.astype(np.int64)[:, :, None] + behind) % game.num_players
    tokens, lengths = game.histories(np.repeat(states.reshape(-1), len(behind)), others.reshape(-1))
    each = tokens.reshape(*others.shape, -1)
    seen = np.broadcast_to((each == each[:, :1]).all(axis=1, keepdims=True), each.shape).reshape(tokens.shape)
    number: dict[bytes, int] = {}  # ten times as fast as np.unique of rows
    same = np.array([number.setdefault(row.tobytes(), len(number)) for row in np.hstack([tokens, seen])])
    rows = np.unique(same, return_index=True)[1]
    logs = beliefs(game, tokens[rows], lengths[rows], seen[rows])
    return np.asarray(logs[same.reshape(others.shape)].sum(axis=2))
