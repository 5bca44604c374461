"""The decisions for measuring values: one position from each of many played deals.

Letters: ``B`` deals, ``M`` decisions, ``P`` seats, ``L`` token positions, ``V`` tokens of the vocabulary.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from games.game import Game
from games.rng import derive, derive_many
from search.players.choices import choice_places
from search.players.player import Player, Turns
from search.players.table import answers, play_table

THIRDS = ("early", "middle", "late")
_MAX_ROUNDS = 20
"""Most deals played per wanted decision; a third of the deal may then stay short of decisions."""


@dataclass(frozen=True)
class Decisions:
    """Turns with a choice, each from a different deal: the seat's history only."""

    tokens: np.ndarray
    """``[M, L]``: the seat's history, ``eos`` behind it."""
    lengths: np.ndarray
    """``int64[M]``: tokens in each history."""
    legal: np.ndarray
    """``bool[M, V]``: legal actions, at least two in every row."""
    third: np.ndarray
    """``int64[M]``: index into ``THIRDS``, by the position among all choices of the seat in its deal."""
    seat: np.ndarray
    """``int64[M]``: the seat."""


def draw_decisions(game: Game, player: Player, count: int, seed: int, table_size: int = 512) -> Decisions:
    """``count`` decisions, equally many early, middle and late ones; fewer if a game hardly has one of these.

    A seat's choices in a deal, its turns with at least two legal actions, are divided into thirds; one choice of one
    third of one seat is drawn from each deal, thirds and seats taking turns from deal to deal.

    Args:
        player: plays every seat of the deals.
        table_size: deals played side by side.

    Raises:
        ValueError: no seat ever has a choice.
    """
    left = np.full(3, count // 3) + (np.arange(3) < count % 3)
    tokens, places, thirds, seats = [], [], [], []
    for first in range(0, count * _MAX_ROUNDS, count):
        histories, choices = _played(game, player, first, count, seed, table_size)
        draws = derive_many(derive(seed, "values", "draws"), count, first)
        for row in range(count):
            third = (first + row) % 3
            candidates = places_of_third(choices[row], third)
            if left[third] and len(candidates):
                left[third] -= 1
                tokens.append(histories[row])
                places.append(candidates[int(draws[row] % np.uint64(len(candidates)))])
                thirds.append(third)
                seats.append(int(_seat(game, first + row)))
        if not left.any():
            break
    if not tokens:
        raise ValueError(f"no seat had two legal actions in {count * _MAX_ROUNDS} deals of {game.name}")
    return _decisions(game, np.array(tokens), *(np.array(column, np.int64) for column in (places, thirds, seats)))


def places_of_third(choices: np.ndarray, third: int) -> np.ndarray:
    """``int64[...]``: the marked places (``bool[L]``) in a third (0, 1, 2), by the middle of the i-th of n equal parts:
    a lone choice is a middle one, two are an early and a late one."""
    places = np.flatnonzero(choices)
    part = 3 * (2 * np.arange(len(places)) + 1) // (2 * max(len(places), 1))
    return places[part == third]


def _played(
    game: Game, player: Player, first: int, count: int, seed: int, table_size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Histories ``[B, L]`` of one seat of each of the deals ``first .. first + count - 1``, and their
    ``choice_places``."""
    deals = derive_many(derive(seed, "values", "deals"), count, first)
    seating = np.zeros((count, game.num_players), np.int64)
    secret = derive(seed, "values", "turns")
    states = play_table(game, [player], seating, deals, table_size, secret=secret).states
    seats = _seat(game, np.arange(first, first + count))
    tokens, lengths = game.histories(states, seats)
    return tokens, choice_places(game, tokens, lengths)


def _seat(game: Game, deals: Any) -> Any:
    """The seats whose decisions are drawn from so many-th ``deals``."""
    return deals // 3 % game.num_players


def _decisions(game: Game, tokens: np.ndarray, places: np.ndarray, thirds: np.ndarray, seats: np.ndarray) -> Decisions:
    """The decisions after ``places`` tokens of whole histories; cuts the later tokens."""
    before = np.where(np.arange(tokens.shape[1]) < places[:, None], tokens, game.vocabulary.eos).astype(tokens.dtype)
    return Decisions(before, places, game.view_legal(game.views(before, places)), thirds, seats)


def choices_of(player: Player, game: Game, decisions: Decisions, rows: np.ndarray, seed: int) -> np.ndarray:
    """``int64[B]``: what ``player``, which sees what the seats have seen, chooses at the decisions ``rows``
    (``int64[B]``), all side by side; ``seed`` is that of its random numbers at all decisions."""
    seeds = derive_many(derive(seed, "values", "choices"), len(decisions.seat))[rows]
    player.start(game, len(rows))
    lengths, places = decisions.lengths[rows].astype(np.int32), np.arange(len(rows))
    columns = decisions.seat[rows], decisions.tokens[rows], lengths, decisions.legal[rows], seeds
    chosen = answers(player, Turns(places, *columns), places)
    player.forget(places)
    return chosen
