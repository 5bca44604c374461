"""OpenSpiel's games by name: what is supported, their names and parameters, and the ways they can end."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyspiel

from games.outcomes import OutcomeTable

_MAX_LABELS = 65536
_MAX_ENUMERATED = 200_000
_MAX_ACTIONS, _MAX_MOVES = 65_000, 100_000
"""What is listed by name, as tokens of two bytes, and how long histories are: options may ask for any number."""


def load_game(load_string: str, parameters: dict[str, bool | int | str]) -> Any:
    """The ``pyspiel.Game``; ``ValueError`` for what cannot be loaded or is not supported."""
    name, bracket, inside = load_string.strip().partition("(")
    settings = [text for text in (inside.rpartition(")")[0] if bracket else "").split(",") if text]
    settings += [f"{key}={value}" for key, value in parameters.items()]
    if name not in pyspiel.registered_names():
        raise ValueError(f"OpenSpiel has no game {name!r}; pyspiel.registered_names() lists its games")
    try:
        game = pyspiel.load_game(f"{name}({','.join(settings)})")
    except (pyspiel.SpielError, MemoryError) as error:
        raise ValueError(f"OpenSpiel does not load {load_string!r} with {parameters}: {error}") from None
    kind = game.get_type()
    if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise ValueError(f"{name} is not sequential; simultaneous moves are not supported")
    if kind.reward_model != pyspiel.GameType.RewardModel.TERMINAL:
        raise ValueError(f"{name} pays rewards before the end; only games paid at the end are supported")
    if not kind.provides_information_state_string:
        raise ValueError(f"{name} has no information_state_string, which histories are made of")
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise ValueError(f"{name} samples chance inside OpenSpiel; only games with chance nodes are supported")
    for what, size, most in (
        ("actions", game.num_distinct_actions(), _MAX_ACTIONS),
        ("moves", game.max_game_length(), _MAX_MOVES),
    ):
        if not 0 <= size <= most:
            raise ValueError(f"{game} has {size:,} {what}, and at most {most:,} are supported; make it smaller")
    return game


def plain_parameters(spiel_game: Any) -> dict[str, bool | int | str]:
    """All parameters in force; numbers with a fraction as text."""
    plain: dict[str, bool | int | str] = {}
    for key, value in sorted(spiel_game.get_parameters().items()):
        if isinstance(value, dict):
            raise ValueError(f"{spiel_game}: games made of games ({key}) are not supported")
        plain[key] = value if isinstance(value, bool | int | str) else repr(value)
    return plain


def action_names(spiel_game: Any) -> list[str]:
    """Names of the player actions by id; their numbers where OpenSpiel's names are not unique."""
    ids = range(spiel_game.num_distinct_actions())
    names = [str(spiel_game.action_to_string(0, action)) for action in ids]
    taken = ("seat ", "turn", "chance ", "return ", "eos")
    usable = len(set(names)) == len(names) and not any(name.lower().startswith(taken) for name in names)
    if usable and not any(name.startswith("Action(") for name in names):
        return names
    return [f"action {action}" for action in ids]


def _terminal_returns(spiel_game: Any) -> Iterator[tuple[float, ...]]:
    """Returns of every end of the game tree; ``ValueError`` for a tree that is too large."""
    open_states, visited = [spiel_game.new_initial_state()], 0
    while open_states:
        state = open_states.pop()
        visited += 1
        if visited > _MAX_ENUMERATED:
            raise ValueError(
                f"{spiel_game} has more than {_MAX_ENUMERATED} states, too many to list its outcomes; "
                "set outcomes=buckets"
            )
        if state.is_terminal():
            yield tuple(state.returns())
        else:
            open_states.extend(state.child(action) for action in state.legal_actions())


def enumerated_returns(spiel_game: Any) -> tuple[np.ndarray, np.ndarray]:
    """Levels ``float[R]`` and vectors ``int[K, P]`` of level indices: every end, seen from every seat."""
    ends = np.unique(np.round(np.array(list(set(_terminal_returns(spiel_game)))), 9), axis=0)  # sums differ by 1e-15
    levels, indices = np.unique(ends, return_inverse=True)
    indices = indices.reshape(ends.shape)
    seats = range(ends.shape[1])
    return levels, np.unique(np.concatenate([np.roll(indices, -seat, axis=1) for seat in seats]), axis=0)


def bucketed_returns(spiel_game: Any, num_buckets: int) -> tuple[np.ndarray, np.ndarray]:
    """As ``enumerated_returns`` for evenly spread levels and every vector of them."""
    players = spiel_game.num_players()
    if num_buckets**players > _MAX_LABELS:
        raise ValueError(
            f"{num_buckets} buckets for each of {players} seats make more than {_MAX_LABELS} outcome labels; "
            "set fewer num_buckets"
        )
    levels = np.linspace(spiel_game.min_utility(), spiel_game.max_utility(), num_buckets)
    return levels, np.indices((num_buckets,) * players).reshape(players, -1).T


def outcome_table(spiel_game: Any, points: np.ndarray) -> OutcomeTable:
    """Points ``[K, P]`` with the utilities ``return`` and ``difference``, in units of the largest possible return."""
    if len(points) > _MAX_LABELS:
        raise ValueError(f"{spiel_game} has {len(points)} outcomes, more than {_MAX_LABELS}; set outcomes=buckets")
    scale = max(abs(spiel_game.min_utility()), abs(spiel_game.max_utility())) or 1.0
    own, others = points[:, 0], points[:, 1:].mean(axis=1) if points.shape[1] > 1 else np.zeros(len(points))
    return OutcomeTable(points, {"return": own / scale, "difference": (own - others) / scale})
