"""Games of one seat: players against the best that can be reached, trees against the plain algorithm."""

from dataclasses import replace

import numpy as np
import pytest

from cluster.errors import UserError
from games.registry import make_game
from games.rng import derive_many
from games.samegame.game import SameGame
from learner.config import EngineConfig
from learner.model.checkpoint import save_weights
from search.config import SearchConfig
from search.players.player import Turns
from search.players.table import play_table
from search.roster.registry import make_players, resolve
from search.single_agent.config import McTransformerConfig
from search.single_agent.mctransformer import McTransformer
from search.single_agent.policy import Policy
from search.single_agent.samegame.rollouts import tabu
from search.single_agent.tree import PUCT, SP_MCTS, UCT, Forest, Selection
from tests.learner.material import TINY, tiny_net
from tests.search.models import FunctionModel, hash_model
from tests.search.single_agent.plain import Node, PlainTree, best_score, puct, uct

SMALL = SameGame(rows=4, columns=4, colours=3)
WITHOUT_NETWORK = (
    "samegame_greedy",
    "mcts:simulations=5",
    "mcts:simulations=20:decay=0.5:final=mean",
    "mcts:simulations=9:rollout=tabu:equal=0",
    "sp_mcts:simulations=8:restarts=3",
    "sp_mcts:simulations=8:restarts=3:rollout=uniform",
    "nrpa:level=1:iterations=6",
    "nrpa:level=2:iterations=4:rollout=tabu:restarts=2",
)


def scores(player: str, deals: int, game: SameGame = SMALL, table: int = 0) -> np.ndarray:
    (made,) = make_players([player], game, SearchConfig())
    seeds = derive_many(1, deals)
    return play_table(game, [made], np.zeros((deals, 1), np.int64), seeds, table, secret=3).points[:, 0]


@pytest.fixture(scope="module")
def optima() -> np.ndarray:
    """The highest scores of 40 small boards."""
    states = SMALL.deal(derive_many(1, 40))
    return np.array([best_score(SMALL, states[row : row + 1], {}) for row in range(40)])


@pytest.mark.parametrize("player", WITHOUT_NETWORK)
def test_nobody_exceeds_the_best_that_can_be_reached(player, optima) -> None:
    found = scores(player, 40)
    assert (found <= optima).all()
    assert player == "samegame_greedy" or found.mean() > scores("random", 40).mean()


def test_many_simulations_find_the_best_game_of_a_small_board(optima) -> None:
    assert (scores("mcts:simulations=10000", 20) == optima[:20]).sum() >= 19


@pytest.mark.parametrize("player", ["sp_mcts:simulations=10:restarts=2", "nrpa:level=2:iterations=4"])
def test_a_line_is_found_anew_where_somebody_left_it(player) -> None:
    exploring = scores(f"{player}:explore=0.5", 12)
    assert (exploring <= [best_score(SMALL, SMALL.deal(derive_many(1, 12))[[row]], {}) for row in range(12)]).all()


def test_tabu_rollouts_spare_the_commonest_colour() -> None:
    game = SameGame()
    states = game.deal(derive_many(4, 60))
    most = states["public"]["left"].argmax(axis=1)
    tokens = states["public"]["tiles"].copy()
    tabu(game, states, derive_many(5, 60))
    assert (game.to_move(states) < 0).all()
    for row in range(60):
        views = game.views(tokens[[row]] - 1, np.array([100]))
        for place in range(100, int(states["lengths"][row, 0]) - 1):
            legal, public = np.flatnonzero(game.view_legal(views)[0]), views["public"][0]
            move = states["tokens"][row, 0, place]
            others = [token for token in legal if public["tiles"][token - 5] != most[row] + 1]
            assert move in (others or legal)
            game.advance(views, np.array([move]))


# ---- with a network


