"""Sessions without a screen: hands of a person, one that is left midway and gone on with, and hints."""

import json
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.errors import UserError
from games.game import Game, Next
from games.hearts.game import HeartsGame
from games.registry import make_game
from games.rng import derive, derive_many, keyed_hash
from games.shards import read_shard, shard_info
from search.apps.play.hints import Hints, visits_of
from search.apps.play.saved import keep, path_of, unfinished
from search.apps.play.session import Session
from search.config import SearchConfig
from search.go_mcts.config import GoMctsConfig
from search.go_mcts.search import Search
from search.players.argmax_val import ArgmaxVal
from search.players.config import ArgmaxValConfig
from search.players.random_player import RandomPlayer, choose_uniformly
from search.players.table import play_table
from search.roster.registry import make_players
from tests.search.models import FunctionModel, hash_model
from tests.search.play.material import session_of


def legal_of(session: Session) -> np.ndarray:
    """``bool[1, V]``: what the person may do, as its history tells."""
    history = session.history
    views = session.game.views(history[None], np.array([len(history)]))
    assert session.game.next(views)[0] == Next.ACTION
    return session.game.view_legal(views)


def step(session: Session) -> None:
    """The next decision, the person's the first legal one."""
    session.act(int(legal_of(session)[0].argmax())) if session.my_turn else session.let_play()


def play_as_a_table_would(session: Session, deal_seed: int) -> None:
    """The person draws as ``random`` does at a table of the same secret."""
    while not session.over:
        if not session.my_turn:
            session.let_play()
            continue
        columns = [np.array([value], np.uint64) for value in (deal_seed, session.seat, len(session.history))]
        seeds = keyed_hash(derive(session.seed, "decisions"), *columns)
        session.act(int(choose_uniformly(legal_of(session), seeds)[0]))


