"""Training rows of a Q-network: every decision of finished deals, replayed from all seats' histories.

A shard holds the history of each seat. The actions are read from the history of the seat to act; the cards follow from
the deal's seed. The replayed deal must reproduce every seat's history, so a shard whose deals do not match their seeds
is refused.

Letters: ``D`` deals, ``P`` seats, ``L`` longest history, ``N`` decisions, ``F`` numbers of a state, ``V`` tokens.
"""

from dataclasses import dataclass

import numpy as np

from games.branches import Branches
from games.game import Game
from games.shards import Sequences
from learner.bits import packed
from learner.q_network.architecture import state_features

NONE = -1
"""Index for no next decision: the seat has made its last."""


@dataclass(frozen=True)
class Decisions:
    """``N`` decisions of whole deals."""

    features: np.ndarray
    """``uint8[N, F]`` as bits (``learner.bits``): the state, as the seat to act counts the others from
    itself."""
    legal: np.ndarray
    """``bool[N, V]`` as bits: legal actions."""
    action: np.ndarray
    """``int64[N]``: the action played."""
    reward: np.ndarray
    """``float32[N]``: minus the points that it made until its next decision, or from its last one until the end. Over a
    seat's decisions they add up to minus its points of the deal, a moon's scoring included."""
    following: np.ndarray
    """``int64[N]``: index of the same seat's next decision, ``NONE`` after its last."""
    seat: np.ndarray
    """``int8[N]``"""
    place: np.ndarray
    """``int32[N]``: how many tokens the seat had seen."""
    deal: np.ndarray
    """``int64[N]``: which of the deals."""
    deal_seed: np.ndarray
    """``uint64[N]``"""
    branches: np.ndarray
    """``float16[N, V]``: minus the seat's further points after the branch with this action, the mean where it has
    several outcomes; NaN without such a branch. ``[N, 0]`` without branches."""

    def __len__(self) -> int:
        return len(self.action)


def returns(decisions: Decisions, discount: float) -> np.ndarray:
    """``float32[N]``: discounted sum of a decision's reward and the later ones in its deal."""
    sums = decisions.reward.astype(np.float64)
    after, behind = decisions.following.copy(), decisions.following != NONE
    weight = discount
    while behind.any():
        sums[behind] += weight * decisions.reward[after[behind]]
        after[behind] = decisions.following[after[behind]]
        behind = after != NONE
        weight *= discount
    return sums.astype(np.float32)


def decisions_of(game: Game, sequences: Sequences, name: str, branches: bool = False) -> Decisions:
    """All decisions of one shard's deals, with its branches if wanted. ``ValueError`` naming it (``name``) and the deal
    where a seat's history is missing, or where the histories are not those of the deal's seed."""
    order = np.lexsort((sequences.seat, sequences.game))
    number, seat = sequences.game[order], sequences.seat[order]
    first, behind = (np.searchsorted(number, number, side) for side in ("left", "right"))
    complete = (seat == np.arange(len(seat)) - first) & (behind - first == game.num_players)
    if not complete.all():
        deal = number[np.argmin(complete)]
        raise ValueError(
            f"{name}: of deal {deal} it holds seats {seat[number == deal].tolist()}, and the deal follows from all "
            f"{game.num_players}; keep what every seat saw (selfplay.population=false, initial.keep=[])"
        )
    tokens = sequences.tokens[order].reshape(-1, game.num_players, game.max_length)
    found = (sequences.branches or Branches.none(len(sequences))).with_outcomes.take(order) if branches else None
    return replayed(game, tokens, sequences.deal_seed[order][:: game.num_players], name, found)


def replayed(
    game: Game, tokens: np.ndarray, seeds: np.ndarray, name: str, branches: Branches | None = None
) -> Decisions:
    """All decisions of deals, step by step.

    Args:
        tokens: ``[D, P, L]``, the histories of all seats.
        seeds: ``uint64[D]``, those of the deals.
        name: stands in the ``ValueError`` for histories that are not those of the seeds.
        branches: of the ``D * P`` sequences.
    """
    steps, states = _steps(game, tokens, seeds, name)
    deal, points = steps["deal"], steps.pop("points")
    place, row = steps["place"], deal * game.num_players + steps["seat"]
    order = np.argsort(row, kind="stable")  # seat after seat, the decisions of each as they came
    last = np.append(row[order][1:] != row[order][:-1], True)
    following, after = np.empty(len(row), np.int64), game.points(states).reshape(-1)[row]
    following[order] = np.where(last, NONE, np.roll(order, -1))
    reward = points - np.where(following == NONE, after, points[following])
    values = np.empty((len(row), 0), np.float16)
    if branches is not None:
        number = np.full((len(seeds) * game.num_players, tokens.shape[2]), NONE)
        number[row, place] = np.arange(len(row))
        decision = number[branches.row, branches.place]
        _check(decision != NONE, branches.row // game.num_players, name)
        first = branches.first
        leaf = np.cumsum(first) - 1
        further = np.bincount(leaf, points[decision] - game.outcomes.points[branches.outcome, 0]) / np.bincount(leaf)
        values = np.full((len(row), game.vocabulary.size), np.nan, np.float16)
        values[decision[first], branches.token[first]] = further
    return Decisions(**steps, deal_seed=seeds[deal], following=following, reward=reward, branches=values)


def _steps(game: Game, tokens: np.ndarray, seeds: np.ndarray, name: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Columns over all decisions in the order in which they are made, and the final states ``[D]``; ``place`` is how
    many tokens the seat has seen, ``points`` what it has made."""
    features, states, steps = state_features(game), game.deal(seeds), list[dict[str, np.ndarray]]()
    while len(deals := np.flatnonzero(game.to_move(states) >= 0)):
        now = states[deals]
        seats, legal, each = game.to_move(now), game.legal(now), np.arange(len(deals))
        places = game.histories(now, seats)[1]
        actions = tokens[deals, seats, places].astype(np.int64)
        _check(legal[each, actions], deals, name)
        steps.append(
            {
                "features": packed(features.encode(now, seats)),
                "legal": packed(legal),
                "action": actions,
                "seat": seats,
                "deal": deals,
                "place": places,
                "points": game.points_so_far(now)[each, seats],
            }
        )
        game.play(now, actions)
        states[deals] = now
    for seat in range(game.num_players):
        same = (game.histories(states, np.full(len(seeds), seat))[0] == tokens[:, seat]).all(axis=1)
        _check(same, np.arange(len(seeds)), name)
    return {key: np.concatenate([step[key] for step in steps]) for key in steps[0]}, states


def _check(good: np.ndarray, deals: np.ndarray, name: str) -> None:
    if not good.all():
        raise ValueError(
            f"{name}: the histories of deal {deals[np.argmin(good)]} are not those of the cards that its seed deals; "
            "play it with kibitz generate or a self-play run"
        )
