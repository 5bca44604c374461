"""Several simulations of a search in flight: speculative ones, and lanes."""

import numpy as np
import pytest

from games.hearts.game import HeartsGame
from games.rng import derive_many
from search.go_mcts.config import GoMctsConfig
from search.go_mcts.player import GoMcts
from search.go_mcts.tree import UNCLAIMED
from tests.search.models import FunctionModel, hash_model
from tests.search.trees import decisions
from tests.search.turns import decision_histories, turns_at


def test_lanes_do_all_simulations_in_fewer_batches_and_leave_nothing_pending() -> None:
    game = HeartsGame()
    histories, seeds = decision_histories(game, count=6), derive_many(5, 6)
    searches = {}
    for lanes in (1, 7):
        config = GoMctsConfig(num_runs=50, exploration=0.3, lanes=lanes, speculative=1)
        player = GoMcts(FunctionModel(hash_model(game, nonsense=0.02)), config)
        player.start(game, 6)
        searches[lanes] = player.search(turns_at(game, histories, seeds))
    one, many = searches[1], searches[7]
    assert one.statistics.simulations == many.statistics.simulations
    assert many.statistics.batches < one.statistics.batches / 3
    assert not many.forest.nodes.pending.any()
    visits = [search.forest.root_statistics(0)[2].sum() for search in (one, many)]
    assert abs(visits[0] - visits[1]) <= 10  # runs that end as impossible leave none


def test_speculative_simulations_save_passes_and_leave_nothing_behind() -> None:
    game = HeartsGame()
    histories, seeds = decision_histories(game, count=3), derive_many(5, 3)
    batches, trees = {}, []
    for speculative in (1, 12):
        model = FunctionModel(hash_model(game, nonsense=0.02))
        config = GoMctsConfig(num_runs=60, exploration=2.0, speculative=speculative, mask_impossible=True)
        player = GoMcts(model, config)
        player.start(game, 3)
        search = player.search(turns_at(game, histories, seeds))
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
@pytest.mark.parametrize("speculative", [5, 9])
def test_simulations_that_end_between_queries_neither_loop_nor_leave_claims(seed: int, speculative: int) -> None:
    game = HeartsGame()
    histories, seeds = decision_histories(game, count=4), derive_many(seed, 4)
    trees = []
    for most in (1, speculative):
        player = GoMcts(FunctionModel(hash_model(game, nonsense=0.5)), GoMctsConfig(num_runs=40, speculative=most))
        player.start(game, 4)
        search = player.search(turns_at(game, histories, seeds))
        assert search.statistics.illegal > 40
        assert set(np.unique(search.forest.nodes.expanded_by[: search.forest.num_nodes])) == {0, UNCLAIMED}
        trees.append([decisions(search.forest, row, ()) for row in range(4)])
    assert trees[0] == trees[1]


def test_right_guesses_let_more_simulations_begin_early_and_wrong_ones_fewer() -> None:
    game = HeartsGame()
    turns = turns_at(game, decision_histories(game, count=1), derive_many(5, 1))
    redone = {}
    for told in ("values", "nothing"):
        function = hash_model(game, nonsense=0.02)
        if told == "nothing":  # all values alike: the runs take turns, as guessed
            ask = function
            function = lambda history, ask=ask: (ask(history)[0], 0.0)  # noqa: E731
        config = GoMctsConfig(num_runs=60, exploration=100.0, speculative=8, num_steps=1)
        player = GoMcts(FunctionModel(function), config)
        player.start(game, 1)
        search = player.search(turns)
        redone[told] = search.statistics.rolled_back
    assert redone["nothing"] < redone["values"]


def test_a_search_with_lanes_does_not_depend_on_its_neighbours() -> None:
    game = HeartsGame()
    histories, seeds = decision_histories(game, count=6), derive_many(5, 6)
    config = GoMctsConfig(num_runs=30, exploration=0.3, lanes=4)
    trees = []
    for chosen in (np.arange(6), np.array([4]), np.array([2, 4])):
        player = GoMcts(FunctionModel(hash_model(game, nonsense=0.02)), config)
        player.start(game, 6)
        search = player.search(turns_at(game, [histories[i] for i in chosen], seeds[chosen]))
        trees.append(decisions(search.forest, list(chosen).index(4), ()))
    assert trees[0] == trees[1] == trees[2]
