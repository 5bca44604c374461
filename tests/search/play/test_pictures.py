"""Pictures: what is drawn behind a history, where a click goes, boards, and those of the docs."""

import html

import numpy as np
import pytest
from textual.pilot import Pilot

from games.crew.table import card_text, table_of
from games.game import Game
from games.hearts.cards import card_id
from games.hearts.game import HeartsGame
from games.registry import make_game
from games.rng import derive_many
from games.samegame.describe import LETTERS
from search.apps.pictures.cards import standing
from search.apps.pictures.scene import TABLE_HEIGHT, TABLE_WIDTH, Choice, Pause
from search.apps.play.app import Phase
from search.apps.play.hand import HAND_HEIGHT, HAND_WIDTH, KEYS, draw_hand, legal_tokens
from search.apps.play.layouts import PlainLayout, layout_of
from search.apps.play.panel import draw_scores
from search.apps.play.session import Session
from search.apps.play.widgets import TablePicture
from search.scripted.hearts.layout import HeartsLayout
from tests.search.play.material import app_of, drive, press, screen, session_of, settled, size
from tests.search.play.screenshot import screenshot

GAME = HeartsGame()
LAYOUT = HeartsLayout(GAME, ["", "hearts_rules", "go_mcts:num_runs=40:mask_impossible=true", "random"])


PLAYERS = ["hearts_rules", "go_mcts:num_runs=40:mask_impossible=true", "random"]
DEALS = [("hearts", {}, 6), ("skat", {}, 20), ("crew", {"missions": "1-25"}, 15), ("crew", {"missions": "26-50"}, 15)]


def histories(game: Game, count: int) -> list[np.ndarray]:
    states = game.deal(derive_many(4, count))
    game.playout(states, derive_many(5, count))
    tokens, lengths = game.histories(states, np.arange(count) % game.num_players)
    return [row[:length] for row, length in zip(tokens, lengths, strict=True)]


@pytest.mark.parametrize(("name", "options", "count"), DEALS)
def test_every_scene_of_a_deal_fits_its_place_and_shows_the_cards_on_the_table(name, options, count) -> None:
    game = make_game(name, options)
    layout = layout_of(game, PLAYERS[: game.num_players - 1])
    for tokens in histories(game, count):
        for stop in layout.stops(tokens):
            scene = layout.scene(tokens[:stop])
            drawn, table = scene.table.plain, scene.card_table
            hand = draw_hand(scene.choices, scene.cards, [], None).text.plain
            assert size(drawn) == (TABLE_WIDTH, TABLE_HEIGHT) and size(hand) == (HAND_WIDTH, HAND_HEIGHT)
            assert bool(scene.needed) == bool(legal_tokens(scene.choices)) and table is not None
            assert name != "hearts" or all(choice.name in hand for choice in scene.choices)
            names = (f"{place.name} {place.player}".strip()[:12] for place in table.places)
            middle = (line[:24] for line in table.middle)  # as wide as there is room between cards
            assert all(text in drawn for text in (*names, *middle, *map(standing, table.places)))
            for label, cards in table.shown:
                assert label in drawn and all(card.name in drawn for card in cards)
            assert all(remark in draw_scores(layout.names, (), None, scene.remarks).plain for remark in scene.remarks)
            assert all(place.card.name in drawn for place in table.places if place.card)
            if scene.pause is Pause.CARD and "trick" in scene.title:
                assert layout.token(int(tokens[stop - 1])) in drawn
            if name == "crew":
                trick = table_of(game, tokens[:stop]).trick
                on_table = sorted(place.card.name for place in table.places if place.card)
                assert on_table == sorted(map(card_text, trick.cards) if trick else [])


def test_a_complete_trick_says_who_led_and_who_took_it() -> None:
    names = "pass left,2C,3C,4C,5C,6C,7C,8C,9C,TC,JC,QC,KC,AC,2C,3C,4C,2D,3D,4D,right,2S,2H"
    tokens = np.array([GAME.vocabulary.names.index(name) for name in names.split(",")], np.uint8)
    table = LAYOUT.scene(tokens[:22]).table.plain
    assert "East led" in table and "took" not in table and "To West:" in table and "From East:" in table
    complete = np.append(tokens, [card_id("AH"), card_id("TS")]).astype(np.uint8)
    assert "You" in LAYOUT.scene(complete[:23]).table.plain
    assert "North took it" in LAYOUT.scene(complete).table.plain


