"""UCT and IS-MCTS: trees by hand, of textbook and papers, and of OpenSpiel; exact values of max^n."""

import math
import random
from dataclasses import dataclass

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from open_spiel.python.algorithms import ismcts, mcts

from games.crew.game import CrewGame
from games.game import Game
from games.hearts.game import HeartsGame
from games.registry import make_game
from games.rng import derive_many, mix
from games.skat.game import SkatGame
from search.is_mcts.config import IsMctsConfig
from search.is_mcts.search import IsMcts
from search.is_mcts.tree import NONE, Walk, back_up, choose_all, find, new_nodes, note_all
from search.uct.plain import PlainNode, PlainUct
from search.uct.search import uct, unit_utility
from search.uct.tree import WorldForest
from tests.search.toy import CARDS, HAND, PLAYS, ToyGame, ToyWorlds, movers, tricks

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


# ---- IS-MCTS: trees against the paper's algorithm written plainly, against OpenSpiel's, and by hand


def turns(game: Game, states: np.ndarray) -> np.ndarray:
    """Views of the seats to act."""
    return game.views(*game.histories(states, game.to_move(states).astype(np.int64)))


def shares(game: Game, views: np.ndarray, seeds: np.ndarray, **settings: object) -> np.ndarray:
    """Share of each token in the simulations of every search."""
    visits = IsMcts(game, IsMctsConfig(**settings), views, seeds).visits()  # type: ignore[arg-type]
    return np.asarray(visits / visits.sum(axis=1, keepdims=True))


# ---- against the paper's algorithm


class Edge:
    """An action of Algorithm 1's tree."""

    def __init__(self) -> None:
        self.visits, self.available, self.total = 0, 0, 0.0
        self.below: dict[int, Edge] = {}


def so_ismcts(
    seat: int, hand: list[int], plays: list[int], runs: int, c: float, rng: random.Random
) -> dict[int, float]:
    """Cowling, Powley and Whitehouse (2012), Algorithm 1, on the toy: share of each action in the simulations. Rewards
    are the seat's tricks over 2."""
    root = Edge()
    for _ in range(runs):
        shown = [card for card, mover in zip(plays, movers(plays, 0), strict=False) if mover != seat]
        left = [card for card in range(CARDS) if card not in hand and card not in plays]
        hands = {seat: hand, 1 - seat: shown + rng.sample(left, HAND - len(shown))}
        node, done, path = root, list(plays), []
        while len(done) < PLAYS:
            mover = movers(done, 0)[-1]
            legal = [card for card in hands[mover] if card not in done]
            untried = [card for card in legal if card not in node.below]
            if untried:
                card = rng.choice(untried)
                node.below[card] = Edge()
            else:
                ucb = {
                    card: edge.total / edge.visits + c * math.sqrt(math.log(edge.available) / edge.visits)
                    for card, edge in node.below.items()
                    if card in legal
                }
                card = max(ucb, key=lambda other: ucb[other])
            path.append((node, card, legal, mover))
            done.append(card)
            node = node.below[card]
            if untried:
                break
        while len(done) < PLAYS:
            done.append(rng.choice([card for card in hands[movers(done, 0)[-1]] if card not in done]))
        for parent, card, legal, mover in path:
            parent.below[card].visits += 1
            parent.below[card].total += tricks(done, 0, mover) / 2
            for other in legal:
                if other in parent.below:
                    parent.below[other].available += 1
    return {card: edge.visits / runs for card, edge in root.below.items()}


@pytest.mark.parametrize("observers", ["single", "multiple"])
@pytest.mark.parametrize(
    ("hands", "plays"), [(([1, 3], [0, 2]), []), (([0, 4], [1, 3]), [0]), (([2, 3], [0, 4]), [2, 0])]
)
def test_the_shares_of_actions_are_those_of_the_papers_algorithm(observers, hands, plays) -> None:
    """The toy shows every play, so a tree for each seat says the same as one for all."""
    game, runs, searches = ToyWorlds(), 300, 4
    state = game.deal(np.zeros(1, np.uint64))
    state["hands"][0] = hands
    state["plays"][0, : len(plays)], state["num_plays"] = plays, len(plays)
    views = np.repeat(turns(game, state), searches)
    found = shares(game, views, derive_many(1, searches), runs=runs, exploration=0.7, observers=observers)
    seat = movers(plays, 0)[-1]
    wanted = [so_ismcts(seat, hands[seat], plays, runs, 0.7, random.Random(n)) for n in range(20)]
    for card in hands[seat]:
        if card not in plays:
            assert found[:, card].mean() == pytest.approx(np.mean([share[card] for share in wanted]), abs=0.07)


