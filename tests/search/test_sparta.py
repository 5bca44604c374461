"""SPARTA by PIMC: worlds weighed by a scripted player, which is left where another action is surely better."""

from dataclasses import replace

import numpy as np
import pytest

from games.game import Game
from games.registry import make_game
from games.rng import derive_many, mix
from search.pimc.config import PimcConfig
from search.pimc.player import Pimc, ahead_of
from search.players.beliefs import by_player
from search.players.histories import ask
from search.players.player import ChoosingPlayer, Turns
from search.players.policy import legal_policy
from search.players.table import play_table
from search.players.worlds import log_likelihoods, weighted_worlds
from search.roster.kinds import support_of
from tests.search.models import FunctionModel, hash_model
from tests.search.test_pimc import turns_of
from tests.search.test_worlds import toy_state
from tests.search.toy import ToyGame

TOY = ToyGame()
GAMES = ["hearts", "skat", "crew"]
SEARCHED = PimcConfig(worlds=6, candidates=12, evaluator="playouts", beliefs="scripted", confidence=1.0)


class Lowest(ChoosingPlayer):
    """Plays the lowest card that is legal."""

    name = "lowest"

    def choose(self, turns: Turns) -> np.ndarray:
        return turns.legal.argmax(axis=1)


def test_a_likelihood_by_hand() -> None:
    """Seat 0 has led card 2. With card 0 in its other place the player would have led that: one action in ten is
    anybody's, half of those card 2. With card 4 there it would have led card 2: nine in ten, and its half."""
    states = np.concatenate([toy_state(((0, 2), (1, 3)), [2]), toy_state(((2, 4), (1, 3)), [2])])
    logs = log_likelihoods(TOY, by_player(lambda game: Lowest()), states[None], np.ones((1, 2), np.int8))
    np.testing.assert_allclose(np.exp(logs), [[0.05, 0.95]])


@pytest.mark.parametrize("name", GAMES)
def test_likelihoods_are_those_of_the_player_asked_one_decision_at_a_time(name: str) -> None:
    game = make_game(name)
    support, turns = support_of(game), turns_of(game, 1, 20)
    views = np.repeat(game.views(turns.tokens[:1], turns.lengths[:1]), 8)
    states, seats = game.determinize(views, derive_many(5, 8))
    found = log_likelihoods(game, by_player(support.scripted), states[None], seats[None])[0]
    player, observer = support.scripted(game), int(seats[0])
    for row in range(len(states)):
        expected = 0.0
        for other in (seat for seat in range(game.num_players) if seat != observer):
            every, lengths = game.histories(states, np.full(len(states), other))
            for place in range(int(lengths[row])):
                legal = game.view_legal(game.views(every[row : row + 1], np.array([place])))
                if legal.sum() > 1 and len(set(every[:, place].tolist())) == 1:
                    agrees = _asked(game, player, every[row], place, legal) == every[row, place]
                    expected += np.log(0.9 * agrees + 0.1 / legal.sum())
        assert found[row] == pytest.approx(expected)


def _asked(game: Game, player: ChoosingPlayer, history: np.ndarray, place: int, legal: np.ndarray) -> int:
    tokens = np.full((1, game.max_length), game.vocabulary.eos, game.vocabulary.dtype)
    tokens[0, :place] = history[:place]
    player.start(game, 1)
    nothing = np.zeros(1, np.int64)
    turns = Turns(nothing, nothing, tokens, np.array([place], np.int32), legal, nothing.astype(np.uint64))
    return int(player.act(turns)[0])


def test_what_is_surely_better_by_hand() -> None:
    """Two worlds, four actions, the last illegal; the scripted player plays the first, worth 0 and 1.

    The second is worth 1 and 1: 1 and 0 more, 0.5 on average with a sample variance of 0.5. The third is worth 0.5 and
    1.5: 0.5 more in both worlds, without error."""
    inf, two = np.inf, np.array([2.0])
    values = np.array([[[0.0, 1.0, 0.5, -inf], [1.0, 1.0, 1.5, -inf]]])
    error = np.sqrt(0.5 / 2)
    np.testing.assert_allclose(ahead_of(values, two, np.array([0]), 0.5), [[0.0, 0.5 - 0.5 * error, 0.5, -inf]])
    np.testing.assert_allclose(ahead_of(values, two, np.array([0]), 2.0), [[0.0, -1.0, 0.5, -inf]])
    np.testing.assert_allclose(ahead_of(values, two, np.array([2]), 0.5), [[-1.0, -1.0, 0.0, -inf]])
    # Of worlds that are worth half as many the error is larger, and the true deal has none.
    np.testing.assert_allclose(ahead_of(values, two / 2, np.array([0]), 0.5), [[0, 0.5 - np.sqrt(0.125), 0.5, -inf]])
    np.testing.assert_allclose(ahead_of(values[:, :1], np.array([inf]), np.array([0]), 9), [[0.0, 1.0, 0.5, -inf]])


