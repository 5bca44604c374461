"""SameGame against plain Python, what holds on any board, and boards from text files."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from games.game import Next
from games.registry import make_game, recordable, recorded_game
from games.rng import derive_many, mix
from games.samegame.game import SameGame
from games.shards import Sequences
from games.show import sequence_text
from search.config import SearchConfig
from search.players.random_player import RandomPlayer
from search.players.table import play_table
from search.roster.registry import make_players
from tests.games.material import played
from tests.games.samegame import plain

EXCESS = {"penalty": "excess", "rows": 5, "columns": 2, "colours": 2}


@pytest.mark.parametrize("games", [30, pytest.param(700, marks=pytest.mark.slow)])
@pytest.mark.parametrize("options", [{}, EXCESS], ids=["stated", "excess"])
def test_boards_moves_and_rewards_are_those_of_plain_python(options: dict, games: int) -> None:
    game = SameGame(**options)
    rows, colours, excess = game.options["rows"], game.options["colours"], game.options["penalty"] == "excess"
    states, seeds = game.deal(derive_many(1, games)), derive_many(2, games)
    boards = [plain.board_of(tiles, rows) for tiles in states["public"]["tiles"]]
    scores, step = np.zeros(games, np.int64), 0
    while True:
        legal = game.legal(states)
        tokens = np.zeros(games, np.int64)
        for row in range(games):
            blocks = {colours + plain.cell(mask): mask for mask in plain.blocks(boards[row])}
            assert set(np.flatnonzero(legal[row]).tolist()) == blocks.keys()
            if not blocks:
                assert game.to_move(states[row : row + 1]) == -1
                assert states["public"]["score"][row] == scores[row] + plain.last_reward(boards[row], excess)
                continue
            tokens[row] = sorted(blocks)[int(mix(seeds[row : row + 1], step)[0] % np.uint64(len(blocks)))]
            mask = blocks[int(tokens[row])]
            boards[row], scores[row] = plain.removed(boards[row], mask), scores[row] + plain.reward(mask)
        if not legal.any():
            return
        game.play(states, tokens)
        step += 1
        for tiles, board in zip(states["public"]["tiles"], boards, strict=True):
            assert np.array_equal(plain.board_of(tiles, rows), board)


@st.composite
def games_on_boards(draw):
    """A small board of up to three colours, and a game on it."""
    rows, columns = draw(st.sampled_from([(5, 2), (5, 4)]))  # each size is compiled on its own
    dealt = draw(arrays(np.int64, rows * columns, elements=st.integers(0, 2)))
    return SameGame(rows=rows, columns=columns, colours=3), dealt, draw(st.lists(st.integers(0, 99), max_size=12))


def history(game: SameGame, dealt: np.ndarray, picks: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The view after a board and so many moves, and what has been seen."""
    tokens = dealt[None].copy()
    views = game.views(tokens, np.array([dealt.size]))
    for pick in picks:
        moves = np.flatnonzero(game.view_legal(views)[0])
        if not moves.size:
            break
        tokens = np.append(tokens, [[moves[pick % moves.size]]], axis=1)
        game.advance(views, tokens[:, -1])
    return views, tokens


@given(games_on_boards())
@settings(max_examples=100)
def test_nothing_is_lost_and_no_move_leaves_a_hole(one) -> None:
    game, dealt, picks = one
    views, _tokens = history(game, dealt, picks)
    public = views["public"][0]
    columns = public["tiles"].reshape(game.options["columns"], game.options["rows"])
    heights = (columns > 0).sum(axis=1)
    assert all((column[:height] > 0).all() for column, height in zip(columns, heights, strict=True))
    assert (heights[: (heights > 0).sum()] > 0).all(), "an empty column amid others"
    assert public["left"].sum() == heights.sum() <= dealt.size
    if game.next(views)[0] == Next.END:  # (n - 2) squared is odd where n is, so every tile counts once
        assert int(public["score"]) % 2 == dealt.size % 2
    states, _ = game.determinize(views, np.zeros(1, np.uint64))
    assert states["public"]["score"][0] == public["score"], "the state's own reckoning"
    assert game.view_outcome(views)[0] == game.outcome(states)[0, 0]


