"""Games as environments of PettingZoo's."""

import warnings

import numpy as np
import pytest

from games.game import Game
from games.registry import make_game
from games.rng import derive, keyed_hash
from search.config import SearchConfig
from search.players.player import Turns
from search.players.table import play_table
from search.roster.registry import make_players

pytest.importorskip("pettingzoo", reason="pip install kibitz[pettingzoo]")

from pettingzoo.test import api_test, seed_test

from games.pettingzoo_env import GameEnv

NAMES = ("hearts", "skat", "crew", "openspiel:leduc_poker")


@pytest.fixture(scope="module", params=NAMES)
def game(request: pytest.FixtureRequest) -> Game:
    return make_game(request.param)


def test_pettingzoos_own_tests_pass(game: Game) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        api_test(GameEnv(game), num_cycles=200)
    seed_test(lambda: GameEnv(game), num_cycles=100)


def test_deals_go_as_the_game_says_and_everybody_observes_its_own_history(game: Game) -> None:
    env, utility, seed = GameEnv(game), game.outcomes.utility(""), 3
    env.reset(seed=seed)
    rng, rewards = np.random.default_rng(seed), dict.fromkeys(env.possible_agents, 0.0)
    states = game.deal(np.array([derive(seed, "deal", 0)], np.uint64))
    for agent in env.agent_iter():
        observation, reward, termination, _, _ = env.last()
        rewards[agent] += reward
        action = None if termination else int(rng.choice(np.flatnonzero(observation["action_mask"])))
        if action is not None:
            assert agent == f"player_{game.to_move(states)[0]}"
            for seat, other in enumerate(env.agents):
                seen, (history, _) = env.observe(other), game.histories(states, np.array([seat]))
                np.testing.assert_array_equal(seen["observation"], history[0])
                assert seen["action_mask"].any() == (other == agent)
            game.play(states, np.array([action]))
        env.step(action)
    assert game.to_move(states)[0] == -1
    assert list(rewards.values()) == utility[game.outcome(states)[0]].tolist()


@pytest.mark.parametrize(
    ("name", "player"), [("hearts", "hearts_rules"), ("openspiel:leduc_poker", "openspiel:simulations=5")]
)
def test_a_player_that_acts_on_observations_plays_as_at_our_tables(name: str, player: str) -> None:
    game, env, deal_seed = make_game(name), GameEnv(make_game(name)), np.array([derive(5, "deal", 0)], np.uint64)
    (decider,) = make_players([player], game, SearchConfig())
    table = play_table(game, [decider], np.zeros((1, game.num_players), int), deal_seed, secret=1)
    decider.start(game, 1)
    env.reset(seed=5)
    for agent in env.agent_iter():
        seen, reward, termination, _, _ = env.last()
        seat, tokens = env.possible_agents.index(agent), seen["observation"][None]
        if termination:
            assert reward == game.outcomes.utility("")[table.labels[0, seat]]
            env.step(None)
            continue
        lengths = np.array([np.argmax(tokens[0] == game.vocabulary.eos)], np.int32)
        place, seats = np.zeros(1, np.int64), np.array([seat])
        seeds, legal = keyed_hash(1, deal_seed, seats, lengths), seen["action_mask"][None].astype(bool)
        env.step(int(decider.act(Turns(place, seats, tokens, lengths, legal, seeds))[0]))


def test_deals_without_a_seed_follow_from_the_last_seed(game: Game) -> None:
    def deals(env: GameEnv) -> list[bytes]:
        env.reset(seed=7)
        hands = []
        for _ in range(6):
            hands.append(b"".join(env.observe(agent)["observation"].tobytes() for agent in env.agents))
            env.reset()
        return hands

    first = deals(GameEnv(game))
    assert first == deals(GameEnv(game)) and len(set(first)) > 1


def test_an_illegal_action_and_an_unknown_utility_are_refused() -> None:
    env = GameEnv(make_game("hearts"))
    env.reset(seed=1)
    with pytest.raises(ValueError, match=r"row 0: token 60 .* is not legal for seat 0"):
        env.step(60)
    with pytest.raises(ValueError, match="fun"):
        GameEnv(make_game("hearts"), utility="fun")
