"""Numbers that the rules give for one seat's history: inputs that a network would otherwise have to learn."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class FeatureSet:
    """Numbers that follow from a history by the rules alone; ``by_strategy``, by estimates of good play too."""

    description: str
    shape: tuple[int, ...]
    """Shape of the numbers of one view."""
    fill: Callable[[np.ndarray, np.ndarray], None]
    """Write the numbers of views ``[B]`` into ``uint8[B, *shape]``, which is given as zeros; for any view, also of
    an impossible history."""
    version: int = 1
    """Raised whenever the numbers change their meaning; checkpoints carry it."""
    of_actions: bool = False
    """Whether row n of the numbers is about the action whose token is n. Then networks score these actions by weights
    that all of them share (docs/learner.md); one set of a game at most, and others by strategy."""
    by_strategy: bool = False
    """Whether they say how good actions are by estimates that were tuned on play. Networks read such a set where it is
    named, not with ``all``."""
    of_board: bool = False
    """Whether the shape is rows, columns and planes of a board, which networks read by convolutions; 255 stands for 1.
    All zeros: there is no board yet."""
    tells: int = 0
    """How many first tokens of a history these numbers tell too: networks that read the set leave them out."""

    @property
    def size(self) -> int:
        """How many numbers one view has."""
        return math.prod(self.shape)

    def encode(self, views: np.ndarray) -> np.ndarray:
        """``uint8[B, *shape]``: the numbers of views ``[B]``."""
        numbers = np.zeros((len(views), *self.shape), np.uint8)
        self.fill(views, numbers)
        return numbers


@dataclass(frozen=True)
class StateFeatures:
    """Numbers that describe a true state, hidden cards included, as one seat counts the others from itself.

    They are for networks that judge known deals: inside worlds that a player has sampled, or for players that look at
    all cards (``sees_hidden``). No other player may see them.
    """

    description: str
    size: int
    """How many numbers there are, ``F``."""
    encode: Callable[[np.ndarray, np.ndarray], np.ndarray]
    """States ``[B]``, one seat of each ``int[B]`` -> ``uint8[B, F]``, each 0 or 1: training keeps them as bits."""
    version: int = 1
    """Raised whenever the numbers change their meaning; checkpoints carry it."""


# ---- parts of a true state, each ``uint8[B, ...]`` of 0 and 1


def one_hot(values: np.ndarray, size: int) -> np.ndarray:
    """``[B, size]``: a 1 at the place of each of ``int[B]``; none for one that has no place, such as -1."""
    return (values[:, None] == np.arange(size)).astype(np.uint8)


def of_sets(sets: np.ndarray, num_cards: int) -> np.ndarray:
    """``[B, S * num_cards]``: a 1 for each card of the sets (``games.bits``) ``int64[B, S]``."""
    return (sets[:, :, None] >> np.arange(num_cards) & 1).astype(np.uint8).reshape(len(sets), -1)


def in_ones(features: FeatureSet, views: np.ndarray, most: int) -> np.ndarray:
    """``[B, features.size * most]``: each number of a feature set as so many ones, ``most`` at most."""
    numbers = features.encode(views).reshape(len(views), -1, 1)
    return (numbers > np.arange(most)).astype(np.uint8).reshape(len(views), -1)


def from_seat(by_seat: np.ndarray, seats: np.ndarray) -> np.ndarray:
    """``[B, P]``: what ``[B, P]`` says of every seat, the one of ``int[B]`` first and then clockwise."""
    players = by_seat.shape[1]
    return np.take_along_axis(by_seat, (np.asarray(seats)[:, None] + np.arange(players)) % players, axis=1)