@settings(max_examples=8)
@given(
    seed=st.integers(0, 2**40),
    seat=st.integers(0, 3),
    others=st.lists(st.sampled_from(["random", "hearts_rules"]), min_size=3, max_size=3),
)
def test_the_shard_of_a_session_holds_what_a_table_of_the_same_players_plays(
    seed: int, seat: int, others: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    game, path = HeartsGame(), str(tmp_path_factory.mktemp("hands") / "hands.parquet")
    players = make_players(["random", "hearts_rules"], game, SearchConfig())
    at_table = {player.name: player for player in players}
    session = Session(game, [at_table[name] for name in others], seat, seed)
    deals = np.array([derive(seed, "hand", hand) for hand in range(2)], np.uint64)
    play_as_a_table_would(session, int(deals[0]))
    session.deal()
    play_as_a_table_would(session, int(deals[1]))
    session.save(path, {})

    seating = np.roll([0, *(1 + (name == "hearts_rules") for name in others)], seat)
    entrants, secret = [RandomPlayer("human"), *players], derive(seed, "decisions")
    table = play_table(game, entrants, np.tile(seating, (2, 1)), deals, secret=secret)
    kept = read_shard(path, game)
    rows, seats = np.repeat(np.arange(2), 4), np.tile(np.arange(4), 2)
    np.testing.assert_array_equal(kept.tokens, game.histories(table.states[rows], seats)[0])
    np.testing.assert_array_equal(kept.outcome, table.labels.ravel())
    np.testing.assert_array_equal(np.roll(session.points, seat, axis=1), table.points)
    names = ["human", "random", "hearts_rules"]
    assert kept.player.tolist() == [names[player] for player in seating] * 2
    assert (kept.seat.tolist(), kept.game.tolist()) == (seats.tolist(), rows.tolist())
    assert kept.deal_seed.tolist() == np.repeat(deals, 4).tolist()


@pytest.mark.parametrize("name", ["openspiel:kuhn_poker", "openspiel:leduc_poker"])
def test_any_game_is_played_and_kept(name: str, tmp_path: Path) -> None:
    session = session_of(name, seat=1, seed=3)
    for hand in range(3):
        if hand:
            session.deal()
        while not session.over:
            step(session)
        session.save(str(tmp_path / "hands.parquet"), {"seating": "play"})
    kept = read_shard(tmp_path / "hands.parquet", make_game(name))
    assert len(kept) == 6 and session.points.shape == (3, 2)
    np.testing.assert_allclose(session.points.sum(axis=1), 0)
    provenance = shard_info(tmp_path / "hands.parquet").provenance
    assert (provenance["run_seed"], provenance["seating"]) == ("3", "play")


def test_what_cannot_be_done_now_is_refused() -> None:
    session = session_of()
    with pytest.raises(ValueError, match="not over"):
        session.deal()
    with pytest.raises(ValueError, match="no other seat"):
        session.let_play()
    absent = int(np.flatnonzero(~legal_of(session)[0])[0])
    with pytest.raises(ValueError, match="not legal for seat 0"):
        session.act(absent)
    for token in np.flatnonzero(legal_of(session)[0])[:3]:
        session.act(int(token))
    with pytest.raises(ValueError, match="not your turn"):
        session.act(int(np.flatnonzero(session.history)[0]))


def test_players_give_back_what_they_hold_after_every_hand() -> None:
    game = HeartsGame()
    model = FunctionModel(hash_model(game, 0.1))
    session = Session(game, [ArgmaxVal(model, ArgmaxValConfig())] * 3, 0, 5)
    held = 0
    while not session.over:
        step(session)
        held = max(held, len(model.slots))
    assert held > 0 and not model.slots


PLAYERS = ["random", "random", "random"]


def play(session: Session, decisions: int) -> None:
    """So many decisions, hand after hand."""
    for _ in range(decisions):
        session.deal() if session.over else step(session)


@pytest.mark.parametrize("decisions", [1, 5, 30, 80, 150])
def test_the_next_session_is_where_the_last_one_was_left_and_goes_on_alike(decisions: int, tmp_path: Path) -> None:
    one, path = session_of("hearts", seat=2), path_of(str(tmp_path), make_game("hearts"))
    play(one, decisions)
    kept = keep(path, one, PLAYERS)
    assert kept == bool(one.decisions[-1] and not one.over) == Path(path).exists()
    if not kept:
        return
    found = unfinished(path, one.game, PLAYERS, 2, None)
    assert found is not None and found.seed == one.seed
    again = session_of("hearts", seat=2)
    again.resume(found.decisions)
    for _ in range(2):
        np.testing.assert_array_equal(again.history, one.history)
        np.testing.assert_array_equal(again.points, one.points)
        assert again.turn == one.turn
        play(one, 60)
        play(again, 60)
    for number, (session, first) in enumerate(((one, 0), (again, 0), (again, again.finished - 1))):
        session.save(str(tmp_path / f"{number}.parquet"), {}, first)
    whole, same, last = (read_shard(tmp_path / f"{number}.parquet", one.game) for number in range(3))
    np.testing.assert_array_equal(same.tokens, whole.tokens)
    np.testing.assert_array_equal(last.tokens, whole.tokens[-4:])


def test_nothing_is_kept_of_a_hand_that_nobody_has_begun(tmp_path: Path) -> None:
    session, path = session_of("hearts", seat=0), tmp_path / "unfinished-hearts.json"
    path.write_text("{}")
    assert not keep(str(path), session, PLAYERS) and not path.exists()
    assert unfinished(str(path), session.game, PLAYERS, 0, None) is None


def left(tmp_path: Path) -> tuple[Path, Game]:
    session, path = session_of("hearts", seat=0), tmp_path / "unfinished-hearts.json"
    play(session, 20)
    assert keep(str(path), session, PLAYERS)
    return path, session.game


WRONG = [{"players": 5}, {"players": [1]}, {"seed": "x"}, {"seed": -1}, {"decisions": [[[10**30]]]},
         {"decisions": [[1.0]]}, {"points": [[0.0] * 4]}, {"format": 2}, {"seat": 0.5}]  # fmt: skip


def test_a_damaged_file_is_said_in_a_line_and_stays(tmp_path: Path) -> None:
    path, game = left(tmp_path)
    sound = json.loads(path.read_text())
    damaged = ["", "[]", "{}", '{"format": 1, "game": 1}', '{"format": 2}', "\x00"]
    for text in (*damaged, *(json.dumps(sound | wrong) for wrong in WRONG)):
        path.write_text(text)
        with pytest.raises(UserError, match=r"unfinished-hearts\.json: holds no hand \(.*\); remove it"):
            unfinished(str(path), game, PLAYERS, 0, None)
        assert path.read_text() == text


def test_actions_that_are_not_legal_are_refused(tmp_path: Path) -> None:
    path, game = left(tmp_path)
    record = json.loads(path.read_text())
    (hand,) = record["decisions"]
    at_once = [token for tokens in hand[:4] for token in tokens]
    for wrong, said in (([hand[:5] + hand[:1]], "not legal"), ([hand, []], "not over"), ([[at_once]], "fewer")):
        path.write_text(json.dumps(record | {"decisions": wrong}))
        found = unfinished(str(path), game, PLAYERS, 0, None)
        assert found is not None
        with pytest.raises(ValueError, match=said):
            session_of("hearts", seat=0).resume(found.decisions)


def test_other_players_seats_seeds_and_rules_do_not_overwrite_it(tmp_path: Path) -> None:
    path, game = left(tmp_path)
    for players, seat, seed in ((["hearts_rules"] * 3, 0, None), (PLAYERS, 1, None), (PLAYERS, 0, 99)):
        with pytest.raises(UserError, match=r"left midway, seat=0 players=\[random,random,random\]; give these"):
            unfinished(str(path), game, players, seat, seed)
    with pytest.raises(UserError, match="holds a hand of other rules"):
        unfinished(str(path), make_game("hearts", {"pass_cards": False}), PLAYERS, 0, None)
    assert path.exists()


# ---- hints: what a network is asked for, against a model whose answers are known


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
