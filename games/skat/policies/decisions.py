"""The decisions of paper 004: which network each belongs to, its input and its label.

``decisions_of`` reads them from finished or broken-off histories, a seat at a time. Labels:

- *Limits.* Who passes shows its limit: the last value that it bid or held, or none. A game has one decision of each
  duel, the loser's (the paper's first three sets are equally large); what forehand does that is left alone is none.
- *Limits of survivors*, where they are asked for. Whose opponent in a duel passes has a limit that is at least its last
  bid or hold: a decision at the duel's point, ``censored``. Who made no call in the duel shows nothing by surviving it,
  and forehand asked alone is in no duel.
- *Hand or pickup.* Pickup, or the game played by hand; announced schneider and schwarz count as none.
- *Declaration and discards* are two decisions from the same twelve cards.
- *Cards*, forced ones included.
- *Values.* What the game brought the soloist, as ``value_label`` counts it, at its choice and its declaration.

Letters: ``N`` histories, ``L`` tokens, ``D`` decisions.
"""

from dataclasses import dataclass

import numpy as np

from games.compiled import blank
from games.skat.cards import EOS
from games.skat.policies.features import MOST_BITS
from games.skat.policies.log import LOG
from games.skat.policies.points import MOST_DECISIONS
from games.skat.policies.walk import collect, follow_all, write_all
from games.skat.rules import template
from games.skat.view import VIEW


@dataclass(frozen=True)
class Decisions:
    """``D`` decisions."""

    point: np.ndarray
    """``int8[D]``: index of ``games.skat.policies.points.DECISION_TYPES``."""
    bits: np.ndarray
    """``uint8[D, 49]``: the features of 0 and 1, eight to a byte, the lowest bit first."""
    numbers: np.ndarray
    """``uint8[D, 4]``: those of card play."""
    label: np.ndarray
    """``int16[D]``: the action."""
    row: np.ndarray
    """``int64[D]``: the history."""
    censored: np.ndarray
    """``bool[D]``: whether the label is only the least that the limit can be."""

    def __len__(self) -> int:
        return len(self.point)


def decisions_of(tokens: np.ndarray, lengths: np.ndarray, survivors: bool = False) -> Decisions:
    """All decisions of histories ``[N, L]`` of ``lengths`` tokens, in their order; limits of ``survivors`` of duels
    too, at their opponents' passes."""
    size = MOST_DECISIONS * len(tokens)
    bits, numbers = np.zeros((size, MOST_BITS), np.uint8), np.zeros((size, 4), np.uint8)
    point, label, row = np.empty(size, np.int8), np.empty(size, np.int16), np.empty(size, np.int64)
    fresh, censored = blank(VIEW, template(), EOS, 1), np.zeros(size, np.bool_)
    tokens, lengths = np.asarray(tokens), np.asarray(lengths, np.int64)
    number = collect(tokens, lengths, fresh, survivors, point, bits, numbers, label, row, censored)
    packed = np.packbits(bits[:number], axis=1, bitorder="little")
    return Decisions(point[:number], packed, numbers[:number], label[:number], row[:number], censored[:number])


def observed(tokens: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Views and logs of histories."""
    views, logs = blank(VIEW, template(), EOS, len(tokens)), np.zeros(len(tokens), LOG)
    follow_all(np.asarray(tokens), np.asarray(lengths, np.int64), views, logs)
    return views, logs


def inputs(views: np.ndarray, logs: np.ndarray, ouvert: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Features of views where the observer decides, ``uint8[N, 385]`` and ``uint8[N, 4]``.

    Args:
        ouvert: ``bool[N]``: whether discards are for an open game.
    """
    bits, numbers = np.zeros((len(views), MOST_BITS), np.uint8), np.zeros((len(views), 4), np.uint8)
    write_all(views, logs, ouvert, bits, numbers)
    return bits, numbers


def soloist_values(points: np.ndarray, value_label: str) -> np.ndarray:
    """``float32[N]``: what games brought their soloists.

    Args:
        points: ``float[N]``: the soloist's points by Seeger and Fabian: 50 and the value, or -50 and minus twice it.
        value_label: ``classic`` (the value alone), or ``tournament``: these points.
    """
    return (points - (50 * np.sign(points) if value_label == "classic" else 0)).astype(np.float32)
