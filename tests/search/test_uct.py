"""UCT: trees by hand and of the textbook; exact values of max^n."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.crew.game import CrewGame
from games.game import Game
from games.hearts.game import HeartsGame
from games.rng import derive_many, mix
from games.skat.game import SkatGame
from search.uct.plain import PlainNode, PlainUct
from search.uct.search import uct, unit_utility
from search.uct.tree import WorldForest
from tests.search.toy import ToyGame

GAMES: tuple[Game, ...] = (HeartsGame(), SkatGame(), CrewGame(), ToyGame())
NO_SEAT, NOTHING = np.array([-1], np.int8), np.zeros((1, 2), np.bool_)


@dataclass
class Bandit:
    """One tree whose root has two actions, each of which ends the deal with the same values every time."""

    values: tuple[tuple[float, float], tuple[float, float]]
    """Of both seats, by action; seat 1 acts."""

    def __post_init__(self) -> None:
        self.forest = WorldForest(np.array([7], np.uint64), vocabulary_size=2)
        self.forest.expand(np.zeros(1, np.int32), np.array([1], np.int8), np.ones((1, 2), np.bool_))

    def run(self, exploration: float) -> int:
        """The action that a run takes."""
        leaves, actions, lengths, _ = self.forest.descend(exploration, depth=4)
        assert lengths[0] == 1
        action = int(actions[0, 0])
        self.forest.expand(leaves, NO_SEAT, NOTHING)
        self.forest.backup(leaves, np.array([self.values[action]]))
        return action


def test_a_bandit_by_hand() -> None:
    """Its actions; the seat that chooses maximises its own value; what no run has tried is worth the mean of all."""
    # 1 + 0.5 sqrt(ln N / (N - 1)) against 0.4 + 0.5 sqrt(ln N): 1.225 to 1.212 at N = 14, 1.220 to 1.223 at N = 15.
    bandit, other = (Bandit(((0.9, 0.4), (0.1, 1.0))) for _ in range(2))
    actions = [bandit.run(exploration=0.5) for _ in range(16)]
    assert sorted(actions[:2]) == [0, 1] and actions[2:15] == [1] * 13 and actions[15] == 0
    tried = other.run(exploration=0.1)
    np.testing.assert_allclose(other.forest.root_values(), [[(0.4, 1.0)[tried]] * 2])
    for _ in range(100):
        other.run(exploration=0.1)
    np.testing.assert_allclose(other.forest.root_values(), [[0.4, 1.0]])


def positions(game: Game, count: int, plies: int, seed: int) -> np.ndarray:
    """Deals after so many random actions, those of them that are not over."""
    states = game.deal(derive_many(seed, count))
    for ply in range(plies):
        legal = game.legal(states)
        order = mix(derive_many(seed + 1 + ply, count)[:, None], np.arange(legal.shape[1])) >> np.uint64(1)
        going_on = game.to_move(states) >= 0
        played = states[going_on]
        game.play(played, np.where(legal, order, 0)[going_on].argmax(axis=1))
        states[going_on] = played
    return states[game.to_move(states) >= 0]


Tree = dict[int, tuple[int, float, "Tree"]]  # type: ignore[misc]
"""Action -> visits, total, what is below it."""


def plain_tree(node: PlainNode) -> Tree:
    return {action: (child.visits, child.total, plain_tree(child)) for action, child in node.children.items()}


def tree_of(forest: WorldForest, tree: int, at: int = 0) -> Tree:
    nodes, found = forest.nodes[tree], {}
    child = int(nodes[at]["child"])
    while child >= 0:
        node = nodes[child]
        found[int(node["token"])] = (int(node["visits"]), float(node["total"]), tree_of(forest, tree, child))
        child = int(node["sibling"])
    return found


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
@given(seed=st.integers(0, 2**32), plies=st.integers(0, 40), exploration=st.sampled_from([0.0, 0.1, 0.4, 2.0]))
@settings(max_examples=5)
def test_trees_are_those_of_the_textbook(game: Game, seed: int, plies: int, exploration: float) -> None:
    states = positions(game, 3, plies % 4 if game.name == "toy" else plies, seed)
    seeds = derive_many(seed + 99, len(states))
    utility = np.round(unit_utility(game) * 1024) / 1024  # sums are then exact, so that equals are equals in any order
    if len(states) == 0:
        return
    forest = uct(game, states, seeds, utility, 40, exploration)
    for row in range(len(states)):
        plain = PlainUct(game, states[row : row + 1], int(seeds[row]), utility, exploration)
        assert tree_of(forest, row) == plain_tree(plain.search(40))


def exact(game: Game, state: np.ndarray, utility: np.ndarray) -> set[tuple[float, ...]]:
    """Values of all seats by max^n; several where seats like actions the same and the others do not."""
    seat = int(game.to_move(state)[0])
    if seat < 0:
        return {tuple(utility[game.outcome(state)[0]].tolist())}
    ends = []
    for action in np.flatnonzero(game.legal(state)[0]):
        after = state.copy()
        game.play(after, np.array([action]))
        ends.append(exact(game, after, utility))
    least = max(min(values[seat] for values in end) for end in ends)
    return {values for end in ends for values in end if values[seat] >= least}


@pytest.mark.parametrize("game", [HeartsGame(pass_cards=False), ToyGame()], ids=lambda game: game.name)
def test_many_runs_find_the_exact_values_of_max_n(game: Game) -> None:
    states, utility = positions(game, 30, 43 if game.name == "hearts" else 0, seed=5), unit_utility(game)
    ends = [exact(game, states[row : row + 1], utility) for row in range(len(states))]
    seats, choices = game.to_move(states), game.legal(states).sum(axis=1)
    own = [{round(values[seat], 9) for values in end} for seat, end in zip(seats, ends, strict=True)]
    clear = [row for row in range(len(states)) if len(own[row]) == 1 and choices[row] > 1]
    assert len(clear) > 10 and len({value for row in clear for value in own[row]}) > 2
    values = uct(
        game, states[clear], derive_many(6, len(clear)), utility, 500 if game.name == "toy" else 4000, 0.1
    ).root_values()
    np.testing.assert_allclose(values.max(axis=1), [own[row].pop() for row in clear], atol=0.03)