@pytest.mark.parametrize(
    "history", [[0, 1], [1, 2, 0], *(pytest.param(one, marks=pytest.mark.slow) for one in ([1, 0], [0, 1, 0, 1]))]
)
def test_private_trees_agree_with_openspiels(history: list[int]) -> None:
    """Kuhn poker, returns of -2 to 2: rewards are a quarter of theirs, and so is C."""
    game, spiel, runs, searches = make_game("openspiel:kuhn_poker"), pyspiel.load_game("kuhn_poker"), 400, 5
    states = game.replay([history])  # type: ignore[attr-defined]
    found = shares(
        game, np.repeat(turns(game, states), searches), derive_many(2, searches), runs=runs, observers="private"
    )
    theirs = []
    for seed in range(2 * searches):
        draws = np.random.RandomState(seed)
        bot = ismcts.ISMCTSBot(
            spiel,
            mcts.RandomRolloutEvaluator(1, draws),
            4 * 0.7,
            runs,
            random_state=draws,
            final_policy_type=ismcts.ISMCTSFinalPolicyType.NORMALIZED_VISITED_COUNT,
        )
        state = spiel.new_initial_state()
        for action in history:
            state.apply_action(action)
        theirs.append(dict(bot.get_policy(state))[1])
    bet = np.flatnonzero(game.legal(states)[0])[1]
    noise = 3 * math.hypot(float(np.std(theirs)), float(found[:, bet].std())) / math.sqrt(searches) + 0.02
    assert found[:, bet].mean() == pytest.approx(np.mean(theirs), abs=noise)


# ---- by hand


def test_a_step_by_hand() -> None:
    """One search, three actions. Action 0: 3 visits, total 2.4, available 6 times; action 1: 2, 1.2, 6; action 2 was
    available 3 times, 1 visit, total 0.3. With C = 0.5: 0.8 + 0.5 sqrt(ln 6 / 3) = 1.186; 0.6 + 0.5 sqrt(ln 6 / 2) =
    1.073; 0.3 + 0.5 sqrt(ln 3 / 1) = 0.824."""
    nodes = new_nodes(1, 1, 10)
    walk = Walk(*(np.zeros((1, size), np.int32) for size in (1, 1, 4, 4)), np.zeros(1, np.int32), np.ones(1, np.int32))
    rows, tree, own = np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1, bool)
    actions, untried = np.zeros(1, np.int64), np.zeros(1, bool)

    def choose(legal: list[bool]) -> int:
        choose_all(nodes, walk, rows, tree, own, np.array([legal]), 0.5, np.zeros(1, np.uint64), actions, untried)
        return int(actions[0])

    for action in range(3):
        note_all(nodes, walk, rows, tree, own, tree, np.ones((1, 3), bool), np.array([action]), np.ones(1, bool))
    children = [find(nodes, 0, 0, action) for action in range(3)]
    assert NONE not in children
    assert nodes.available[0, children].tolist() == [3, 2, 1]  # each from when it was there
    nodes.visits[0, children], nodes.total[0, children], nodes.available[0, children] = (
        [3, 2, 1],
        [2.4, 1.2, 0.3],
        [6, 6, 3],
    )
    assert choose([True, True, True]) == 0 and not untried[0]
    assert choose([False, True, True]) == 1
    nodes.total[0, children[0]] = 1.7  # 0.567 + 0.386 = 0.953
    assert choose([True, True, True]) == 1
    nodes.visits[0, children[2]] = 0
    assert choose([True, True, True]) == 2 and untried[0]
    walk.depth[0] = 1
    walk.path[0, 0], walk.movers[0, 0] = children[1], 1
    back_up(nodes, walk, rows, np.array([[0.25, 0.75]]))
    assert (nodes.visits[0, children[1]], nodes.total[0, children[1]]) == (3, pytest.approx(1.95))


# ---- as players


@pytest.mark.parametrize("observers", ["single", "multiple", "private"])
def test_every_search_makes_as_many_simulations_as_asked_each_in_one_sampled_deal(observers: str) -> None:
    class Counted(HeartsGame):
        sampled = 0

        def determinize(self, views: np.ndarray, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            self.sampled += len(views)
            return super().determinize(views, seeds)

    game = Counted()
    views = turns(game, game.deal(derive_many(3, 3)))
    visits = IsMcts(game, IsMctsConfig(runs=17, observers=observers), views, derive_many(4, 3)).visits()
    assert visits.sum(axis=1).tolist() == [17] * 3 and game.sampled == 17 * 3
