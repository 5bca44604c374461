"""Branches with values: what a player says each action of a decision is worth, in place of how a deal ended after it.

A search that judges many sampled deals says that with less noise than the one true deal, and sees no more than the seat
did. The policy learns from the values by ``learner.policy.kind=values``.

Letters: ``N`` sequences, ``L`` token positions, ``M`` turns, ``Z`` branches.
"""

from collections.abc import Collection

import numpy as np

from games.branches import NO_OUTCOME, Branches
from games.game import Game
from games.rng import derive, keyed_hash
from games.shards import Sequences
from search.players.choices import turns_before
from search.players.player import Player
from selfplay.branches import draw_places

_AT_ONCE = 1024
"""Turns valued side by side."""


def valued(
    game: Game, sequences: Sequences, player: Player, count: int, seed: int, types: Collection[str] = ()
) -> Branches:
    """Branches of sequences, each by what its seat has seen alone.

    Args:
        player: a ``search.players.player.Valuing``.
        count: decisions of each sequence, drawn among those with at least two legal actions; all where there are fewer.
        seed: of the draws and the player's decisions.
        types: of token (``Game.token_types``) that the decisions are; empty for all.
    """
    rows, places = np.nonzero(draw_places(game, sequences, count, seed, types))
    secret, found = derive(seed, "decisions"), [np.zeros((3, 0), np.int64)]
    values = [np.zeros(0, np.float32)]
    for first in range(0, len(rows), _AT_ONCE):
        row, place = rows[first : first + _AT_ONCE], places[first : first + _AT_ONCE]
        seats = sequences.seat[row].astype(np.int64)
        draws = keyed_hash(secret, sequences.deal_seed[row], seats, place)
        player.start(game, len(row))
        turns = turns_before(game, sequences.tokens[row], place, np.arange(len(row)), seats, draws)
        worth = player.action_values(turns)  # type: ignore[attr-defined]
        turn, token = np.nonzero(np.isfinite(worth) & turns.legal)
        found.append(np.stack([row[turn], place[turn], token]))
        values.append(worth[turn, token].astype(np.float32))
        player.forget(np.arange(len(place)))  # the engines outlive the player
    row, place, token = np.concatenate(found, axis=1)
    return Branches.of_rows(len(sequences), row, place, token, np.full(len(row), NO_OUTCOME), np.concatenate(values))
