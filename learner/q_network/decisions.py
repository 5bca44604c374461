"""Every decision of finished deals as a Q-network learns from it: the deals replayed, whole, from what all seats saw.

A shard holds what each seat has seen. The actions are read there, one after the other in the history of the seat to
act; who got which cards follows from the deal's seed. The deal so replayed must give every seat the very history that
the shard has, so a shard whose deals are not those of their seeds is refused.

Letters: ``D`` deals, ``P`` seats, ``L`` longest history, ``N`` decisions, ``F`` numbers of a state, ``V`` tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from games.game import Game
from games.shards import Sequences
from learner.q_network.network import state_features

NONE = -1
"""In place of a next decision: the seat has made its last."""


@dataclass(frozen=True)
class Decisions:
    """``N`` decisions of whole deals."""

    features: np.ndarray
    """``uint8[N, F]``: the state, as the seat to act counts the others from itself."""
    legal: np.ndarray
    """``bool[N, V]``: what it could do ..."""
    action: np.ndarray
    """``int64[N]`` ... and what it did."""
    reward: np.ndarray
    """``float32[N]``: minus the points that it made until its next decision, or from its last one until the end. Over a
    seat's decisions they add up to minus its points of the deal, in which a moon may have changed everything."""
    following: np.ndarray
    """``int64[N]``: which of these is the same seat's next decision, ``NONE`` behind its last."""
    seat: np.ndarray
    """``int8[N]``"""
    deal_seed: np.ndarray
    """``uint64[N]``"""

    def __len__(self) -> int:
        return len(self.action)

    @staticmethod
    def concat(parts: Sequence["Decisions"]) -> "Decisions":
        """All decisions of ``parts`` in order; at least one part."""
        firsts = np.cumsum([0, *(len(part) for part in parts)])
        columns = {field.name: [getattr(part, field.name) for part in parts] for field in fields(Decisions)}
        columns["following"] = [
            np.where(part.following == NONE, NONE, part.following + first)
            for part, first in zip(parts, firsts, strict=False)
        ]
        return Decisions(**{name: np.concatenate(column) for name, column in columns.items()})


def returns(decisions: Decisions, discount: float) -> np.ndarray:
    """``float32[N]``: the discounted sum of a decision's reward and those behind it, as the deal went on."""
    sums = decisions.reward.astype(np.float64)
    after, behind = decisions.following.copy(), decisions.following != NONE
    weight = discount
    while behind.any():
        sums[behind] += weight * decisions.reward[after[behind]]
        after[behind] = decisions.following[after[behind]]
        behind = after != NONE
        weight *= discount
    return sums.astype(np.float32)


def decisions_of(game: Game, sequences: Sequences, name: str) -> Decisions:
    """All decisions of one shard's deals. ``ValueError`` naming it (``name``) and the deal where a seat's history is
    missing, or where the histories are not those of the deal's seed."""
    order = np.lexsort((sequences.seat, sequences.game))
    number, seat = sequences.game[order], sequences.seat[order]
    first, behind = (np.searchsorted(number, number, side) for side in ("left", "right"))
    complete = (seat == np.arange(len(seat)) - first) & (behind - first == game.num_players)
    if not complete.all():
        deal = number[np.argmin(complete)]
        raise ValueError(
            f"{name}: of deal {deal} it holds seats {seat[number == deal].tolist()}, and a Q-network learns from all "
            f"{game.num_players}; keep what every seat saw (selfplay.population=false, selfplay.initial.keep=[])"
        )
    tokens = sequences.tokens[order].reshape(-1, game.num_players, game.max_length)
    return replayed(game, tokens, sequences.deal_seed[order][:: game.num_players], name)


def replayed(game: Game, tokens: np.ndarray, seeds: np.ndarray, name: str) -> Decisions:
    """All decisions of the deals with these histories (``[D, P, L]``) and seeds (``uint64[D]``), step by step; ``name``
    stands in the ``ValueError`` for histories that are not those of the seeds."""
    features, states = state_features(game), game.deal(seeds)
    latest = np.full((len(seeds), game.num_players), NONE)  # decision of each seat that has no next one yet
    before = np.zeros((len(seeds), game.num_players), np.float32)  # points that a seat had then
    steps, count = list[dict[str, np.ndarray]](), 0
    links, gains = list[tuple[np.ndarray, np.ndarray]](), list[tuple[np.ndarray, np.ndarray]]()
    while len(deals := np.flatnonzero(game.to_move(states) >= 0)):
        now = states[deals]
        seats, legal, points = game.to_move(now), game.legal(now), game.points_so_far(now)
        actions = tokens[deals, seats, game.histories(now, seats)[1]].astype(np.int64)
        _check(legal[np.arange(len(deals)), actions], deals, name)
        new, made = count + np.arange(len(deals)), points[np.arange(len(deals)), seats]
        links.append((latest[deals, seats], new))
        gains.append((latest[deals, seats], made - before[deals, seats]))
        latest[deals, seats], before[deals, seats] = new, made
        steps.append(
            {
                "features": features.encode(now, seats),
                "legal": legal,
                "action": actions,
                "seat": seats,
                "deal_seed": seeds[deals],
            }
        )
        count += len(deals)
        game.play(now, actions)
        states[deals] = now
    for seat in range(game.num_players):
        same = (game.histories(states, np.full(len(seeds), seat))[0] == tokens[:, seat]).all(axis=1)
        _check(same, np.arange(len(seeds)), name)
    gains.append((latest.reshape(-1), (game.points(states) - before).reshape(-1)))
    columns = {key: np.concatenate([step[key] for step in steps]) for key in steps[0]}
    following, reward = np.full(count + 1, NONE), np.zeros(count + 1, np.float32)  # one more, for NONE to index
    for decision, after in links:
        following[decision] = after
    for decision, gain in gains:
        reward[decision] = -gain
    return Decisions(**columns, following=following[:-1], reward=reward[:-1])


def _check(good: np.ndarray, deals: np.ndarray, name: str) -> None:
    if not good.all():
        raise ValueError(
            f"{name}: the histories of deal {deals[np.argmin(good)]} are not those of the cards that its seed deals; "
            "play it with kibitz generate or a self-play run"
        )
