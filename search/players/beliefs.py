"""Likelihood of a seat's actions given its history, under a network's policy or a scripted player.

Letters: ``B`` histories, ``L`` token positions, ``D`` decisions in them.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from games.game import Game
from learner.observation_model import EMPTY, ObservationModel
from search.players.choices import choice_places, turns_before
from search.players.player import Player
from search.players.policy import legal_policy

Beliefs = Callable[[Game, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""(game, tokens ``[B, L]`` of one seat each, lengths ``int[B]``, places ``bool[B, L]``) -> ``float64[B]``: ln p of the
seat's own actions at these places. Forced moves count nothing."""

ODD = 0.1
"""Assumed share of random actions: one unlikely action does not rule out a deal."""
_ROWS, _DECISIONS = 256, 16_384
"""Most histories that a network, and most decisions that a player gets side by side; more would only leave the
processor's caches."""


def by_network(model: ObservationModel) -> Beliefs:
    """Seats act by a network's policy."""
    return partial(_network_logs, model)


def by_player(make: Callable[[Game], Player]) -> Beliefs:
    """Seats act as the player that ``make`` returns for the game; it must use neither random numbers nor ``seat``."""
    return partial(_player_logs, make)


def _network_logs(
    model: ObservationModel, game: Game, tokens: np.ndarray, lengths: np.ndarray, places: np.ndarray
) -> np.ndarray:
    size = max(1, min(_ROWS, model.slots_left // game.max_length))
    parts = [slice(first, first + size) for first in range(0, len(tokens), size)]
    return np.concatenate([_asked(model, game, tokens[part], lengths[part], places[part]) for part in parts])


def _asked(
    model: ObservationModel, game: Game, tokens: np.ndarray, lengths: np.ndarray, places: np.ndarray
) -> np.ndarray:
    """``float64[B]``, of all histories side by side: first choices, then second ones, which takes few queries."""
    logs, handles = np.zeros(len(tokens)), np.full(len(tokens), EMPTY)
    known, asks = np.zeros(len(tokens), np.int64), choice_places(game, tokens, lengths) & places
    while len(rows := np.flatnonzero(asks.any(axis=1))):
        now = asks[rows].argmax(axis=1)
        asks[rows, now] = False
        new = [tokens[row, known[row] : place] for row, place in zip(rows, now, strict=True)]
        answer = model.query(handles[rows], np.concatenate(new), now - known[rows])
        model.release(handles[rows])
        handles[rows], known[rows] = answer.handles, now
        legal = game.view_legal(game.views(tokens[rows], now))
        taken = legal_policy(answer.next_token, legal)[np.arange(len(rows)), tokens[rows, now]]
        logs[rows] += _with_odd(taken, legal)
    model.release(handles)
    return logs


def _player_logs(
    make: Callable[[Game], Player], game: Game, tokens: np.ndarray, lengths: np.ndarray, places: np.ndarray
) -> np.ndarray:
    player, logs = make(game), np.zeros(len(tokens))
    every_row, every_place = np.nonzero(choice_places(game, tokens, lengths) & places)
    for first in range(0, len(every_row), _DECISIONS):
        rows, now = every_row[first : first + _DECISIONS], every_place[first : first + _DECISIONS]
        nothing = np.zeros(len(rows), np.int64)
        turns = turns_before(game, tokens[rows], now, np.arange(len(rows)), nothing, nothing.astype(np.uint64))
        player.start(game, len(rows))
        agrees = player.act(turns) == tokens[rows, now]
        np.add.at(logs, rows, _with_odd(agrees.astype(np.float64), turns.legal))
    return logs


def _with_odd(taken: np.ndarray, legal: np.ndarray) -> np.ndarray:
    """``float64[D]``: ln p of actions of probability ``taken``, with the share of random ``legal`` ones
    (``bool[D, V]``)."""
    return np.asarray(np.log((1 - ODD) * taken + ODD / legal.sum(axis=1)))
