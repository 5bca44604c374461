"""A game small enough to compute by hand.

The deck is the cards 1 to 5. Two seats get two cards each and one card stays aside. Seat 0 leads any card, the other
seat answers with any card, the higher card takes the trick and its owner leads the second. One point for each trick.

A seat's history: whether it leads or follows, its own two cards, low before high, then the cards as they are played,
then eos. Tokens 0..4 are the cards 1..5; 5, 6 and 7 are leads, follows and eos.
"""

from collections.abc import Mapping
from itertools import combinations
from types import MappingProxyType

import numpy as np

from games.game import Game, Next
from games.outcomes import OutcomeTable
from games.rng import mix
from games.vocabulary import Vocabulary

CARDS, LEADS, FOLLOWS, EOS = 5, 5, 6, 7
HAND, PLAYS = 2, 4
DEALT = 1 + HAND
STATE = np.dtype([("hands", np.int8, (2, HAND)), ("plays", np.int8, PLAYS), ("num_plays", np.int8)])
VIEW = np.dtype(
    [("tokens", np.int8, DEALT + PLAYS + 1), ("length", np.int8), ("ended", np.bool_), ("consistent", np.bool_)]
)


def movers(plays: list[int], leader: int) -> list[int]:
    """Seats of the plays so far and of the next one, given who leads the first trick."""
    seats = [leader, 1 - leader]
    if len(plays) >= 2:
        winner = seats[1] if plays[1] > plays[0] else seats[0]
        seats += [winner, 1 - winner]
    return seats[: len(plays) + 1]


def tricks(plays: list[int], leader: int, seat: int) -> int:
    """Tricks ``seat`` took in a finished deal."""
    seats = movers(plays, leader)
    winners = [seats[i + 1] if plays[i + 1] > plays[i] else seats[i] for i in (0, 2)]
    return winners.count(seat)


