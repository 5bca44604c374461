"""PIMC: Algorithm 2 by hand and the worlds it judges; SPARTA, which leaves a blueprint where another action is surely
better."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from games.crew.game import CrewGame
from games.game import Game
from games.hearts.game import HeartsGame
from games.registry import make_game
from games.rng import derive_many, mix
from games.skat.cards import FIRST_BID, PASS
from games.skat.game import SkatGame
from search.config import SearchConfig
from search.pimc import player as pimc
from search.pimc.config import PimcConfig
from search.pimc.player import Pimc, ahead_of
from search.players.beliefs import by_player
from search.players.histories import ask
from search.players.player import Turns
from search.players.playouts import play_out
from search.players.policy import legal_policy
from search.players.random_player import choose_uniformly
from search.players.table import play_table, turns_at
from search.players.worlds import weighted_worlds
from search.roster import kinds
from search.roster.kinds import support_of
from search.roster.registry import make_players
from search.scripted.skat.config import SkatRulesConfig
from search.scripted.skat.rules.player import SkatRules
from search.scripted.skat.solver.solve import Solver
from tests.search.models import FunctionModel, History, hash_model
from tests.search.turns import turns_in, turns_of

GAMES = [HeartsGame(), SkatGame(), CrewGame(), make_game("openspiel:leduc_poker")]
SMALL = PimcConfig(worlds=3, runs=20)


def player_of(game: Game, config: PimcConfig = SMALL, model: FunctionModel | None = None) -> Pimc:
    player = Pimc(model, config, kinds.support_of(game))
    player.start(game, 12)
    return player


def judged(game: Game, config: PimcConfig, turns: Turns, patch: pytest.MonkeyPatch, values: np.ndarray) -> tuple:
    """The worlds that the evaluator is asked about, and what the player does where it says these values of each."""
    seen = []
    patch.setattr(pimc, "EVALUATORS", {"uct": lambda pimc, worlds, *rest: seen.append(worlds) or values})
    actions = player_of(game, config).act(turns)
    return seen[0], actions.tolist()


def test_the_values_of_an_action_are_summed_over_the_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    # Algorithm 2 by hand: the first action is the best in two worlds of three, the second has the highest sum.
    turns = turns_of(HeartsGame(), 2, 30).take(np.array([0]))
    first, second = np.flatnonzero(turns.legal[0])[:2]
    values = np.where(np.repeat(turns.legal, 3, axis=0), 0.1, -np.inf)
    values[:, first], values[:, second] = [0.5, 0.5, 0.0], [0.4, 0.4, 0.9]
    assert judged(HeartsGame(), SMALL, turns, monkeypatch, values)[1] == [second]


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_worlds_agree_with_what_the_seat_has_seen_and_a_cheating_twin_judges_the_true_deal(game, monkeypatch) -> None:
    turns, cheat = turns_of(game, 6, 2), replace(SMALL, cheat=True)
    equal = np.where(np.repeat(turns.legal, 3, axis=0), 0.0, -np.inf)
    worlds, _ = judged(game, SMALL, turns, monkeypatch, equal)
    tokens, lengths = game.histories(worlds, game.to_move(worlds))
    np.testing.assert_array_equal(tokens, np.repeat(turns.tokens, 3, axis=0))
    np.testing.assert_array_equal(lengths, np.repeat(turns.lengths, 3))
    np.testing.assert_array_equal(judged(game, cheat, turns, monkeypatch, equal)[0], np.repeat(turns.hidden, 3))
    assert player_of(game, cheat).sees_hidden and not player_of(game).sees_hidden


def declared(count: int) -> Turns:
    """Decisions in Skat's card play between rule-based players, in games of all kinds, two tricks gone."""
    game, player = SkatGame(), SkatRules(SkatRulesConfig(noise=2.0))
    states = game.deal(derive_many(5, count))
    player.start(game, count)
    while (rows := np.flatnonzero((states["public"]["num_played"] < 6) & (game.to_move(states) >= 0))).size:
        current = states[rows]
        seats = game.to_move(current).astype(np.int64)
        game.play(current, player.act(turns_at(game, current, rows, seats, derive_many(6, count)[rows], 1)))
        states[rows] = current
    states = states[game.to_move(states) >= 0]
    turns = turns_in(game, states, derive_many(4, len(states)))
    return turns.take(np.flatnonzero(turns.legal.sum(axis=1) > 1))


