"""GO-MCTS against a tree computed by hand and against Algorithm 3 written plainly."""

import functools
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from games.game import Game
from games.hearts.game import HeartsGame
from games.rng import derive_many
from search.go_mcts.config import GoMctsConfig
from search.go_mcts.plain import History, PlainGoMcts
from search.go_mcts.player import GoMcts
from search.go_mcts.search import Search
from search.go_mcts.tree import UNCLAIMED, TokenForest
from search.go_mcts.uct import SelectionRule, select
from tests.search.models import FunctionModel, hash_model, table_model
from tests.search.toy import LEADS, ToyGame
from tests.search.turns import decision_histories, turns_at

ROOT = (LEADS, 1, 3)
"""The search player leads and holds the cards 2 and 4, tokens 1 and 3."""

HAND_MADE = {
    # Both cards become children; the rollout is as good as sure to go on with token 3.
    ROOT: ({1: 1e-6, 3: 1 - 1e-6}, 0.0),
    (*ROOT, 1): ({2: 1.0}, 0.2),
    (*ROOT, 3): ({4: 1.0}, -0.1),
    # Run 1 rolls out 3, 4, 2 and is cut short at the search player's next turn.
    (*ROOT, 3, 4): ({2: 1.0}, 0.0),
    (*ROOT, 3, 4, 2): ({1: 1.0}, 0.5),
    # Runs 2 and 3 go through 1, 2, 0; there the model plays token 2 again, which cannot be.
    (*ROOT, 1, 2): ({0: 1.0}, 0.0),
    (*ROOT, 1, 2, 0): ({2: 1.0}, 0.0),
    (*ROOT, 1, 2, 0, 3): ({7: 1.0}, 0.3),
}


GAME, SEED = ToyGame(), np.array([7], np.uint64)
AT_ROOT = turns_at(GAME, [ROOT], SEED)


def toy_player(rows: dict, config: GoMctsConfig) -> tuple[GoMcts, FunctionModel]:
    model = FunctionModel(table_model(GAME.vocabulary.size, rows))
    player = GoMcts(model, config)
    player.start(GAME, 1)
    return player, model


def decisions(forest: TokenForest, root: int, history: History) -> dict[History, dict[int, list[float]]]:
    """The tree at and below a node, which has this history, as ``search.go_mcts.plain`` keeps it: history -> action ->
    [sum of values, visits]."""
    nodes, tree, found = forest.nodes, {}, [(root, history)]
    for node, history in found:
        below = forest.below(node)
        if nodes.expanded_by[node] == 0:
            tree[history] = {int(nodes.token[a]): [float(nodes.total[a]), int(nodes.visits[a])] for a in below}
        found += [(child, (*history, int(nodes.token[child]))) for child in below]
    return tree


def test_three_simulations_on_the_toy_game_give_the_tree_computed_by_hand() -> None:
    config = GoMctsConfig(num_runs=3, num_steps=1, exploration=0.4, threshold=0.0, illegal_penalty=0.01)
    player, model = toy_player(HAND_MADE, config)
    search = player.search(AT_ROOT)
    statistics = search.statistics
    assert (statistics.simulations, statistics.illegal) == (3, 1)

    tree = decisions(search.forest, 0, ROOT)
    # Run 1: 3 starts at -0.1 and gets the value 0.5 of the history that was cut short.
    # UCT after run 1, total 3 visits: 1 scores 0.2 + 0.4 sqrt(ln 3) = 0.619,
    # 3 scores 0.4/2 + 0.4 sqrt(ln 3 / 2) = 0.496.
    # Run 2 expands (1, 2, 0) and ends in an impossible history: 1 loses mu and gains no visit.
    # Run 3: 1 scores 0.609 and is selected again; 1, 2, 0, 3 takes one trick of two, utility 0, a visit each.
    assert tree == {
        ROOT: {1: [pytest.approx(0.2 - 0.01 + 0.0), 2], 3: [pytest.approx(-0.1 + 0.5), 2]},
        (*ROOT, 1, 2, 0): {3: [pytest.approx(0.3 + 0.0), 2]},
    }
    # Means 0.095 and 0.2: token 3 is played. One legal action costs no query.
    assert player.act(AT_ROOT).tolist() == [3]
    values = player.action_values(AT_ROOT)[0]
    assert values[[1, 3]].tolist() == pytest.approx([0.095, 0.2]) and np.isinf(np.delete(values, [1, 3])).all()
    player, model = toy_player(HAND_MADE, config)
    assert player.act(turns_at(GAME, [(*ROOT, 1, 2, 0)], SEED)).tolist() == [3] and model.histories_asked == []