class ToyGame(Game):
    """The game above; one outcome label for each number of tricks of the observer."""

    name = "toy"
    options: Mapping[str, bool | int | str] = MappingProxyType({})
    rules_version = 1
    num_players = 2
    max_length = DEALT + PLAYS + 1
    vocabulary = Vocabulary({"Cards": ("1", "2", "3", "4", "5"), "Positions": ("leads", "follows")})
    outcomes = OutcomeTable(points=np.array([[0, 2], [1, 1], [2, 0]]), utilities={"tricks": np.array([-1.0, 0.0, 1.0])})

    def deal(self, seeds: np.ndarray) -> np.ndarray:
        states = np.zeros(len(seeds), STATE)
        for row, seed in enumerate(seeds):
            deck = np.argsort(mix(seed, np.arange(CARDS)))
            states["hands"][row] = np.sort(deck[:PLAYS].reshape(2, HAND), axis=1)
        return states

    def to_move(self, states: np.ndarray) -> np.ndarray:
        return np.array([self._seats(state)[-1] if state["num_plays"] < PLAYS else -1 for state in states], np.int8)

    def legal(self, states: np.ndarray) -> np.ndarray:
        legal = np.zeros((len(states), self.vocabulary.size), bool)
        for row, seat in enumerate(self.to_move(states)):
            if seat >= 0:
                legal[row, [card for card in states["hands"][row, seat] if card not in self._plays(states[row])]] = True
        return legal

    def play(self, states: np.ndarray, actions: np.ndarray) -> None:
        legal, mover = self.legal(states), self.to_move(states)
        for row, action in enumerate(actions):
            if mover[row] < 0:
                continue
            if not (0 <= action < EOS and legal[row, action]):
                raise ValueError(f"row {row}: seat {mover[row]} may not play token {action}")
            states["plays"][row, states["num_plays"][row]] = action
            states["num_plays"][row] += 1

    def outcome(self, states: np.ndarray) -> np.ndarray:
        over = states["num_plays"] == PLAYS
        ends = [
            [tricks(self._plays(s), 0, seat) for seat in (0, 1)] if done else [-1, -1]
            for s, done in zip(states, over, strict=True)
        ]
        return np.array(ends, np.int32).reshape(len(states), 2)

    def histories(self, states: np.ndarray, seats: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        tokens = np.full((len(states), self.max_length), EOS, np.uint8)
        for row, (state, seat) in enumerate(zip(states, seats, strict=True)):
            history = [LEADS + seat, *state["hands"][seat], *self._plays(state)]
            tokens[row, : len(history)] = history
        lengths = DEALT + states["num_plays"].astype(np.int32)
        return tokens, lengths + (states["num_plays"] == PLAYS)

    def playout(self, states: np.ndarray, seeds: np.ndarray) -> None:
        for ply in range(PLAYS):
            legal = self.legal(states)
            options = [np.flatnonzero(row) if row.any() else np.array([EOS]) for row in legal]
            draws = mix(seeds, ply)
            self.play(states, np.array([o[int(d) % len(o)] for o, d in zip(options, draws, strict=True)]))

    def views(self, tokens: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        views = np.zeros(len(tokens), VIEW)
        views["consistent"] = True
        for row in range(len(tokens)):
            for token in tokens[row, : lengths[row]]:
                self.advance(views[row : row + 1], np.array([token]))
        return views

    def advance(self, views: np.ndarray, tokens: np.ndarray) -> None:
        for view, token in zip(views, tokens, strict=True):
            length = int(view["length"])
            if length >= DEALT + PLAYS or view["ended"]:
                continue
            if not self._right_kind(length, int(token)):
                view["consistent"], view["ended"] = False, True
                continue
            view["consistent"] &= self._fits(view, int(token))
            view["tokens"][length] = token
            view["length"] += 1

    def next(self, views: np.ndarray) -> np.ndarray:
        kinds = [
            Next.END
            if view["ended"] or view["length"] >= DEALT + PLAYS
            else Next.ACTION
            if self._is_own_turn(view)
            else Next.OBSERVATION
            for view in views
        ]
        return np.array(kinds, np.int8)

    def view_legal(self, views: np.ndarray) -> np.ndarray:
        legal = np.zeros((len(views), self.vocabulary.size), bool)
        for row in np.flatnonzero(self.next(views) == Next.ACTION):
            leader, hand, plays = self._read(views[row])
            played = {card for card, seat in zip(plays, movers(plays, leader), strict=False) if seat == 0}
            legal[row, [card for card in hand if card not in played]] = True
        return legal

    def view_outcome(self, views: np.ndarray) -> np.ndarray:
        ended = views["consistent"] & (views["length"] >= DEALT + PLAYS)
        labels = np.full(len(views), -1, np.int32)
        for row in np.flatnonzero(ended):
            leader, _, plays = self._read(views[row])
            labels[row] = tricks(plays, leader, 0)
        return labels

    def consistent(self, views: np.ndarray) -> np.ndarray:
        return views["consistent"].copy()

    # ---- one state, one view

    def _plays(self, state: np.void) -> list[int]:
        return [int(card) for card in state["plays"][: state["num_plays"]]]

    def _seats(self, state: np.void) -> list[int]:
        return movers(self._plays(state), 0)

    def _read(self, view: np.void) -> tuple[int, list[int], list[int]]:
        """Seat that leads the first trick, 0 for the observer; own cards; the plays so far."""
        tokens = [int(token) for token in view["tokens"][: min(view["length"], DEALT + PLAYS)]]
        return tokens[0] - LEADS if tokens else -1, tokens[1:DEALT], tokens[DEALT:]

    def _is_own_turn(self, view: np.void) -> bool:
        leader, hand, plays = self._read(view)
        return len(hand) == HAND and movers(plays, leader)[-1] == 0

    def _right_kind(self, length: int, token: int) -> bool:
        """A position first, then cards, then the end."""
        kinds = (token in (LEADS, FOLLOWS), token < CARDS, token == EOS)
        return kinds[0 if length == 0 else 1 if length < DEALT + PLAYS else 2]

    def _fits(self, view: np.void, token: int) -> bool:
        leader, hand, plays = self._read(view)
        if leader < 0 or len(plays) == PLAYS:
            return True
        if token in plays:
            return False
        if len(hand) < HAND:
            return not hand or hand[0] < token
        return (token in hand) == self._is_own_turn(view)


class ToyWorlds(ToyGame):
    """The toy with worlds: the other seat gets two of the three cards that are not in sight."""

    can_determinize = True

    def determinize(self, views: np.ndarray, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        states, seats = self.deal(seeds), np.zeros(len(views), np.int8)
        for row, view in enumerate(views):
            leader, hand, plays = self._read(view)
            seat = 0 if leader == 0 else 1
            hands = other_hands(seat, hand, plays)
            states["hands"][row, seat] = hand
            states["hands"][row, 1 - seat] = hands[int(mix(seeds[row], 1)) % len(hands)]
            states["plays"][row, : len(plays)], states["num_plays"][row] = plays, len(plays)
            seats[row] = seat
        return states, seats


def other_hands(seat: int, hand: list[int], plays: list[int]) -> list[tuple[int, ...]]:
    """Every hand that the other seat can have been dealt."""
    shown = {card for card, mover in zip(plays, movers(plays, 0), strict=False) if mover != seat}
    dealt = combinations([card for card in range(CARDS) if card not in hand], HAND)
    return [other for other in dealt if shown == set(other) & set(plays)]


def toy_state(hands: tuple[tuple[int, ...], tuple[int, ...]], plays: list[int]) -> np.ndarray:
    state = ToyWorlds().deal(np.zeros(1, np.uint64))
    state["hands"][0] = hands
    state["plays"][0, : len(plays)], state["num_plays"] = plays, len(plays)
    return state
