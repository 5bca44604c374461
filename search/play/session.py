"""Hands of one game with a person at one seat: deals, turns and points, without a screen.

Players are called as at a table (``search.players.table``). The true states stay in this module. It reveals only whose
turn it is, and histories: the person's as it grows, those of all seats when a finished hand is saved.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from games.game import Game
from games.rng import derive
from games.shards import Sequences, write_shard
from search.players.player import Player
from search.players.table import answers, turns_at

HUMAN = "human"
"""The person's name in shards."""


def check_seats(game: Game, others: int, seat: int) -> None:
    """``ValueError`` for a number of players that does not leave exactly one seat, or a seat that does not exist."""
    if not 0 <= seat < game.num_players:
        raise ValueError(f"seat={seat}: {game.name} has seats 0 to {game.num_players - 1}")
    if others != game.num_players - 1:
        wanted = f"one for each other seat of {game.name}, {game.num_players - 1} in all"
        raise ValueError(f"players: {others} given; name {wanted}, or one for all of them")


class Session:
    """The first hand is dealt at once; ``deal`` deals the next one."""

    def __init__(self, game: Game, others: Sequence[Player], seat: int, seed: int) -> None:
        """
        Args:
            others: players of the other seats, clockwise from the person's left; a player may hold several seats.
            seat: the person's, from 0.
            seed: of the deals and all random numbers.

        Raises:
            ValueError: see ``check_seats``.
        """
        check_seats(game, len(others), seat)
        self.game, self.seat, self.seed = game, seat, seed
        self._secret = derive(seed, "decisions")
        self._players = {(seat + 1 + i) % game.num_players: player for i, player in enumerate(others)}
        for player in set(self._players.values()):
            player.start(game, 1)
        self._finished: list[Sequences] = []
        self._points: list[np.ndarray] = []
        self.deal()

    # ---- what the person knows

    @property
    def history(self) -> np.ndarray:
        """``[T]``: the tokens of the person's seat in the current hand, ``eos`` included once it has ended."""
        tokens, lengths = self.game.histories(self._state, np.array([self.seat]))
        return tokens[0, : lengths[0]].copy()

    @property
    def over(self) -> bool:
        """Whether the current hand has ended."""
        return self._turn < 0

    @property
    def my_turn(self) -> bool:
        """Whether the person is to act."""
        return self._turn == self.seat

    @property
    def points(self) -> np.ndarray:
        """``float32[H, P]``: points of the finished hands, the person's first, then clockwise."""
        return np.array(self._points, np.float32).reshape(-1, self.game.num_players)

    # ---- what happens

    def deal(self) -> None:
        """Deal the next hand. ``ValueError`` while one is being played."""
        if hasattr(self, "_state") and not self.over:
            raise ValueError("the hand is not over; play it to its end before the next one is dealt")
        number = len(self._points)
        self._deal_seed = number if self.game.num_deals else derive(self.seed, "hand", number)
        self._state = self.game.deal(np.array([self._deal_seed], np.uint64))
        self._look()
        if self.over:  # a board without a move
            self._finish()

    def act(self, token: int) -> None:
        """Play the person's action. ``ValueError`` on another seat's turn, or for an illegal action."""
        if not self.my_turn:
            raise ValueError("it is not your turn")
        self._play(token)

    def let_play(self) -> None:
        """Play one decision of another seat; takes as long as its player thinks. ``ValueError`` on the person's turn or
        after the end."""
        if self.over or self.my_turn:
            raise ValueError("no other seat is to act")
        seats, place = np.array([self._turn]), np.zeros(1, np.int64)
        seeds = np.array([self._deal_seed], np.uint64)
        turns = turns_at(self.game, self._state, place, seats, seeds, self._secret)
        self._play(int(answers(self._players[self._turn], turns, place, self._state)[0]))

    def _play(self, token: int) -> None:
        self.game.play(self._state, np.array([token]))
        self._look()
        if self.over:
            self._finish()

    def _look(self) -> None:
        self._turn = int(self.game.to_move(self._state)[0])

    def _finish(self) -> None:
        for player in set(self._players.values()):
            player.forget(np.zeros(1, np.int64))
        self._points.append(np.roll(self.game.points(self._state)[0], -self.seat))
        named = {seat: player.name for seat, player in self._players.items()} | {self.seat: HUMAN}
        names = np.array([[named[seat] for seat in range(self.game.num_players)]], object)
        seeds, first = np.array([self._deal_seed], np.uint64), len(self._finished)
        self._finished.append(Sequences.of_deals(self.game, self._state, seeds, names, first=first))

    # ---- what is kept

    def save(self, path: str, provenance: Mapping[str, str]) -> None:
        """Write all finished hands, at least one, as a shard with every seat's sequence; replaces the file written
        before."""
        write_shard(path, Sequences.concat(self._finished), self.game, {"run_seed": str(self.seed), **provenance})