class Plain(PlainTree):
    """MCTransformer written plainly from paper 003, section 3.5, for one board; it keeps nothing of the network."""

    def __init__(self, model, config: McTransformerConfig) -> None:
        self.game, self.rule, self.numbers = SMALL, "puct", (config.exploration, config.equal)
        self.model, self.config, self.root, self.counter = model, config, None, np.uint64(0)

    def priors(self, state: np.ndarray) -> dict[int, float]:
        """The policy over blocks: of each the sum over its tiles."""
        tokens, lengths = SMALL.histories(state, np.zeros(1, np.int64))
        p, public = self.model(tuple(int(t) for t in tokens[0, : lengths[0]]))[0], state["public"][0]
        blocks = {int(token): 0.0 for token in np.flatnonzero(SMALL.legal(state)[0])}
        for cell, block in enumerate(public["block"]):
            if block:
                blocks[int(public["colours"]) + int(block) - 1] += float(p[int(public["colours"]) + cell])
        total = sum(blocks.values())
        return {token: share / total for token, share in blocks.items()}

    def act(self, state: np.ndarray) -> int:
        self.state, self.root = state, self.root or self.node(state)
        for _ in range(self.config.simulations):
            self.simulate()
        figure = (lambda node: max(node.scores)) if self.config.final == "best" else (lambda node: node.mean)
        return max(self.root.children, key=lambda action: figure(self.root.children[action]))

    def finish(self, state: np.ndarray) -> None:
        while SMALL.to_move(state)[0] >= 0:
            priors = self.priors(state)
            SMALL.play(state, np.array([max(sorted(priors), key=priors.__getitem__)]))


@pytest.mark.parametrize(
    "settings", [{"simulations": 7}, {"simulations": 5, "exploration": 3.0, "equal": -0.5, "final": "mean"}]
)
def test_mctransformer_plays_as_the_papers_text_says(settings) -> None:
    config, function = McTransformerConfig(**settings), hash_model(SMALL, 0.4)
    model = FunctionModel(function)
    result = play_table(
        SMALL, [McTransformer(model, config)], np.zeros((8, 1), np.int64), derive_many(2, 8), 3, secret=1
    )
    for row, state in enumerate(np.split(SMALL.deal(derive_many(2, 8)), 8)):
        plain = Plain(function, config)
        while SMALL.to_move(state)[0] >= 0:
            legal = np.flatnonzero(SMALL.legal(state)[0])
            move = int(legal[0]) if len(legal) == 1 else plain.act(state)  # the only move is not searched for
            SMALL.play(state, np.array([move]))
            plain.root = plain.root.children.get(move) if plain.root else None
        assert (SMALL.histories(state, np.zeros(1, np.int64))[0] == result.states["tokens"][row]).all()
    assert model.slots == set(), "handles were not released"


def test_policy_sums_the_probabilities_of_a_blocks_tiles() -> None:
    """Colours a a / b c, from below: the block of the two lowest cells has 0.3 + 0.3, more than 0.4 elsewhere."""
    game = SameGame(rows=2, columns=4, colours=3)
    history = np.array([[0, 1, 0, 1, 2, 2, 2, 1]])  # columns: ab, ab, cc, cb
    views = game.views(history, np.array([8]))
    legal = game.view_legal(views)
    given = np.zeros((1, game.vocabulary.size), np.float32)
    given[0, 3 + np.array([0, 2, 1, 6])] = 0.3, 0.25, 0.4, 0.05
    merged = game.merged(views, legal, given)
    assert merged[0, legal[0]] == pytest.approx([0.55, 0.4, 0.05]) and merged[0, ~legal[0]].sum() == 0
    player = Policy(FunctionModel(lambda seen: (given[0], 0.0)))
    player.start(game, 1)
    row = np.zeros(1, np.int64)
    turns = Turns(row, row, history.astype(np.uint8), np.array([8], np.int32), legal, derive_many(1, 1))
    assert player.act(turns)[0] == 3


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> str:
    """A network for small boards with fresh weights."""
    path = tmp_path_factory.mktemp("networks") / "tiny"
    save_weights(path, tiny_net(SMALL, config=replace(TINY, features=["board"])), SMALL)
    return str(path)


WITH_NETWORK = ("policy", "policy:history=false", "mctransformer:simulations=6")


