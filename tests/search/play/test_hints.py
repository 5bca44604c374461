"""What a network is asked for, against a model whose answers are known."""

from itertools import zip_longest

import numpy as np
import pytest

from games.game import Game
from games.hearts.game import HeartsGame
from games.registry import make_game
from games.rng import derive_many
from search.apps.play.hints import Hints, visits_of
from search.go_mcts.config import GoMctsConfig
from search.go_mcts.search import Search
from tests.search.models import FunctionModel, hash_model


def first_decision(game: Game) -> np.ndarray:
    """A history that ends before a choice of its seat."""
    states = game.deal(derive_many(4, 1))
    while game.legal(states).sum() < 2:
        game.play(states, game.legal(states).argmax(axis=1))
    tokens, lengths = game.histories(states, game.to_move(states))
    return tokens[0, : lengths[0]]


@pytest.fixture(params=["hearts", "openspiel:leduc_poker"])
def game(request: pytest.FixtureRequest) -> Game:
    return make_game(request.param)


def test_an_expectation_is_what_the_model_answers_and_nothing_stays_held(game: Game) -> None:
    answer, tokens = hash_model(game, 0.2), first_decision(game)
    model = FunctionModel(answer)
    found = Hints(game, model, GoMctsConfig(), 1).expect(tokens)
    history = tuple(tokens.tolist())
    chances, value = answer(history)
    assert found is not None and not model.slots
    legal = np.flatnonzero(game.view_legal(game.views(tokens[None], np.array([len(tokens)])))[0])
    assert found.value == pytest.approx(value)
    assert [token for token, _ in found.next_tokens[:3]] == np.argsort(-chances)[:3].tolist()
    assert found.next_tokens[0][1] == pytest.approx(chances.max())
    assert sorted(hint.token for hint in found.actions) == legal.tolist()
    for hint in found.actions:
        assert hint.value == pytest.approx(answer((*history, hint.token))[1])
        assert hint.probability == pytest.approx(chances[hint.token] / chances[legal].sum(), rel=1e-5)
    assert found.illegal == pytest.approx(1 - chances[legal].sum(), abs=1e-5)


def test_behind_an_own_action_the_next_observation_is_expected() -> None:
    game = HeartsGame()
    states = game.deal(derive_many(4, 1))
    game.playout(states, derive_many(1, 1))
    tokens, lengths = game.histories(states, np.array([0]))
    row = tokens[0, : lengths[0]]
    hints = Hints(game, FunctionModel(hash_model(game, 0.0)), GoMctsConfig(), 1)
    found = hints.expect(row[:13])
    assert found is not None and found.actions == () and found.illegal == 0
    assert hints.expect(row) is None and hints.expect(row[:-1]) is None and hints.expect(row[:0]) is None
    assert hints.search(row[:13]) == {}


def test_a_search_tells_the_visits_of_every_child_and_leaves_nothing_behind(game: Game) -> None:
    model, tokens = FunctionModel(hash_model(game, 0.2)), first_decision(game)
    found = Hints(game, model, GoMctsConfig(num_runs=20, threshold=0.0), 1).search(tokens)
    legal = game.view_legal(game.views(tokens[None], np.array([len(tokens)])))[0]
    assert set(found) == set(np.flatnonzero(legal).tolist())
    assert all(-2 < visits.value < 2 for visits in found.values())
    assert len(found) + 1 <= sum(visits.visits for visits in found.values()) <= 20 + len(found)
    assert not model.slots
    again = Hints(game, FunctionModel(hash_model(game, 0.2)), GoMctsConfig(num_runs=20, threshold=0.0), 1)
    assert again.search(tokens) == found


def test_searches_that_take_turns_find_what_each_finds_alone() -> None:
    """With other queries in between, and whether or not what they hold is released as they pause."""
    game = make_game("hearts")
    first = first_decision(game)
    legal = game.view_legal(game.views(first[None], np.array([len(first)])))[0]
    histories = [first, np.append(first, legal.argmax())]
    model = FunctionModel(hash_model(game, 0.2))
    hints = Hints(game, model, GoMctsConfig(num_runs=6, threshold=0.0), 1)
    alone = [hints.search(history) for history in histories]
    for crowded in (False, True):
        last = list[Search | None]([None, None])
        for both in zip_longest(*map(hints.searching, histories)):
            last = [search or before for search, before in zip(both, last, strict=True)]
            hints.expect(histories[0])
            for search in both if crowded else ():
                search and search.make_room()
        assert [visits_of(search) for search in last] == alone and not model.slots


def test_a_search_that_nobody_goes_on_with_leaves_nothing_behind(game: Game) -> None:
    model = FunctionModel(hash_model(game, 0.2))
    searching = Hints(game, model, GoMctsConfig(num_runs=20, threshold=0.0), 1).searching(first_decision(game))
    next(searching)
    next(searching).stop()
    searching.close()
    assert not model.slots
