"""Hands of one game with people at some seats: deals, turns and points, without a screen.

Players are called as at a table (``search.players.table``). The true states stay in this module. It reveals only whose
turn it is, and histories: those of people's seats as they grow, those of all seats when a finished hand is saved.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import numpy as np
from pydantic import Field

from games.game import Game
from games.rng import derive, derive_many
from games.shards import Sequences, write_shard
from search.apps.pictures.texts import Text
from search.players.player import Player
from search.players.table import answers, turns_at

_DRAWN = 1024
"""Deals among which one of a scenario is found."""
HUMAN = "human"
"""The person's name in shards."""
Decisions = list[list[list[Annotated[int, Field(ge=0, lt=2**31)]]]]
"""What was decided in each hand, in order; a decision is one action or several (tokens)."""


def check_seats(game: Game, others: int, seat: int) -> None:
    """``ValueError`` for a number of players that does not leave exactly one seat, or a seat that does not exist."""
    if not 0 <= seat < game.num_players:
        raise ValueError(f"seat={seat}: {game.name} has seats 0 to {game.num_players - 1}")
    if others != game.num_players - 1:
        wanted = f"one for each other seat of {game.name}, {game.num_players - 1} in all"
        raise ValueError(f"players: {others} given; name {wanted}, or one for all of them")