CUT_SHORT = {
    ROOT: ({1: 1e-6, 3: 1 - 1e-6}, 0.0),
    (*ROOT, 1): ({2: 1.0}, 0.2),
    (*ROOT, 3): ({3: 1.0}, -0.1),
    (*ROOT, 3, 3): ({1: 1.0}, 0.5),
}
"""The opponent answers the card 4 with the card 4, which cannot be. The first card keeps the trick."""


def test_a_history_cut_short_is_valued_by_the_model_whatever_stands_in_it() -> None:
    config = GoMctsConfig(num_runs=1, num_steps=1, threshold=0.0, illegal_penalty=0.01)
    player, model = toy_player(CUT_SHORT, config)
    search = player.search(AT_ROOT)
    plain = PlainGoMcts(GAME, model.function, config, 7)
    plain.search(ROOT)
    # Rollout plays 3 and samples 3 again; then the search player is to move and N_steps is 0. The history is not
    # terminal, so "legality is assumed to be true" (Algorithm 3): -0.1 + 0.5, two visits.
    assert search.statistics.illegal == 0
    tree = {ROOT: {1: [pytest.approx(0.2), 1], 3: [pytest.approx(-0.1 + 0.5), 2]}}
    assert decisions(search.forest, 0, ROOT) == plain.tree == tree


def test_the_most_probable_action_is_the_only_child_where_none_exceeds_the_threshold() -> None:
    rows = {**HAND_MADE, ROOT: ({1: 0.45, 3: 0.55}, 0.0)}
    player, model = toy_player(rows, GoMctsConfig(num_runs=5, threshold=0.6))
    assert player.act(AT_ROOT).tolist() == [3] and model.histories_asked == [ROOT]


def paper_config(num_steps: int, **beyond: bool | str) -> GoMctsConfig:
    return replace(GoMctsConfig(25, num_steps, exploration=0.3, threshold=0.05, illegal_penalty=0.02), **beyond)


@functools.cache
def plain_searches(game: Game, num_steps: int, **beyond: bool | str) -> list[tuple[int, dict]]:
    """Action and tree of the plain algorithm at each of 5 histories; speculation and slots are nothing to it."""
    model, found = hash_model(game, nonsense=0.02), []
    for history, seed in zip(decision_histories(game, count=5), derive_many(5, 5), strict=True):
        reference = PlainGoMcts(game, model, paper_config(num_steps, **beyond), int(seed))
        found.append((reference.search(history), reference.tree))
    return found


BEYOND = [{}, {"mask_impossible": True}, {"policy_weight": 0.1}, {"prior_visits": 7, "exploration": 0.05}]


def tried(num_steps: int, speculative: int, slots: int, beyond: dict[str, bool | str]) -> tuple:
    """The paper's search with every number of steps, and whatever is beyond it with one step; the rest is slow."""
    usual = (speculative, slots) == (4, 100_000) and (not beyond or num_steps == 1)
    often = usual or (num_steps, speculative, slots, beyond) == (1, 0, 700, {})
    return pytest.param(num_steps, speculative, slots, beyond, marks=() if often else pytest.mark.slow)


