"""Bidding up to a percentile of a network's distribution over its own limit (paper 004, equation 1).

A network that reads histories has no output for limits, but says at each call how likely its seat passes. Who is asked
for more than its limit passes, so the probability of a limit of at least what is asked is the product of 1 - p(pass)
over the seat's calls so far, the present one included.

Letters: ``M`` turns of a batch, ``C`` calls, ``V`` tokens of the vocabulary.
"""

import numpy as np

from games.game import Game
from learner.observation_model import EMPTY
from search.players.config import BiddingConfig
from search.players.histories import ModelPlayer, tokens_since
from search.players.player import ChoosingPlayer, Player, Turns
from search.players.policy import legal_policy
from search.players.support import Auction, Calls, Support

_ROUNDING = 1e-6
"""Rounding error of sums and products of probabilities."""


class PercentileBidder(ChoosingPlayer):
    """Goes along in auctions while P(limit < what is asked) < A, by the smallest call; all other turns are another
    player's. Keeps nothing between turns."""

    def __init__(self, player: ModelPlayer, auction: Auction, a: float) -> None:
        """``player``: its model says how likely the seat passes; ``a``: A of equation 1."""
        self.name = player.name
        self._player, self._auction, self._a = player, auction, a

    def start(self, game: Game, num_games: int) -> None:
        """See ``Player``."""
        super().start(game, num_games)
        self._player.start(game, num_games)

    def forget(self, games: np.ndarray) -> None:
        """See ``Player``."""
        self._player.forget(games)

    def act(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: see ``Player.act``, and ``Sampling.probabilities`` where the other player has them."""
        calls, actions = self._auction(self.game, turns), np.empty(len(turns.legal), np.int64)
        others = np.setdiff1d(np.arange(len(actions)), calls.turn)
        actions[others] = self._player.act(turns.take(others))
        now = calls.length == turns.lengths[calls.turn]
        goes_on = 1.0 - self._at_least(turns, calls)[now] < self._a - _ROUNDING
        actions[calls.turn[now]] = np.where(goes_on, calls.onward[now], calls.passing)
        if hasattr(self._player, "probabilities"):
            self.probabilities = np.ones(len(actions), np.float32)
            self.probabilities[others] = self._player.probabilities
        return actions

    def _at_least(self, turns: Turns, calls: Calls) -> np.ndarray:
        """``float64[C]``: probability that the seat's limit is at least what it is asked for at each call.

        Each call's history is asked about from the one before, so that a turn takes no more than its history's tokens
        of the model's cache.
        """
        model, number = self._player.histories.model, len(turns.legal)
        handles, held = np.full(number, EMPTY), np.zeros(number, np.int64)
        left, found = np.ones(number), np.empty(len(calls.turn))
        nth = np.arange(len(calls.turn)) - np.searchsorted(calls.turn, calls.turn)
        for n in range(nth.max(initial=-1) + 1):
            now = np.flatnonzero(nth == n)
            rows, lengths = calls.turn[now], calls.length[now]
            answer = model.query(handles[rows], *tokens_since(turns.tokens[rows], held[rows], lengths))
            model.release(handles[rows])
            handles[rows], held[rows] = answer.handles, lengths
            left[rows] *= 1.0 - legal_policy(answer.next_token, calls.legal[now])[:, calls.passing].astype(np.float64)
            found[now] = left[rows]
        model.release(handles)
        return found


def with_bidding(player: ModelPlayer, config: BiddingConfig, support: Support) -> Player:
    """The player, bidding as its settings say."""
    if config.bidding == "own" or support.auction is None:
        return player
    return PercentileBidder(player, support.auction, config.a)


def check_bidding(kind: str, game: Game, config: BiddingConfig, support: Support) -> None:
    """``ValueError`` for bidding by percentile in a game without an auction; ``kind``: the player's name."""
    if config.bidding != "own" and support.auction is None:
        raise ValueError(f"{kind}.bidding={config.bidding}: {game.name} has no auction; give {kind}.bidding=own")