def test_weighted_worlds_are_worth_their_effective_number() -> None:
    game = make_game("crew")
    player, turns = Pimc(None, replace(SEARCHED, worlds=40, candidates=60), support_of(game)), turns_of(game, 12, 30)
    player.start(game, 12)
    independent = player.world_values(turns)[1]
    views = game.views(turns.tokens, turns.lengths)
    expected = weighted_worlds(game, by_player(support_of(game).scripted), views, mix(turns.seeds, 1), 40, 60).effective
    np.testing.assert_array_equal(independent, np.minimum(expected, 40))
    assert (independent < 40).any()


@pytest.mark.parametrize("name", GAMES)
def test_who_is_never_sure_plays_as_the_scripted_player_does(name: str) -> None:
    game = make_game(name)
    player, scripted = Pimc(None, replace(SEARCHED, confidence=1e9), support_of(game)), support_of(game).scripted(game)
    turns = turns_of(game, 12, 8)
    for asked in (player, scripted):
        asked.start(game, len(turns.seeds))
    values = np.where(turns.legal[:, None], player.world_values(turns)[0], 0.0)
    varies = (values.std(axis=1) > 0.0) | ~turns.legal  # what is the same in all worlds is sure
    unsure = varies.all(axis=1)
    assert unsure.any() and (player.act(turns) == scripted.act(turns))[unsure].all()


def test_the_networks_favourite_may_be_the_blueprint() -> None:
    game, model = make_game("hearts"), FunctionModel(hash_model(make_game("hearts"), 0.1))
    turns = turns_of(game, 6, 30)
    favourite = legal_policy(ask(model, turns.tokens, turns.lengths).next_token, turns.legal).argmax(axis=1)
    settings = PimcConfig(worlds=4, evaluator="playouts", blueprint="network", confidence=1e9)
    player = Pimc(model, settings, support_of(game))
    player.start(game, len(turns.seeds))
    values = player.values(turns)
    np.testing.assert_array_equal(values.argmax(axis=1), favourite)
    assert (values.max(axis=1) == 0).all() and not model.held


def test_an_action_that_the_network_finds_unlikely_is_not_searched() -> None:
    """Favourites alone at 0.999: nothing is left to search. At 0.1 whatever is played is as likely as that."""
    game, model = make_game("hearts"), FunctionModel(hash_model(make_game("hearts"), 0.1))
    turns = turns_of(game, 6, 20)
    policy = legal_policy(ask(model, turns.tokens, turns.lengths).next_token, turns.legal)
    player = Pimc(
        model, PimcConfig(worlds=2, evaluator="playouts", blueprint="network", threshold=0.999), support_of(game)
    )
    player.start(game, len(turns.seeds))
    before = len(model.histories_asked)
    np.testing.assert_array_equal(player.act(turns), policy.argmax(axis=1))
    assert len(model.histories_asked) == before + len(turns.seeds)
    player = Pimc(
        model, PimcConfig(worlds=2, evaluator="playouts", blueprint="network", threshold=0.1), support_of(game)
    )
    player.start(game, len(turns.seeds))
    played = player.act(turns)
    assert not model.held
    values = np.where(policy >= 0.1, player.values(turns), -np.inf)
    several = (policy >= 0.1).sum(axis=1) > 1
    np.testing.assert_array_equal(played[several], values.argmax(axis=1)[several])
    assert (played != policy.argmax(axis=1)).any()


def test_a_favourite_that_the_evaluator_passes_over_is_no_blueprint() -> None:
    """The solver considers the lowest bid alone, and this network may like a jump best."""
    game = make_game("skat")
    model = FunctionModel(hash_model(game, 0.1))
    turns = turns_of(game, 12, 1)
    settings = PimcConfig(worlds=2, evaluator="solver", blueprint="network", confidence=1e9)
    player = Pimc(model, settings, support_of(game))
    player.start(game, len(turns.seeds))
    policy = legal_policy(ask(model, turns.tokens, turns.lengths).next_token, turns.legal)
    values, considered = player.values(turns), np.isfinite(player.world_values(turns)[0][:, 0])
    assert not considered[np.arange(len(policy)), policy.argmax(axis=1)].all()
    usual = np.where(considered, policy, -1.0).argmax(axis=1)
    assert (values[np.arange(len(usual)), usual] == 0.0).all()
    assert (np.count_nonzero(values == 0.0, axis=1) == 1).all()


@pytest.mark.slow
def test_a_team_that_searches_fulfils_more_missions() -> None:
    game = make_game("crew")
    settings = replace(SEARCHED, worlds=10, candidates=50)
    players = [Pimc(None, settings, support_of(game)), support_of(game).scripted(game)]
    seeds = derive_many(11, 30)
    wins = [
        game.points(play_table(game, players, np.full((30, 4), team), seeds, secret=1).states)[:, 0].sum()
        for team in (0, 1)
    ]
    assert wins[0] >= wins[1] + 3  # twice as many are expected