class Hands:
    """Hands with people at some seats and players at the others. The first is dealt at once; ``deal`` deals the next
    one."""

    def __init__(self, game: Game, players: Mapping[int, Player], seed: int, first: int = -1) -> None:
        """
        Args:
            players: of some seats; people sit at the others. A player may hold several seats.
            seed: of the deals and all random numbers.
            first: the first deal's of ``Game.scenarios``, from which each success leads to the next one; -1 for any.
        """
        self.game, self.seed, self._first = game, seed, first
        self.people = tuple(seat for seat in range(game.num_players) if seat not in players)
        self._secret = derive(seed, "decisions")
        self._players = dict(players)
        for player in set(self._players.values()):
            player.start(game, 1)
        self._finished: list[Sequences] = []
        self._points: list[np.ndarray] = []
        self._before: list[tuple[int, np.ndarray]] = []
        """Seat and state of each decision of the current hand."""
        self.decisions: Decisions = []
        """The decisions of all seats, the current hand last."""
        self.deal()

    # ---- what people know

    def history_of(self, seat: int) -> np.ndarray:
        """``[T]``: the tokens of a person's seat in the current hand, ``eos`` included once it has ended."""
        tokens, lengths = self.game.histories(self._state, np.array([seat]))
        return tokens[0, : lengths[0]].copy()

    @property
    def turn(self) -> int:
        """The seat to act; -1 once the hand is over."""
        return self._turn

    @property
    def over(self) -> bool:
        """Whether the current hand has ended."""
        return self._turn < 0

    @property
    def finished(self) -> int:
        """Number of finished hands."""
        return len(self._points)

    def points_of(self, seat: int) -> np.ndarray:
        """``float32[H, P]``: points of the finished hands, those of ``seat`` first, then clockwise."""
        points = np.array(self._points, np.float32).reshape(-1, self.game.num_players)
        return np.roll(points, -seat, axis=1)

    # ---- what happens

    def deal(self) -> None:
        """Deal the next hand. ``ValueError`` while one is being played."""
        if hasattr(self, "_state") and not self.over:
            raise ValueError(Text("serve.not_over"))
        number = len(self._points)
        self._deal_seed = number if self.game.num_deals else self._drawn(derive(self.seed, "hand", number))
        self._state = self.game.deal(np.array([self._deal_seed], np.uint64))
        self._before.clear()
        self.decisions.append([])
        self._look()
        if self.over:  # a board without a move
            self._finish()

    def _drawn(self, seed: int) -> int:
        """The seed of a deal of the scenario that is due; of any where the game deals none such."""
        if self._first < 0:
            return seed
        due = min(self._first + sum(points[0] > 0 for points in self._points), len(self.game.scenarios) - 1)
        seeds = derive_many(seed, _DRAWN)
        fitting = seeds[self.game.scenario(self.game.deal(seeds)) == due]
        return int(fitting[0]) if len(fitting) else seed

    def play(self, seat: int, *tokens: int) -> None:
        """A person's decision, of one action or several. ``ValueError`` on another seat's turn, or for an illegal
        action; nothing has changed then."""
        if seat != self._turn or seat not in self.people:
            raise ValueError(Text("serve.no_turn"))
        self._decide(tokens)

    def choice(self) -> int:
        """The decision of the player to act, which is not played yet. ``ValueError`` on a person's turn or after the
        end."""
        if self.over or self._turn in self.people:
            raise ValueError("no other seat is to act")
        seats, place = np.array([self._turn]), np.zeros(1, np.int64)
        seeds = np.array([self._deal_seed], np.uint64)
        turns = turns_at(self.game, self._state, place, seats, seeds, self._secret)
        return int(answers(self._players[self._turn], turns, place, self._state)[0])

    def let_play(self, chosen: int | None = None) -> None:
        """Play one decision of a player: what it has ``chosen``, or its ``choice`` now."""
        self._decide([self.choice() if chosen is None else chosen])

    def can_undo(self, seat: int) -> bool:
        """Whether a person has decided in this hand, which is not over."""
        return not self.over and any(who == seat for who, _ in self._before)

    def undo(self, seat: int) -> None:
        """Take back the last decision of a person, and all that followed. ``ValueError`` where there is none."""
        if not self.can_undo(seat):
            raise ValueError(Text("serve.nothing"))
        who = -1
        while who != seat:
            who, self._state = self._before.pop()
            self.decisions[-1].pop()
        self.leave()
        self._look()

    def resume(self, decisions: Decisions) -> None:
        """Make these ``decisions`` again from the first deal on, asking no player. ``ValueError`` for actions that are
        not legal, or a hand that ends too late or too early."""
        for number, hand in enumerate(decisions):
            if number:
                self.deal()
            for tokens in hand:
                if self.over:
                    raise ValueError(f"hand {number} goes on after its end")
                if max(tokens, default=0) >= self.game.vocabulary.size:
                    raise ValueError(f"no action {max(tokens)}")
                self._decide(tokens)

    def _decide(self, tokens: Sequence[int]) -> None:
        """One decision of the seat to act. ``ValueError`` for an illegal action; nothing has changed then."""
        before = self._turn, self._state.copy()
        try:
            for number, token in enumerate(tokens):
                if number and self.game.to_move(self._state)[0] != self._turn:
                    raise ValueError("the turn is over after fewer actions")
                self.game.play(self._state, np.array([token]))
        except ValueError:
            self._state = before[1]
            raise
        self._before.append(before)
        self.decisions[-1].append(list(tokens))
        self._look()
        if self.over:
            self._finish()

    def _look(self) -> None:
        self._turn = int(self.game.to_move(self._state)[0])

    def leave(self) -> None:
        """Let players forget the hand: it is over, taken back, or left."""
        for player in set(self._players.values()):
            player.forget(np.zeros(1, np.int64))

    def _finish(self) -> None:
        self.leave()
        self._points.append(self.game.points(self._state)[0])
        named = {seat: player.name for seat, player in self._players.items()} | dict.fromkeys(self.people, HUMAN)
        names = np.array([[named[seat] for seat in range(self.game.num_players)]], object)
        seeds, first = np.array([self._deal_seed], np.uint64), len(self._finished)
        self._finished.append(Sequences.of_deals(self.game, self._state, seeds, names, first=first))

    # ---- what is kept

    @property
    def last(self) -> Sequences:
        """All seats' sequences of the last finished hand. ``IndexError`` before there is one."""
        return self._finished[-1]

    def played_by(self, player: Player) -> Iterator[np.ndarray | None]:
        """``float32[P]``: points of each seat where ``player`` sits in place of people in the deal of the last finished
        hand; None after each decision on the way there."""
        at_table = dict.fromkeys(self.people, player) | self._players
        for one in set(at_table.values()):
            one.start(self.game, 1)
        seeds = np.array([self.last.deal_seed[0]], np.uint64)
        state, place = self.game.deal(seeds), np.zeros(1, np.int64)
        try:
            while (turn := self.game.to_move(state).astype(np.int64))[0] >= 0:
                turns = turns_at(self.game, state, place, turn, seeds, self._secret)
                self.game.play(state, answers(at_table[int(turn[0])], turns, place, state))
                yield None
        finally:
            for one in set(at_table.values()):
                one.forget(place)
        yield self.game.points(state)[0]

    def save(self, path: str, provenance: Mapping[str, str], first: int = 0) -> None:
        """Write all finished hands from the ``first`` on, at least one, as a shard with every seat's sequence; replaces
        the file written before."""
        hands = Sequences.concat(self._finished[first:])
        write_shard(path, hands, self.game, {"run_seed": str(self.seed), **provenance})


class Session(Hands):
    """Hands with a person at one seat."""

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
        self.seat = seat
        super().__init__(game, {(seat + 1 + i) % game.num_players: player for i, player in enumerate(others)}, seed)

    @property
    def history(self) -> np.ndarray:
        """``[T]``: the tokens of the person's seat, see ``history_of``."""
        return self.history_of(self.seat)

    @property
    def my_turn(self) -> bool:
        """Whether the person is to act."""
        return self.turn == self.seat

    @property
    def points(self) -> np.ndarray:
        """``float32[H, P]``: points of the finished hands, the person's first, then clockwise."""
        return self.points_of(self.seat)

    def act(self, token: int) -> None:
        """Play the person's action. ``ValueError`` on another seat's turn, or for an illegal action."""
        self.play(self.seat, token)
