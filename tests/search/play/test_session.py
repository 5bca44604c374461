"""Sessions without a screen: hands of a person at one seat."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.game import Next
from games.hearts.game import HeartsGame
from games.registry import make_game
from games.rng import derive, keyed_hash
from games.shards import read_shard, shard_info
from search.apps.play.session import Session
from search.config import SearchConfig
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
    table = play_table(
        game, [RandomPlayer("human"), *players], np.tile(seating, (2, 1)), deals, secret=derive(seed, "decisions")
    )
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
            if session.my_turn:
                session.act(int(np.flatnonzero(legal_of(session)[0])[0]))
            else:
                session.let_play()
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


@pytest.mark.parametrize(
    ("seat", "others", "message"), [(4, 3, "seat=4: hearts has seats 0 to 3"), (0, 2, "players: 2 given")]
)
def test_a_table_that_does_not_fit_the_game_is_refused(seat: int, others: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Session(HeartsGame(), [RandomPlayer()] * others, seat, 1)


def test_players_give_back_what_they_hold_after_every_hand() -> None:
    game = HeartsGame()
    model = FunctionModel(hash_model(game, 0.1))
    session = Session(game, [ArgmaxVal(model, ArgmaxValConfig())] * 3, 0, 5)
    held = 0
    while not session.over:
        if session.my_turn:
            session.act(int(np.flatnonzero(legal_of(session)[0])[0]))
        else:
            session.let_play()
        held = max(held, len(model.slots))
    assert held > 0 and not model.slots
