"""The decisions with a choice in played deals.

Letters: ``B`` histories, ``L`` token positions.
"""

import numpy as np

from games.game import Game


def choice_places(game: Game, tokens: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """``bool[B, L]``: after how many tokens of each history (``[B, L]``, ``int[B]``) its seat acts and has a choice."""
    views = game.views(tokens, np.zeros(len(tokens), np.int64))
    places = np.zeros(tokens.shape, np.bool_)
    for place in range(int(lengths.max())):
        places[:, place] = (game.view_legal(views).sum(axis=1) > 1) & (place < lengths)
        game.advance(views, tokens[:, place])
    return places