@pytest.mark.parametrize("game", [ToyGame(), HeartsGame()], ids=["toy", "hearts"])
@pytest.mark.parametrize(
    ("num_steps", "speculative", "slots", "beyond"),
    [
        tried(num_steps, speculative, slots, beyond)
        for num_steps, speculative in product((0, 1, 3), (1, 4, 0))
        for slots, beyond in [(700, {}), *((100_000, one) for one in BEYOND)]
    ],
)
def test_searches_side_by_side_grow_the_trees_of_the_plain_algorithm(
    game: Game, num_steps: int, speculative: int, slots: int, beyond: dict[str, bool | str]
) -> None:
    config = replace(paper_config(num_steps, **beyond), speculative=speculative)
    search, player, _ = searched(game, 5, config, slots=slots)
    histories = decision_histories(game, count=5)
    actions = player.act(turns_at(game, histories, derive_many(5, 5)))
    assert search.statistics.illegal < search.statistics.simulations
    assert "mask_impossible" not in beyond or search.statistics.illegal == 0
    for row, (action, tree) in enumerate(plain_searches(game, num_steps, **beyond)):
        assert actions[row] == action
        if len(tree[histories[row]]) > 1:
            assert decisions(search.forest, row, histories[row]) == nearly(tree)


def searched(
    game: Game, count: int, config: GoMctsConfig, seed: int = 5, slots: int = 100_000, nonsense: float = 0.02
) -> tuple[Search, GoMcts, FunctionModel]:
    """A search of so many decisions, its player and its model."""
    model = FunctionModel(hash_model(game, nonsense), slots)
    player = GoMcts(model, config)
    player.start(game, count)
    return player.search(turns_at(game, decision_histories(game, count), derive_many(seed, count))), player, model


def test_a_crowded_cache_leaves_every_slot_accounted_for() -> None:
    game = HeartsGame()
    config = GoMctsConfig(30, 1, exploration=0.3, mask_impossible=True)
    histories = decision_histories(game, count=4)
    trees = []
    for slots in (100_000, 700):
        model = FunctionModel(hash_model(game, nonsense=0.02), slots)  # which raises where a handle is misused
        player = GoMcts(model, config)
        player.start(game, 4)
        for seed in (5, 6):  # the second time the roots are there already
            search = player.search(turns_at(game, histories, derive_many(seed, 4)))
        later = [(*history, int(search.forest.root_statistics(row)[0][0])) for row, history in enumerate(histories)]
        later = [
            history
            for history in later
            if game.view_legal(game.views(np.array([history]), np.array([len(history)]))).any()
        ]
        if later:
            turns = turns_at(game, later, derive_many(7, len(later)))
            player.search(turns)
        trees.append([decisions(search.forest, row, ()) for row in range(4)])
        player.start(game, 4)
        assert model.slots_left == slots
    assert trees[0] == trees[1]


def test_a_search_computes_no_token_twice_and_holds_its_root_alone_afterwards() -> None:
    game = HeartsGame()
    for history in decision_histories(game, count=6):
        model = FunctionModel(hash_model(game, nonsense=0.02))
        player = GoMcts(model, GoMctsConfig(num_runs=40, num_steps=0, exploration=0.3))
        player.start(game, 1)
        search = player.search(turns_at(game, [history], derive_many(5, 1)))
        # Without rollouts every token is one of the tree.
        assert set(Counter(model.computed).values()) == {1}
        assert {model.history_of(slot) for slot in model.slots} == {history[:end] for end in range(1, len(history) + 1)}
        assert search.statistics.simulations in (0, 40)


def test_a_search_stops_when_its_time_is_up() -> None:
    search, _, _ = searched(HeartsGame(), 6, GoMctsConfig(num_runs=10**6, seconds=0.5))
    assert 6 <= search.statistics.simulations < 10**6
    assert not search.sims.now.active.any()


def test_an_interrupted_search_gives_back_what_it_holds() -> None:
    game = HeartsGame()
    ask, queries = hash_model(game, nonsense=0.02), 0

    def fail_late(history: tuple[int, ...]) -> tuple[np.ndarray, float]:
        nonlocal queries
        queries += 1
        if queries == 400:
            raise KeyboardInterrupt
        return ask(history)

    model = FunctionModel(fail_late)
    player = GoMcts(model, GoMctsConfig(num_runs=60, num_steps=3))
    player.start(game, 4)
    turns = turns_at(game, decision_histories(game, count=4), derive_many(5, 4))
    with pytest.raises(KeyboardInterrupt):
        player.act(turns)
    assert not model.slots
    player.start(game, 4)
    assert player.act(turns).shape == (4,)