def test_random_play_scores_what_the_papers_game_does() -> None:
    """42.6 and 24.9, by an independent program's 20,000 boards."""
    for boards, mean in (("random", 42.6), ("balanced", 24.9)):
        game = SameGame(boards=boards)
        assert abs(game.points(played(game, 10_000, 3)).mean() - mean) < 3


def test_boards_have_the_tiles_that_their_kind_says() -> None:
    tiles = SameGame(boards="balanced").deal(derive_many(1, 50))["public"]["left"]
    assert (tiles[:, :5] == 20).all()
    tiles = SameGame(boards="dominant").deal(derive_many(1, 500))["public"]["left"][:, :5]
    assert (tiles.max(axis=1) == 51).all() and (np.bincount(tiles.argmax(axis=1)) > 60).all()
    assert 10 < tiles[:, 1][tiles[:, 1] < 51].mean() < 14, "49 tiles of four colours"


def test_a_board_without_a_block_ends_at_once_with_its_penalty() -> None:
    game, checked = SameGame(rows=5, columns=2, colours=2), np.arange(10)[None] % 2
    views = game.views(checked, np.array([10]))
    assert game.next(views)[0] == Next.END and not game.view_legal(views).any()
    assert views["public"]["score"][0] == -(3**2 + 3**2), "five tiles of either colour"
    states, _ = game.determinize(views, np.zeros(1, np.uint64))
    assert game.to_move(states)[0] == -1 and game.points(states)[0, 0] == -18
    assert game.histories(states, np.zeros(1, np.int64))[1][0] == 11


def test_tables_play_boards_that_are_over_at_once_too() -> None:
    game, seeds = SameGame(rows=5, columns=2, colours=9), derive_many(1, 400)
    over = game.to_move(game.deal(seeds)) < 0
    assert over.any() and not over.all()
    result = play_table(game, [RandomPlayer()], np.zeros((400, 1), np.int64), seeds, table_size=16, secret=1)
    assert (result.labels >= 0).all() and (game.to_move(result.states) < 0).all()
    assert np.array_equal(result.points, game.points(result.states))


@pytest.mark.slow
def test_a_search_plays_it() -> None:
    game = SameGame(rows=4, columns=4, colours=3)
    players = [RandomPlayer(), *make_players(["pimc:worlds=1:runs=200"], game, SearchConfig())]
    seating = np.repeat(np.arange(2)[:, None], 60, axis=0)
    result = play_table(game, players, seating, np.tile(derive_many(2, 60), 2), secret=1)
    assert result.points[60:].mean() > result.points[:60].mean() + 50


def test_scores_are_exact_and_labels_the_nearest_support() -> None:
    game = SameGame()
    states = played(game, 300, 5)
    exact, labels = game.points(states)[:, 0], game.outcome(states)[:, 0]
    supports = game.outcomes.points[:, 0]
    assert np.array_equal(labels, np.abs(supports[None] - exact[:, None]).argmin(axis=1))
    assert not game.outcomes.exact and not game.outcomes.lower_is_better
    assert supports[0] <= -2 * 48**2 + 1 and supports[-1] >= 98**2 + 1000 - 1
    roots = np.sign(supports) * np.sqrt(np.abs(supports))
    assert np.allclose(np.diff(roots), np.diff(roots)[0], atol=1e-3)


def test_the_sizes_are_the_papers() -> None:
    for options, size, length in (({}, 106, 151), ({"rows": 15, "columns": 15}, 231, 338)):
        game = make_game("samegame", options)
        assert (game.vocabulary.size, game.max_length, game.num_players) == (size, length, 1)


def test_a_game_is_drawn_with_its_moves() -> None:
    game = SameGame(rows=3, columns=2, colours=2)
    history = np.array([0, 0, 1, 1, 1, 1, 2 + 2])
    assert game.describe(history) == "b b   . .\na b   a .\na b   a .\nmoves: 1.3"
    assert game.describe(np.array([0, 0, 4, 1, 1, 1])) == "a a 1.3 b b b"  # no board


def test_a_shard_shows_the_exact_score() -> None:
    game, seeds = SameGame(), derive_many(9, 3)
    states = played(game, 3, 9)
    sequences = Sequences.of_deals(game, states, seeds, "random")
    for row in range(3):
        assert f"points {game.points(states)[row, 0]:g} (own first" in sequence_text(game, sequences, row)


