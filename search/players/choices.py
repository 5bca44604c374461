"""The decisions with a choice in played deals.

Letters: ``B`` histories, ``L`` token positions, ``V`` tokens.
"""

from collections.abc import Collection

import numpy as np

from games.game import Game
from games.rng import derive, derive_many, mix
from search.players.player import Turns


def choice_places(game: Game, tokens: np.ndarray, lengths: np.ndarray, types: Collection[str] = ()) -> np.ndarray:
    """``bool[B, L]``: after how many tokens of each history (``[B, L]``, ``int[B]``) its seat acts and has a choice, of
    one of the ``types`` of token if any are given (``Game.token_types``)."""
    views = game.views(tokens, np.zeros(len(tokens), np.int64))
    places = np.zeros(tokens.shape, np.bool_)
    wanted = np.array([name in types for name in game.token_types])
    for place in range(int(lengths.max())):
        choices = (game.view_legal(views).sum(axis=1) > 1) & (place < lengths)
        places[:, place] = choices & wanted[game.next_type(views)] if types else choices
        game.advance(views, tokens[:, place])
    return places


def place_bits(seed: int, num_histories: int, num_places: int) -> np.ndarray:
    """``uint64[B, L]``: 64 random bits for every place of every history."""
    rows = derive_many(derive(seed, "places"), num_histories)
    return np.asarray(mix(rows[:, None], np.arange(num_places, dtype=np.uint64)[None]))


def turns_before(
    game: Game, tokens: np.ndarray, places: np.ndarray, rows: np.ndarray, seats: np.ndarray, seeds: np.ndarray
) -> Turns:
    """The decisions after so many ``places`` (``int[B]``) of histories (``[B, L]``); the other columns are ``Turns``'
    own: ``rows`` the places at the table."""
    seen = np.where(np.arange(tokens.shape[1]) < places[:, None], tokens, tokens.dtype.type(game.vocabulary.eos))
    return Turns(rows, seats, seen, places.astype(np.int32), game.view_legal(game.views(seen, places)), seeds)