@pytest.mark.parametrize("player", WITH_NETWORK)
def test_a_network_plays_the_same_game_at_any_table(player, checkpoint, optima) -> None:
    """With a real engine, whose slots are used again."""
    seeds, played = derive_many(1, 40), []
    for table in (0, 7, 1):
        (made,) = make_players([player], SMALL, SearchConfig(), checkpoint)
        states = play_table(SMALL, [made], np.zeros((40, 1), np.int64), seeds, table, secret=3).states
        played.append(SMALL.histories(states, np.zeros(40, np.int64))[0])
        assert (SMALL.points(states)[:, 0] <= optima).all()
    differing = [(played[0] != other).any(axis=1).sum() for other in played[1:]]
    assert max(differing) <= 1, "roundings of other batches may part a game"


def test_a_cache_that_is_too_small_is_refused_before_any_move(checkpoint) -> None:
    engine = EngineConfig(cache_mb=1)
    (player,) = make_players(["mctransformer:simulations=500"], SMALL, SearchConfig(), checkpoint, engine)
    with pytest.raises(UserError, match=r"mctransformer\.simulations=500: 39 searches may need .* slots"):
        play_table(SMALL, [player], np.zeros((40, 1), np.int64), derive_many(1, 40), secret=3)


def test_handles_that_the_root_left_behind_are_released() -> None:
    model, most = FunctionModel(hash_model(SMALL, 0.4)), []

    class Watching(McTransformer):
        def choose(self, turns: Turns) -> np.ndarray:
            chosen = super().choose(turns)
            most.append(len(model.held))
            return chosen

    player = Watching(model, McTransformerConfig(simulations=20))
    play_table(SMALL, [player], np.zeros((1, 1), np.int64), derive_many(1, 1), secret=1)
    assert len(most) > 2 and max(most) <= 2 * 21 + 1, "nodes of left subtrees are still held"


# ---- what is refused


def test_a_rollout_that_a_game_lacks_is_refused(monkeypatch) -> None:
    monkeypatch.setattr("search.roster.kinds.SUPPORT", {})
    with pytest.raises(ValueError, match="rollout=tabu: samegame has uniform"):
        resolve(["mcts:rollout=tabu"], make_game("samegame"))


GAME = SameGame(rows=4, columns=4, colours=3)
RULES = {"uct": UCT, "puct": PUCT, "sp_mcts": SP_MCTS}


def priors(states: np.ndarray) -> np.ndarray:
    """``float32[B, V]``: some probabilities, a function of the board."""
    weights = np.arange(GAME.vocabulary.size) % 5 + 1.0 + states["public"]["left"][:, :1]
    masked = np.where(GAME.legal(states), weights, 0)
    return (masked / np.maximum(masked.sum(axis=1, keepdims=True), 1)).astype(np.float32)


def grown(rule: str, numbers: tuple[float, float], simulations: int, states: np.ndarray, seeds: np.ndarray) -> Forest:
    rows, forest = np.arange(len(states)), Forest(len(states), GAME.vocabulary.size, priors=rule == "puct")
    forest.clear(rows)
    forest.open(rows, forest.roots, GAME.legal(states), priors(states) if rule == "puct" else None)
    c, other = numbers
    chosen = Selection(RULES[rule], c, 1.0, other) if rule == "sp_mcts" else Selection(RULES[rule], c, other)
    counters = seeds.copy()
    for _ in range(simulations):
        leaves, actions, lengths, draws = forest.descend(rows, chosen, counters, GAME.max_length)
        reached = GAME.after(states, actions, lengths)
        forest.open(rows, leaves, GAME.legal(reached), priors(reached) if rule == "puct" else None)
        GAME.playout(reached, draws)
        forest.back_up(rows, leaves, GAME.points(reached)[:, 0].astype(np.float64))
    return forest


def same(forest: Forest, row: int, place: int, node: Node) -> int:
    """Check a node and all below it; returns their number."""
    tree, here = forest.nodes[row], forest.nodes[row, place]
    assert here["visits"] == len(node.scores)
    assert here["total"] == pytest.approx(sum(node.scores))
    assert here["squares"] == pytest.approx(sum(score * score for score in node.scores))
    assert here["best"] == max(node.scores, default=-np.inf)
    assert np.flatnonzero(forest.untried[row, place]).tolist() == node.untried
    child, tokens, count = here["child"], [], 1
    while child >= 0:
        tokens.append(int(tree[child]["token"]))
        count += same(forest, row, child, node.children[tokens[-1]])
        child = tree[child]["sibling"]
    assert tokens[::-1] == list(node.children)
    return count