def test_the_solver_values_a_card_by_who_wins_after_it() -> None:
    game, turns = SkatGame(), declared(30)
    assert turns.hidden is not None and len(turns.seat) > 15
    values = player_of(game, PimcConfig(worlds=1, evaluator="solver", cheat=True)).values(turns)
    both = set[tuple[bool, bool]]()
    for row, state in enumerate(turns.hidden):
        for card in np.flatnonzero(turns.legal[row]):
            after = np.array([state])
            game.play(after, np.array([card]))
            mine = bool(state["public"]["turn"] == state["public"]["soloist"])
            assert values[row, card] == (bool(Solver().wins(after)[0]) == mine)
            both.add((mine, bool(values[row, card])))
        assert np.isneginf(values[row, ~turns.legal[row]]).all()
    assert len(both) == 4  # soloists and defenders, cards that win and cards that lose


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_playouts_value_an_action_by_how_scripted_players_end_it(game: Game) -> None:
    turns = turns_of(game, 3, 2)
    assert turns.hidden is not None
    config = PimcConfig(worlds=1, evaluator="playouts", cheat=True)
    values, utility = player_of(game, config).values(turns), game.outcomes.utility("")
    scripted = make_players([kinds.baseline(game) or "random"], game, SearchConfig())[0]
    for row, state in enumerate(turns.hidden):
        for action in np.flatnonzero(turns.legal[row]):
            after = np.array([None], object) if game.name.startswith("openspiel") else np.empty(1, turns.hidden.dtype)
            after[0] = state
            game.play(after, np.array([action]))
            found = set[float]()
            for seed in range(1 if kinds.baseline(game) else 60):
                ends = after.copy()
                play_out(game, scripted, ends, derive_many(seed, 1))
                found.add(float(utility[game.outcome(ends)[0, turns.seat[row]]]))
            assert values[row, action] in found


def test_the_solver_bids_without_jumps_and_has_no_part_in_an_auction_that_is_decided_beside_a_card() -> None:
    game, config = SkatGame(), PimcConfig(worlds=4, evaluator="solver")
    playing, bidding = declared(2), turns_of(game, 2, 0)
    values = player_of(game, config).values(bidding)
    assert [np.flatnonzero(np.isfinite(row)).tolist() for row in values] == [[PASS, FIRST_BID]] * 2
    both = Turns(**{name: np.concatenate([column, vars(bidding)[name]]) for name, column in vars(playing).items()})
    together = player_of(game, config).act(both)
    assert together.tolist() == [*player_of(game, config).act(playing), *player_of(game, config).act(bidding)]


def lowest_legal(game: Game) -> Callable[[History], tuple[np.ndarray, float]]:
    """A network that plays the lowest action, and finds a history worth its length and last token."""

    def answer(history: History) -> tuple[np.ndarray, float]:
        legal = game.view_legal(game.views(np.array([history]), np.array([len(history)])))[0]
        return (np.arange(len(legal)) == legal.argmax()).astype(np.float32), len(history) + history[-1] / 1000

    return answer


@pytest.mark.parametrize("limit", [100_000, 700])
def test_with_a_network_all_seats_play_on_by_its_policy(limit: int) -> None:
    game = HeartsGame()

    turns, model = turns_of(game, 3, 40), FunctionModel(lowest_legal(game), limit)
    found = player_of(game, PimcConfig(worlds=1, cheat=True, evaluator="network"), model).values(turns)
    for row, legal in enumerate(turns.legal):
        assert (np.isfinite(found[row]) == legal).all()
        for action in np.flatnonzero(legal):
            state = turns.hidden[row : row + 1].copy()
            game.play(state, np.array([action]))
            while game.to_move(state)[0] >= 0:
                game.play(state, game.legal(state).argmax(axis=1))
            label = game.outcome(state)[0, turns.seat[row]]
            assert found[row, action] == pytest.approx(game.outcomes.utility("")[label])


@pytest.mark.parametrize(("game", "plies"), [(HeartsGame(), 2), (HeartsGame(), 40), (CrewGame(), 25)])
def test_by_value_the_others_play_on_until_the_seat_is_to_act_again(game: Game, plies: int) -> None:
    network = lowest_legal(game)
    turns, model = turns_of(game, 6, plies), FunctionModel(network, 2000)
    found = player_of(game, PimcConfig(worlds=1, cheat=True, evaluator="value"), model).values(turns)
    assert not model.held
    ended = 0
    for row, action in zip(*np.nonzero(turns.legal), strict=True):
        assert turns.hidden is not None
        state, seat = turns.hidden[row : row + 1].copy(), turns.seat[row : row + 1]
        game.play(state, np.array([action]))
        while game.to_move(state)[0] not in (-1, seat[0]):
            game.play(state, game.legal(state).argmax(axis=1))
        if game.to_move(state)[0] < 0:
            expected, ended = game.outcomes.utility("")[game.outcome(state)[0, seat[0]]], ended + 1
        else:
            tokens, lengths = game.histories(state, seat)
            expected = network(tuple(tokens[0, : lengths[0]]))[1]
        assert found[row, action] == pytest.approx(expected)
    assert bool(ended) == (game.name == "crew")  # a card of Hearts that leaves a choice is never one's last


