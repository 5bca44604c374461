"""Boards from text files, and what is wrong with some."""

import numpy as np
import pytest

from games.registry import make_game, recordable, recorded_game
from games.samegame.game import SameGame
from tests.games.samegame import plain

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