@pytest.mark.parametrize(
    ("rule", "numbers"),
    [
        *(("uct", numbers) for numbers in ((1.0, 1.0), (0.3, -0.5), (3.0, 1.0))),
        *(("puct", numbers) for numbers in ((1.5, 1.0), (0.2, 0.0), (1.0, -1.0), (4.0, 1.0))),
        ("sp_mcts", (4.31, 96.67)),
    ],
)
def test_trees_are_those_of_the_plain_algorithm(rule, numbers) -> None:
    states, seeds = GAME.deal(derive_many(5, 12)), derive_many(6, 12)
    forest = grown(rule, numbers, 90, states, seeds)
    given = (lambda state: priors(state)[0]) if rule == "puct" else None
    for row in range(12):
        plain = PlainTree(GAME, states[row : row + 1], seeds[row], rule, numbers, given)
        for _ in range(90):
            plain.simulate()
        assert same(forest, row, 0, plain.root) == forest.sizes[row]


@pytest.mark.parametrize(
    ("rule", "visits", "means", "priors", "chosen"),
    [
        # Equations 2 to 4. N(s) = 9, c = 1. Means 10, 30, 50 make -1, 0 and 1. U = P sqrt(9) / (1 + n): 0.9 * 3 / 3 =
        # 0.9; 0.06 * 3 / 4 = 0.045; 0.04 * 3 / 5 = 0.024. Sums -0.1, 0.045 and 1.024; with c = 4: 2.6, 0.18 and 1.096.
        ((puct, 1.0, 1.0), [2, 3, 4], [10, 30, 50], [0.9, 0.06, 0.04], 2),
        ((puct, 4.0, 1.0), [2, 3, 4], [10, 30, 50], [0.9, 0.06, 0.04], 0),
        # An untried action counts as 1 ("being optimistic"), and so, by ``equal``, do actions of equal means.
        # N(s) = 4, c = 1: tried twice each, equal means: 1 + P * 2 / 3; untried: 1 + P * 2 / 1.
        # P 0.5, 0.3, 0.2: 1.333, 1.2, 1.4: the untried one. P 0.5, 0.35, 0.15: 1.333, 1.233, 1.3.
        ((puct, 1.0, 1.0), [2, 2, 0], [7, 7, 0], [0.5, 0.3, 0.2], 2),
        ((puct, 1.0, 1.0), [2, 2, 0], [7, 7, 0], [0.5, 0.35, 0.15], 0),
        # equal = -1 is sceptical: -0.667 and below, untried 1.3
        ((puct, 1.0, -1.0), [2, 2, 0], [7, 7, 0], [0.5, 0.35, 0.15], 2),
        # Equation 1. N(s) = 10; means 0 and 100 make -1 and 1. ln 10 = 2.303.
        # c = 1: -1 + sqrt(2.303 / 1) = 0.517 and 1 + sqrt(2.303 / 9) = 1.506; c = 3: 3.552 and 2.517.
        ((uct, 1.0, 1.0), [1, 9], [0, 100], [0, 0], 1),
        ((uct, 3.0, 1.0), [1, 9], [0, 100], [0, 0], 0),
    ],
)
def test_selection_by_hand_from_the_papers_text(rule, visits, means, priors, chosen) -> None:
    """By the plain formulas, which the kernels' trees are held to above; an action with no visits is untried."""
    selected, *numbers = rule
    children = {action: Node([], scores=[mean] * n) for action, (n, mean) in enumerate(zip(visits, means, strict=True))}
    tried = {action: child for action, child in children.items() if child.scores}
    root = Node([*children.keys() - tried.keys()], dict(enumerate(priors)), tried, [0.0] * sum(visits))
    assert max(children, key=lambda action: selected(root, action, *numbers)) == chosen