SCRIPTED = ["hearts", "skat", "crew"]
SEARCHED = PimcConfig(worlds=6, candidates=12, evaluator="playouts", beliefs="scripted", confidence=1.0)


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
    turns = turns_of(game, 12, 30)
    independent = player_of(game, replace(SEARCHED, worlds=40, candidates=60)).world_values(turns)[1]
    views = game.views(turns.tokens, turns.lengths)
    expected = weighted_worlds(game, by_player(support_of(game).scripted), views, mix(turns.seeds, 1), 40, 60).effective
    np.testing.assert_array_equal(independent, np.minimum(expected, 40))
    assert (independent < 40).any()


@pytest.mark.parametrize("name", SCRIPTED)
def test_who_is_never_sure_plays_as_the_scripted_player_does(name: str) -> None:
    game = make_game(name)
    player, scripted = player_of(game, replace(SEARCHED, confidence=1e9)), support_of(game).scripted(game)
    turns = turns_of(game, 12, 8)
    scripted.start(game, 12)
    values = np.where(turns.legal[:, None], player.world_values(turns)[0], 0.0)
    varies = (values.std(axis=1) > 0.0) | ~turns.legal  # what is the same in all worlds is sure
    unsure = varies.all(axis=1)
    assert unsure.any() and (player.act(turns) == scripted.act(turns))[unsure].all()


def test_the_networks_favourite_may_be_the_blueprint() -> None:
    game, model = make_game("hearts"), FunctionModel(hash_model(make_game("hearts"), 0.1))
    turns = turns_of(game, 6, 30)
    favourite = legal_policy(ask(model, turns.tokens, turns.lengths).next_token, turns.legal).argmax(axis=1)
    settings = PimcConfig(worlds=4, evaluator="playouts", blueprint="network", confidence=1e9)
    values = player_of(game, settings, model).values(turns)
    np.testing.assert_array_equal(values.argmax(axis=1), favourite)
    assert (values.max(axis=1) == 0).all() and not model.held


def test_an_action_that_the_network_finds_unlikely_is_not_searched() -> None:
    """Favourites alone at 0.999: nothing is left to search. At 0.1 whatever is played is as likely as that."""
    game, model = make_game("hearts"), FunctionModel(hash_model(make_game("hearts"), 0.1))
    turns = turns_of(game, 6, 20)
    policy = legal_policy(ask(model, turns.tokens, turns.lengths).next_token, turns.legal)
    sure = PimcConfig(worlds=2, evaluator="playouts", blueprint="network", threshold=0.999)
    player = player_of(game, sure, model)
    before = len(model.histories_asked)
    np.testing.assert_array_equal(player.act(turns), policy.argmax(axis=1))
    assert len(model.histories_asked) == before + len(turns.seeds)
    player = player_of(game, replace(sure, threshold=0.1), model)
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
    player = player_of(game, settings, model)
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


@pytest.mark.parametrize("game", [HeartsGame(), SkatGame()])
def test_a_search_of_an_open_deal_values_the_last_card_by_what_the_deal_comes_to(game: Game) -> None:
    """In units of the utility, as playouts do."""
    states, last = game.deal(derive_many(3, 40)), None
    for step in range(game.num_players * game.max_length):
        acting = np.flatnonzero(game.to_move(states) >= 0)
        if not acting.size:
            break
        last = states[acting].copy() if last is None or acting.size == len(states) else last
        game.play(states, choose_uniformly(game.legal(states), derive_many(100 + step, len(states))))
    assert last is not None
    turns = turns_at(game, last, np.arange(len(last)), game.to_move(last), derive_many(4, len(last)), 5)
    turns = replace(turns, hidden=last)
    config = PimcConfig(worlds=1, runs=3, cheat=True)
    worth = {
        evaluator: player_of(game, replace(config, evaluator=evaluator)).action_values(turns)
        for evaluator in ("uct", "playouts")
    }
    only = turns.legal.sum(axis=1) == 1
    assert only.any()
    ends = game.after(last, turns.legal.argmax(axis=1)[:, None], np.ones(len(last), np.int64))
    over = only & (game.to_move(ends) < 0)
    assert over.any()
    np.testing.assert_allclose(worth["uct"][over][turns.legal[over]], worth["playouts"][over][turns.legal[over]])