# ---- boards from text files, and what is wrong with some


SIZES = {"rows": 2, "columns": 3, "colours": 3}
GOOD = "# two boards\n\n012\n021\n\n# the second\n112\n220  # a remark\n"


def written(tmp_path, text: str) -> str:
    path = tmp_path / "boards.txt"
    path.write_text(text)
    return str(path)


def test_boards_of_a_file_are_dealt_by_number(tmp_path) -> None:
    game = SameGame(**SIZES, boards=written(tmp_path, GOOD))
    assert game.num_deals == 2
    states = game.deal(np.array([1, 0, 3], np.uint64))
    rows = [plain.board_of(tiles, 2) for tiles in states["public"]["tiles"]]
    top_first = [[[int(tile) - 1 for tile in row] for row in np.array(board).tolist()] for board in rows]
    assert top_first == [[[1, 1, 2], [2, 2, 0]], [[0, 1, 2], [0, 2, 1]], [[1, 1, 2], [2, 2, 0]]]
    assert states["tokens"][0, 0, :6].tolist() == [2, 1, 2, 1, 0, 2], "column by column from below"
    assert make_game("samegame", game.options).options == game.options


@pytest.mark.parametrize("text", [GOOD, GOOD[GOOD.index("012") :]])
def test_a_byte_order_mark_is_no_tile(text: str, tmp_path) -> None:
    game = SameGame(**SIZES, boards=written(tmp_path, f"\ufeff{text}".replace("\n", "\r")))
    assert game.num_deals == 2
    assert game.deal(np.array([0], np.uint64))["tokens"][0, 0, :6].tolist() == [0, 0, 2, 1, 1, 2]


def test_the_standard_boards_have_the_tiles_they_are_known_for() -> None:
    """Boards 11 to 15 have 45 tiles of each colour, 16 to 20 one colour with 65."""
    game = make_game("samegame", {"rows": 15, "columns": 15, "boards": "standard_20"})
    left = game.deal(np.arange(20, dtype=np.uint64))["public"]["left"][:, :5]
    assert (left[10:15] == 45).all() and (left[15:].max(axis=1) == 65).all()
    assert (game.vocabulary.size, game.max_length) == (231, 338)


def test_a_record_may_name_a_file_only_with_its_digest(tmp_path) -> None:
    path = written(tmp_path, GOOD)
    game = SameGame(**SIZES, boards=path)
    assert recorded_game("x.parquet", "samegame", game.options).options == game.options
    given = {**SIZES, "boards": path}
    assert recorded_game("config.yaml", "samegame", recordable("samegame", given)).options == game.options
    for options in (given, {**given, "boards_digest": "0" * 16}, {**given, "boards": f"{tmp_path}/nothing"}):
        with pytest.raises(ValueError, match=r"^x.parquet: names the boards in .*only with their boards_digest"):
            recorded_game("x.parquet", "samegame", options)
    assert recorded_game("x", "samegame", {"rows": 15, "columns": 15, "boards": "standard_20"}).num_deals == 20


def test_a_file_that_changed_is_refused(tmp_path) -> None:
    path = written(tmp_path, GOOD)
    before = SameGame(**SIZES, boards=path).options
    written(tmp_path, GOOD.replace("220", "221"))
    with pytest.raises(ValueError, match="has changed since boards_digest="):
        make_game("samegame", before)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("012\n01\n", "line 2: has 2 tiles; columns=3"),
        ("012\n\n011\n011\n", "line 2: a board of 1 rows ends here; rows=2"),
        ("012\n011\n011\n", "line 4: a board of 3 rows ends here; rows=2"),
        ("012\n0.1\n", "line 2: cell 2 is empty; a board is full when it is dealt"),
        ("013\n011\n", "line 1: '3' is no colour; colours=3 are 0 to 2"),
        ("01a\n011\n", "line 1: 'a' is no colour"),
        ("# nothing\n", "holds no board"),
    ],
)
def test_what_is_no_board_is_refused_by_file_and_line(text, message, tmp_path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ValueError, match=message) as refused:
        SameGame(**SIZES, boards=path)
    assert str(refused.value).startswith(path) and "\n" not in str(refused.value)
