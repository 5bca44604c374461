"""A board on the screen: a cursor moves over its blocks, a click takes one, and what is drawn is the game's board."""

import numpy as np
import pytest
from textual.pilot import Pilot

from games.registry import make_game
from games.rng import derive_many
from games.samegame.describe import LETTERS
from search.apps.pictures.scene import TABLE_WIDTH
from search.apps.play.app import Phase
from search.apps.play.layouts import layout_of
from search.apps.play.session import Session
from search.apps.play.widgets import TablePicture
from tests.search.play.material import app_of, drive, press, screen, session_of, settled


def test_a_game_is_played_with_arrows_and_clicks() -> None:
    session = session_of("samegame")
    app = app_of(session)

    async def script(pilot: Pilot[None]) -> None:
        board = app.scene.board
        assert board is not None and app.phase is Phase.CHOOSING
        first = app.selection.at_cursor
        await press(pilot, "right", "right", "up", "down", "left")
        assert app.selection.at_cursor in app.selection.legal
        await press(pilot, "home")
        assert app.selection.at_cursor == first
        await press(pilot, "right")
        moved = app.selection.at_cursor
        columns = [np.argwhere(board.choices == token)[:, 1].mean() for token in (first, moved)]
        assert columns[1] > columns[0]
        row, column = np.argwhere(board.choices == app.selection.legal[-1])[0]
        offset = (board.left + int(column) * board.width + 1, board.top + int(row))
        await pilot.click(TablePicture, offset=offset)
        await settled(pilot)
        assert app.selection.chosen == [app.selection.legal[-1]]
        await press(pilot, "enter")
        assert session.history[-1] == app.tokens[100] and len(session.history) == 101
        await pilot.click(TablePicture, offset=(0, 0))
        await settled(pilot)
        assert app.selection.chosen == [], "no block is there"
        while app.phase is Phase.CHOOSING:
            await press(pilot, "space", "enter")
        assert session.over and app.phase is Phase.LOOKING
        assert f"{session.points[0, 0]:g}" in "".join(screen(app)), "the score is shown"
        await press(pilot, "left", "left", "n")
        assert app.phase is Phase.CHOOSING, "the next board"

    drive(app, script)


def test_every_picture_is_the_board_of_its_history() -> None:
    for options in ({}, {"rows": 15, "columns": 15}, {"rows": 5, "columns": 30}):
        game = make_game("samegame", options)
        layout, states = layout_of(game, ()), game.deal(derive_many(2, 1))
        game.playout(states, derive_many(3, 1))
        tokens, lengths = game.histories(states, np.zeros(1, np.int64))
        for stop in layout.stops(tokens[0, : lengths[0]]):
            scene, view = layout.scene(tokens[0, :stop]), game.views(tokens[:, :stop], np.array([stop]))
            lines = scene.table.plain.split("\n")
            assert all(len(line) == TABLE_WIDTH for line in lines)
            shown = [[sign for sign in line if sign in LETTERS] for line in lines]
            tiles = view["public"]["tiles"][0].reshape(game.options["columns"], game.options["rows"]).T[::-1]
            wanted = [[LETTERS[tile - 1] for tile in row if tile] for row in tiles]
            assert [line for line in shown if line] == [line for line in wanted if line]
            assert [choice.token for choice in scene.choices] == np.flatnonzero(game.view_legal(view)[0]).tolist()
        assert scene.points == (float(game.points(states)[0, 0]),)


def test_a_board_that_does_not_fit_is_refused_in_one_line() -> None:
    with pytest.raises(ValueError, match=r"game\.options\.rows=20: the screen shows boards of at most 16 rows"):
        layout_of(make_game("samegame", {"rows": 20}), ())


def test_a_board_without_a_move_is_over_and_counted(tmp_path) -> None:
    path = tmp_path / "boards.txt"
    path.write_text("01\n10\n\n00\n11\n")
    session = Session(make_game("samegame", {"rows": 2, "columns": 2, "colours": 2, "boards": str(path)}), [], 0, 1)
    assert session.over and session.points.tolist() == [[0.0]]
    session.deal()
    assert not session.over, "the second board of the list"
    session.save(str(tmp_path / "games.parquet"), {})