CARDS = tuple(Choice(token, name, token != 2, group=token // 2) for token, name in enumerate(["2♣", "9♣", "K♦", "A♠"]))


def test_legal_cards_have_keys_and_a_click_finds_them_wherever_they_are_drawn() -> None:
    hand = draw_hand(CARDS, True, [3], 1)
    lines = hand.text.plain.split("\n")
    assert lines[4].split() == ["1", "2", "3"]
    assert [box.token for box in hand.boxes] == [0, 1, 3]
    for box in hand.boxes:
        for y in range(HAND_HEIGHT):
            assert hand.at(box.left, y) == hand.at(box.right - 1, y) == box.token
    assert hand.at(lines[2].index("K♦"), 2) is None and hand.at(0, 0) is None
    assert "A♠" in lines[1] and "9♣" in lines[2], "the chosen card is raised"


def test_more_words_than_fit_scroll_with_the_cursor() -> None:
    choices = tuple(Choice(token, f"action number {token}", True) for token in range(60))
    first, last = draw_hand(choices, False, [], 0), draw_hand(choices, False, [], 59)
    assert "action number 0 " in first.text.plain and "action number 59" not in first.text.plain
    assert "action number 59" in last.text.plain
    assert f"{KEYS[-1]} action number {len(KEYS) - 1}" in first.text.plain
    line = last.text.plain.split("\n")[-1]
    assert last.at(line.index("action number 59") + 3, HAND_HEIGHT - 1) == 59


@pytest.mark.parametrize("name", ["openspiel:kuhn_poker", "openspiel:leduc_poker", "openspiel:kuhn_poker(players=3)"])
def test_games_without_pictures_are_laid_out_in_words(name: str) -> None:
    game = make_game(name)
    layout = layout_of(game, ["random"] * (game.num_players - 1))
    assert isinstance(layout, PlainLayout)
    states = game.deal(derive_many(1, 1))
    game.playout(states, derive_many(2, 1))
    tokens, lengths = game.histories(states, np.array([1]))
    decisions = 0
    for stop in layout.stops(tokens[0, : lengths[0]]):
        scene = layout.scene(tokens[0, :stop])
        decisions += scene.needed
        assert scene.needed == bool(scene.choices)
        width, height = size(scene.table.plain)
        assert width <= TABLE_WIDTH and height <= TABLE_HEIGHT and "random" in scene.table.plain
    assert decisions > 0
    np.testing.assert_allclose(scene.points, np.roll(game.points(states)[0], -1))


def test_the_panel_counts_points_over_the_hands() -> None:
    finished = np.array([[1, 2, 3, 20], [26, 0, 26, 26]], np.float32)
    drawn = draw_scores(LAYOUT.names, (0, 13, 0, 0), finished, ("Last trick", "West led Q♠")).plain.split("\n")
    assert drawn[2].split() == ["West", "13", "2"] and drawn[4].split() == ["East", "0", "46"]
    assert drawn[8].split() == ["2", "26", "0", "26", "26"] and drawn[15].strip() == "West led Q♠"
    many = draw_scores(LAYOUT.names, (), np.ones((40, 4), np.float32), ("Last trick",)).plain.split("\n")
    assert many[13].split()[0] == "40" and many[15].strip() == "Last trick" and many[1].split() == ["You", "-", "40"]


def test_a_mission_is_told_by_its_tasks_statements_and_end() -> None:
    game = make_game("crew", {"missions": "8"})
    layout, rows = layout_of(game, PLAYERS), histories(game, 60)
    tokens = next(row for row in rows if game.vocabulary.names.index("highest") in row)
    scenes = [layout.scene(tokens[:stop]) for stop in layout.stops(tokens)]
    assert scenes[0].title == "The Crew · mission 8"
    assert any(label == "Tasks" and len(cards) == 3 for label, cards in scenes[0].card_table.shown)
    roles = " ".join(map(standing, scenes[-1].card_table.places))
    assert any(f":{number}" in roles for number in (1, 2, 3)) or scenes[-1].card_table.middle[0] == "Success"
    assert any("highest" in remark for remark in scenes[-1].remarks)
    assert scenes[-1].card_table.middle[0] in ("Success", "Failure")
    assert scenes[-1].points in ((0.0,) * 4, (1.0,) * 4)
    silent = game.vocabulary.names.index("silent")
    for tokens in rows[:4]:
        for stop in layout.stops(tokens):
            assert tokens[stop - 1] != silent or layout.scene(tokens[:stop]).needed, "of others it is passed over"


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


def words(picture: str) -> str:
    return html.unescape(picture).replace("\xa0", " ")


@pytest.mark.slow
def test_the_picture_is_made_from_a_seed_and_refers_to_nothing_outside() -> None:
    made = screenshot()
    assert made == screenshot()
    assert "@font-face" not in made and "url(http" not in made
    for text in ("North hearts_rules", "trick 7 of 13", "Your card", "J♥", "Points", "Confirm"):
        assert text in words(made)
