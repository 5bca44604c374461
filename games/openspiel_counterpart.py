"""OpenSpiel's version of one of our games, and state conversion in both directions.

An ``OpenSpielGame`` is its own counterpart. Our Hearts corresponds to OpenSpiel's ``hearts``: seats and cards have the
same numbers, and the same actions are legal at every step of a deal. Returns there are 26 minus points here.
"""

from typing import Any, Protocol

import numpy as np
import pyspiel

from games.bits import BIT
from games.compiled import blank
from games.game import Game
from games.hearts.cards import DEALT_AT, DIRECTIONS, EOS, HAND_SIZE, NUM_CARDS, PASSED_AT
from games.hearts.game import HeartsGame
from games.hearts.rules import FREE_FIRST_LEAD, MOONS, OPTIONS, first_place
from games.hearts.state import STATE, deal_hands
from games.openspiel import OpenSpielGame


class Counterpart(Protocol):
    """OpenSpiel's version of a game of ours."""

    spiel: Any
    """The ``pyspiel.Game``."""
    first_action: int
    """The token of OpenSpiel's action 0; the others follow in their order."""

    def to_spiel(self, states: np.ndarray) -> list[Any]:
        """A new ``pyspiel.State`` for every state, with the same seats."""

    def replay(self, actions: list[list[int]]) -> np.ndarray:
        """Our states after given OpenSpiel actions, chance actions included: ``pyspiel.State.history()`` of states at
        which a seat is to move or the deal is over."""


def counterpart(game: Game) -> Counterpart:
    """The counterpart of ``game``; ``ValueError`` if OpenSpiel does not have this game or does not know its options."""
    if isinstance(game, OpenSpielGame):
        return game
    if isinstance(game, HeartsGame):
        return _Hearts(game)
    raise ValueError(f"OpenSpiel has no game with the rules of {game.name}; choose hearts or openspiel:NAME")


class _Hearts:
    first_action = 0

    def __init__(self, game: HeartsGame) -> None:
        if game.options["moon"] != MOONS[0]:
            raise ValueError(f"hearts option moon={game.options['moon']}: OpenSpiel only knows moon={MOONS[0]}")
        if game.options[FREE_FIRST_LEAD]:
            raise ValueError(
                f"hearts option {FREE_FIRST_LEAD}=true: OpenSpiel's holder of the two of clubs leads first"
            )
        self._game = game
        self.spiel = pyspiel.load_game("hearts", {name: game.options[name] for name in OPTIONS})

    def to_spiel(self, states: np.ndarray) -> list[Any]:
        return [self._replayed(state) for state in states]

    def replay(self, actions: list[list[int]]) -> np.ndarray:
        states = blank(STATE, self._game.template, EOS, len(actions))
        for row, (direction, *cards) in enumerate(actions):
            dealt = np.array(cards[:NUM_CARDS]).reshape(HAND_SIZE, 4)  # card i goes to seat i mod 4
            deal_hands(states[row], direction, BIT[dealt].sum(axis=0), 0)
            for card in cards[NUM_CARDS:]:
                self._game.play(states[row : row + 1], np.array([card]))
        return states

    def _replayed(self, state: np.void) -> Any:
        theirs, tokens = self.spiel.new_initial_state(), state["tokens"].astype(int)
        passed = [tokens[seat, PASSED_AT + place] for seat in range(4) for place in range(3)]
        plays = tokens[0, first_place(state["public"]) :]
        actions = [
            tokens[0, 0] - DIRECTIONS,
            *tokens[:, DEALT_AT:PASSED_AT].T.reshape(-1),
            *passed[: state["num_passed"]],
            *plays[: state["public"]["num_played"]],
        ]
        for action in actions:
            theirs.apply_action(int(action))
        return theirs
