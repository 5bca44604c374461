"""The Crew as a ``Game``: batches of the scalar kernels, and missions as people write them."""

import numpy as np

from games.batches import Loops
from games.bits import TWO_PARTS
from games.compiled import CompiledGame, check_options
from games.crew import determinize, hidden, state, view
from games.crew.cards import VOCABULARY
from games.crew.describe import describe
from games.crew.estimates.features import BY_STRATEGY
from games.crew.features import FEATURES, TOKEN_TYPES, next_type
from games.crew.missions import HEADER_LENGTHS, MISSIONS, NUM_MISSIONS, longest, missions_text, parse_missions
from games.crew.public import CHOICES, template
from games.crew.state_features import STATE_FEATURES
from games.outcomes import OutcomeTable


class CrewGame(CompiledGame):
    """The Crew: The Quest for Planet Nine, all fifty missions for four players, each a deal of its own.

    A history: the mission as allocation, communication, special rules and a tile for every task; 10 dealt cards;
    the commander's position, and in mission 46 that of the holder of the pink 9; the task cards; a change of tiles; who
    is muted; the draft, or replies and the commander's choice; the distress signal with the card passed and the one
    received, where the option allows it; before each trick what is said by radio, then the trick; in mission 12 after
    the first trick the card lost and the card gained; ``eos`` as soon as the mission is decided. Positions are relative
    to the observer; the hand is sorted. Paper 001, section 6.3, Table 1.

    Args:
        missions: numbers of the missions dealt, each equally often, such as ``"1-50"``, ``"4"`` or ``"1-3,7"``.
        distress: whether the distress signal may be sent.
        choices: one value for each of ``CHOICES``, which says what they mean. ``ValueError`` for anything else.
    """

    name = "crew"
    title = "The Crew"
    rules_version = 1
    num_players = 4
    vocabulary = VOCABULARY
    cooperative = True
    token_types = TOKEN_TYPES
    features = FEATURES | BY_STRATEGY
    state_features = STATE_FEATURES
    scenarios = tuple(f"mission {number}" for number in range(1, NUM_MISSIONS + 1))
    state_type = state.STATE
    view_type = view.VIEW
    loops = Loops(
        deal=state.deal,
        legal=state.legal,
        act=state.act,
        next_of=view.next_of,
        own_legal=view.own_legal,
        advance=view.advance,
        is_of_kind=view.is_of_kind,
        consistent=hidden.is_consistent,
        next_type=next_type,
        can_stand=determinize.can_stand,
        determinize=determinize.determinize,
        actions=TWO_PARTS,
    )

    def __init__(self, missions: str | int = f"1-{NUM_MISSIONS}", distress: bool = False, **choices: str) -> None:
        check_options("crew", {"distress": distress, **choices}, {"missions": (), "distress": (True, False), **CHOICES})
        numbers = parse_missions(str(missions))
        defaults = {name: values[0] for name, values in CHOICES.items()}
        self.options = {"missions": missions_text(numbers), "distress": distress, **defaults, **choices}
        self.template = template(numbers, distress, **choices)
        self.max_length = max(longest(MISSIONS[number - 1], distress) for number in numbers)
        # All seats fail, label 0, or all succeed, label 1. Equation 5 would be 0 for whatever all seats share.
        points = np.repeat(np.array([[0], [1]], np.float32), 4, axis=1)
        self.outcomes = OutcomeTable(points, {"success": points[:, 0]}, "success")

    def outcome(self, states: np.ndarray) -> np.ndarray:
        return np.repeat(states["public"]["result"].astype(np.int32)[:, None], 4, axis=1)

    def scenario(self, states: np.ndarray) -> np.ndarray:
        return (states["public"]["mission"] - 1).astype(np.int16)

    def kind_lengths(self, states: np.ndarray) -> np.ndarray:
        return np.asarray(HEADER_LENGTHS[states["public"]["mission"]], np.int64)

    def view_outcome(self, views: np.ndarray) -> np.ndarray:
        return views["public"]["result"].astype(np.int32)

    def view_outcomes(self, views: np.ndarray) -> np.ndarray:
        """As ``Game.view_outcomes``: one label as soon as the mission is decided, both before."""
        result = views["public"]["result"][:, None]
        possible = (result < 0) | (result == np.arange(2))
        possible[~self.consistent(views)] = True
        return possible

    def describe(self, tokens: np.ndarray) -> str:
        return describe(np.asarray(tokens), self.template)