def test_pending_simulations_make_others_look_elsewhere_where_there_is_exploration() -> None:
    values = np.array([0.6, 0.5])
    for exploration, second in ((0.0, 0), (0.4, 1)):
        forest = TokenForest(np.zeros(1, np.int64), 4)
        made = forest.add_decisions(np.zeros(1, np.int64), np.array([[True, True, False, False]]), 1)
        forest.nodes.total[made], forest.nodes.log_policy[made] = values, 0.0
        selection = SelectionRule(exploration=exploration, policy_weight=0.0)
        chosen = [select(0, False, selection, forest.nodes) for _ in range(2)]
        # 0.6 against 0.5, the bonus alike; then 0.6 + C sqrt(ln 3 / 2) against 0.5 + C sqrt(ln 3): 0.896 and 0.919.
        assert chosen == [made[0], made[second]]
        assert forest.nodes.pending[made].sum() == 2
        assert forest.nodes.visits[made].tolist() == [1, 1]


@pytest.mark.parametrize(("weight", "chosen"), [(0.0, 1), (0.07, 1), (0.0722, 0), (1.0, 0)])
def test_the_policys_weight_times_its_logarithm_is_added_to_the_mean(weight: float, chosen: int) -> None:
    """By hand: 0.5 + w ln 0.8 and 0.6 + w ln 0.2 are equal at w = 0.1 / ln 4 = 0.0721; visits are alike."""
    forest = TokenForest(np.zeros(1, np.int64), 4)
    made = forest.add_decisions(np.zeros(1, np.int64), np.array([[True, False, True, False]]), 2)
    forest.nodes.total[made], forest.nodes.log_policy[made] = [1.0, 1.2], np.log([0.8, 0.2])
    rule = SelectionRule(exploration=0.4, policy_weight=weight)
    assert select(0, False, rule, forest.nodes) == made[chosen]
    assert forest.best_action(0, weight) == [0, 2][chosen]


def nearly(tree: dict[History, dict[int, list[float]]]) -> dict[History, dict[int, list[object]]]:
    return {h: {a: [pytest.approx(v, abs=1e-6), n] for a, (v, n) in below.items()} for h, below in tree.items()}


def test_speculative_simulations_save_passes_and_leave_nothing_behind() -> None:
    game = HeartsGame()
    histories = decision_histories(game, count=3)
    batches, trees = {}, []
    for speculative in (1, 12):
        config = GoMctsConfig(num_runs=60, exploration=2.0, speculative=speculative, mask_impossible=True)
        search, _, model = searched(game, 3, config)
        forest, sims = search.forest, search.sims
        batches[speculative] = search.statistics.batches
        trees.append([decisions(forest, row, ()) for row in range(3)])
        assert search.statistics.simulations == sims.begun.sum() == 180
        # a model that says anything of anything: guesses go wrong
        assert (search.statistics.rolled_back > 0) == (speculative > 1)
        assert ((sims.allowed >= 1) & (sims.allowed <= speculative)).all()
        assert not forest.nodes.pending.any()
        assert set(np.unique(forest.nodes.expanded_by[: forest.num_nodes])) == {0, UNCLAIMED}
        assert len(model.slots) == sum(len(history) for history in histories)
    assert trees[0] == trees[1]
    assert batches[12] < batches[1] / 1.5


@pytest.mark.parametrize("seed", [7, 8, 11])
@pytest.mark.parametrize("speculative", [5, pytest.param(9, marks=pytest.mark.slow)])
def test_simulations_that_end_between_queries_neither_loop_nor_leave_claims(seed: int, speculative: int) -> None:
    trees = []
    for most in (1, speculative):
        config = GoMctsConfig(num_runs=40, speculative=most)
        search, _, _ = searched(HeartsGame(), 4, config, seed, nonsense=0.5)
        assert search.statistics.illegal > 40
        assert set(np.unique(search.forest.nodes.expanded_by[: search.forest.num_nodes])) == {0, UNCLAIMED}
        trees.append([decisions(search.forest, row, ()) for row in range(4)])
    assert trees[0] == trees[1]
