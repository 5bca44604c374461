"""A game of two cards with a known equilibrium (Chen and Ankenman, "The Mathematics of Poker", 2006: half-street
clairvoyance).

The pot holds 2, one of each seat. Seat 0 is dealt the ace or the queen, seat 1 has a king that all know. Seat 0 bets 1
or checks; after a bet seat 1 calls or folds. The better card wins what lies there, unless seat 1 folds. With a pot of P
and a bet of 1 seat 0 bets every ace and 1 / (P + 1) of its queens, and seat 1 calls P / (P + 1) of the bets: 1/3 and
2/3. Then seat 0 gains a third of a chip a deal.
"""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from games.game import Game, Next
from games.outcomes import OutcomeTable
from games.rng import mix
from games.vocabulary import Vocabulary

ACE, QUEEN, BET, CHECK, CALL, FOLD, FIRST, SECOND, EOS = range(9)
LENGTH = 5
NOTHING = -1
STATE = np.dtype([("card", np.int8), ("bet", np.int8), ("reply", np.int8)])
VIEW = np.dtype([("tokens", np.int8, LENGTH), ("length", np.int8)])
GAINS = (-2, -1, 1, 2)
"""Chips that seat 0 may gain; the labels in this order, seen from either seat."""


class TwoCards(Game):
    """The game above."""

    name = "two_cards"
    options: Mapping[str, bool | int | str] = MappingProxyType({})
    rules_version = 1
    num_players = 2
    max_length = LENGTH
    vocabulary = Vocabulary(
        {"Cards": ("A", "Q"), "Actions": ("bet", "check", "call", "fold"), "Seats": ("first", "second")}
    )
    outcomes = OutcomeTable(
        points=np.array([[gain, -gain] for gain in GAINS]), utilities={"chips": np.array(GAINS, float)}
    )

    def deal(self, seeds: np.ndarray) -> np.ndarray:
        states = np.full(len(seeds), NOTHING, STATE)
        states["card"] = mix(seeds, np.uint64(0)) >> np.uint64(63)
        return states

    def to_move(self, states: np.ndarray) -> np.ndarray:
        replies = (states["bet"] == BET) & (states["reply"] == NOTHING)
        return np.where(states["bet"] == NOTHING, 0, np.where(replies, 1, -1)).astype(np.int8)

    def legal(self, states: np.ndarray) -> np.ndarray:
        legal, seats = np.zeros((len(states), self.vocabulary.size), bool), self.to_move(states)
        legal[:, BET] = legal[:, CHECK] = seats == 0
        legal[:, CALL] = legal[:, FOLD] = seats == 1
        return legal

    def play(self, states: np.ndarray, actions: np.ndarray) -> None:
        seats = self.to_move(states)
        states["bet"] = np.where(seats == 0, actions, states["bet"])
        states["reply"] = np.where(seats == 1, actions, states["reply"])

    def outcome(self, states: np.ndarray) -> np.ndarray:
        showdown = np.where(states["card"] == ACE, 1, -1) * np.where(states["reply"] == CALL, 2, 1)
        gain = np.where(states["reply"] == FOLD, 1, showdown)
        labels = np.stack([np.searchsorted(GAINS, gain), np.searchsorted(GAINS, -gain)], axis=1)
        return np.where(self.to_move(states)[:, None] < 0, labels, -1).astype(np.int32)

    def histories(self, states: np.ndarray, seats: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        first = np.asarray(seats) == 0
        parts = np.stack(
            [np.where(first, FIRST, SECOND), np.where(first, states["card"], NOTHING), states["bet"], states["reply"]],
            axis=1,
        )
        tokens, lengths = np.full((len(states), LENGTH), EOS, np.uint8), np.zeros(len(states), np.int32)
        for part in parts.T:
            seen = part != NOTHING
            tokens[seen, lengths[seen]] = part[seen]
            lengths += seen
        return tokens, lengths + (self.to_move(states) < 0)

    def playout(self, states: np.ndarray, seeds: np.ndarray) -> None:
        for ply, (yes, no) in enumerate(((BET, CHECK), (CALL, FOLD))):
            self.play(states, np.where(mix(seeds, np.uint64(ply)) >> np.uint64(63), yes, no))

    def views(self, tokens: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        views = np.full(len(tokens), NOTHING, VIEW)
        views["length"] = lengths
        width = tokens.shape[1]
        views["tokens"][:, :width] = np.where(np.arange(width) < np.asarray(lengths)[:, None], tokens, NOTHING)
        return views

    def advance(self, views: np.ndarray, tokens: np.ndarray) -> None:
        rows = np.flatnonzero((views["length"] < LENGTH) & (self.next(views) != Next.END))
        views["tokens"][rows, views["length"][rows]] = np.asarray(tokens)[rows]
        views["length"][rows] += 1

    def next(self, views: np.ndarray) -> np.ndarray:
        tokens, length = views["tokens"], views["length"]
        place, last = np.where(tokens[:, 0] == FIRST, length, length + 1), tokens[np.arange(len(views)), length - 1]
        turn = np.where(place == 2, 0, np.where((place == 3) & (last == BET), 1, -1))
        own = turn == np.where(tokens[:, 0] == FIRST, 0, 1)
        found = np.where(own, Next.ACTION, Next.OBSERVATION)
        return np.where((last == EOS) & (length > 0), Next.END, np.where(length == 0, Next.OBSERVATION, found)).astype(
            np.int8
        )

    def view_legal(self, views: np.ndarray) -> np.ndarray:
        legal, acts = np.zeros((len(views), self.vocabulary.size), bool), self.next(views) == Next.ACTION
        first = views["tokens"][:, 0] == FIRST
        legal[:, BET] = legal[:, CHECK] = acts & first
        legal[:, CALL] = legal[:, FOLD] = acts & ~first
        return legal

    def view_outcome(self, views: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def consistent(self, views: np.ndarray) -> np.ndarray:
        return np.ones(len(views), np.bool_)


def exploitability(bet_ace: float, bet_queen: float, call: float) -> float:
    """What the best replies to both seats' strategies gain together, in chips a deal; 0 in the equilibrium."""
    ace, queen = max(1.0, 1.0 + call), max(-1.0, 1.0 - 3.0 * call)  # of seat 0 against this caller: check, or bet
    best_first = (ace + queen) / 2
    # Of seat 1 against this bettor: of every bet it calls the better reply.
    called = bet_ace * 2.0 - bet_queen * 2.0
    folded = bet_ace * 1.0 + bet_queen * 1.0
    checked = (1.0 - bet_ace) * 1.0 - (1.0 - bet_queen) * 1.0
    best_second = -(min(called, folded) + checked) / 2
    return best_first + best_second
