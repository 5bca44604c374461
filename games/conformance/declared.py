"""Laws about what a game says of itself: its records, the types of its answers, labels, words."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from games import registry
from games.compiled import CompiledGame
from games.conformance.playing import finished, random_actions
from games.game import Game
from games.outcomes import OutcomeTable
from games.rng import derive, derive_many, mix
from games.vocabulary import Vocabulary

_TYPES: dict[str, type] = {
    "name": str,
    "title": str,
    "options": Mapping,
    "rules_version": int,
    "num_players": int,
    "max_length": int,
    "vocabulary": Vocabulary,
    "outcomes": OutcomeTable,
    "num_deals": int,
    "series": int,
    "features": Mapping,
}
_PLAIN = (bool, int, float, str)


def check_declarations(game: Game, num_deals: int = 0, seed: int = 0) -> None:
    """A game has what files say of it, in types that files can hold, under a name that is not another's; and its
    outcome table has every label from every seat."""
    for key, kind in _TYPES.items():
        assert hasattr(game, key), f"the game has no {key}; shards and checkpoints carry it ({kind.__name__})"
        value = getattr(game, key)
        right = isinstance(value, kind) and (kind is not int or type(value) is int)
        assert right, f"{key} is {value!r} ({type(value).__name__}); it must be of type {kind.__name__}"
    ours = registry.class_of(game.name)
    assert ours is None or isinstance(game, ours), f"{game.name!r} is a game of Kibitz's own; choose another name"
    for key, value in game.options.items():
        said = f"option {key!r} is {value!r} ({type(value).__module__}.{type(value).__name__})"
        assert type(key) is str and type(value) in _PLAIN, f"{said}; files hold bool, int and str of Python"
    if game.outcomes.exact:
        _check_rotations(game.outcomes.points.astype(np.float64), game.num_players)


def _check_rotations(points: np.ndarray, num_players: int) -> None:
    assert points.shape[1] == num_players, f"outcome points have {points.shape[1]} columns for {num_players} seats"
    known = {tuple(row) for row in points.tolist()}
    for row in points.tolist():
        turned = (*row[1:], row[0])
        assert turned in known, f"the outcome table has points {row}, and not the same from the next seat, {turned}"


def check_length(game: Game, lengths: np.ndarray) -> None:
    """No history is longer than the game says."""
    assert lengths.max() <= game.max_length, f"a history of {lengths.max()} tokens, and max_length is {game.max_length}"


def check_answers(game: Game, num_deals: int, seed: int) -> None:
    """Answers have the types and shapes of the contract, at a deal's beginning and end, and histories fit
    ``max_length``."""
    states, seats = game.deal(derive_many(seed, num_deals)), np.arange(num_deals) % game.num_players
    vocabulary, rows, kinds = (num_deals, game.vocabulary.size), (num_deals,), (num_deals, game.outcomes.num_labels)
    for when in ("a fresh deal", "the end"):
        tokens, lengths = game.histories(states, seats)
        _check("lengths of histories", when, lengths, np.int32, rows)
        check_length(game, lengths)
        _check("histories", when, tokens, game.vocabulary.dtype, (num_deals, game.max_length))
        _check("to_move", when, game.to_move(states), np.int8, rows)
        _check("legal", when, game.legal(states), np.bool_, vocabulary)
        _check("outcome", when, game.outcome(states), np.int32, (num_deals, game.num_players))
        _check("scenario", when, game.scenario(states), np.int16, rows)
        views = game.views(tokens, lengths)
        _check("next", when, game.next(views), np.int8, rows)
        _check("next_type", when, game.next_type(views), np.int8, rows)
        _check("view_legal", when, game.view_legal(views), np.bool_, vocabulary)
        _check("view_outcome", when, game.view_outcome(views), np.int32, rows)
        _check("view_outcomes", when, game.view_outcomes(views), np.bool_, kinds)
        _check("consistent", when, game.consistent(views), np.bool_, rows)
        game.playout(states, derive_many(derive(seed, "playout"), num_deals))


def check_labels(game: Game, num_deals: int, seed: int) -> None:
    """Every deal that ends has a label, from every seat: compiled games play a hundred times as many deals, some of
    them by seats that always play their first or last legal action, as rare ends want strange play."""
    if not isinstance(game, CompiledGame):
        return
    seeds = derive_many(derive(seed, "labels"), 100 * num_deals)
    states = game.deal(seeds)
    random, strange = np.split(states, [80 * num_deals])
    game.playout(random, seeds[: len(random)])
    styles = mix(seeds[len(random) :, None], np.arange(game.num_players)) % np.uint64(3)
    while (seats := game.to_move(strange)).max() >= 0:
        legal, style = game.legal(strange), styles[np.arange(len(strange)), seats]
        drawn = random_actions(legal, mix(seeds[len(random) :], len(legal)))
        last = legal.shape[1] - 1 - np.argmax(legal[:, ::-1], axis=1)
        game.play(strange, np.select([style == 0, style == 1], [np.argmax(legal, axis=1), last], drawn))
    for part in (random, strange):
        labels = game.outcome(part)
        row, seat = np.unravel_index(np.argmin(labels), labels.shape)
        public = dict(zip(part.dtype["public"].names or (), part["public"][row].tolist(), strict=True))
        assert labels[row, seat] >= 0, f"seat {seat}: the outcome table has no label for a deal that ended so: {public}"
        tokens, lengths = game.histories(part, np.zeros(len(part), np.int64))
        assert (game.view_outcome(game.views(tokens, lengths)) == labels[:, 0]).all(), "a view has another label"


def check_describe(game: Game, num_deals: int, seed: int) -> None:
    """``describe`` takes every history and every beginning of one, the empty one too: pages show deals step by
    step."""
    states = finished(game, 1, seed)
    for seat in range(game.num_players):
        tokens, lengths = game.histories(states, np.array([seat]))
        for length in range(int(lengths[0]) + 1):
            try:
                described = game.describe(tokens[0, :length])
            except Exception as error:
                raise AssertionError(f"describe of the first {length} tokens of seat {seat}: {error!r}") from error
            assert isinstance(described, str), f"describe gives a {type(described).__name__}, no text"


def _check(what: str, when: str, answer: np.ndarray, dtype: Any, shape: tuple[int, ...]) -> None:
    wanted = f"{np.dtype(dtype)}{list(shape)}"
    right = isinstance(answer, np.ndarray) and answer.dtype == dtype and answer.shape == shape
    assert right, f"{what} at {when} is {getattr(answer, 'dtype', type(answer))}{list(np.shape(answer))}, not {wanted}"
