"""The screen, driven at 80 x 24 as a person would, and what Skat draws on it."""

import asyncio
from collections.abc import Callable

import numpy as np
import pytest
from textual.pilot import Pilot

from games.hearts.game import HeartsGame
from games.registry import make_game
from games.rng import derive_many
from learner.config import EngineConfig
from search.apps.play.app import Pace, Phase, PlayApp
from search.apps.play.hand import legal_tokens
from search.apps.play.hints import Hints
from search.apps.play.layouts import layout_of
from search.apps.play.session import Session
from search.apps.play.widgets import HandView
from search.go_mcts.config import GoMctsConfig
from search.roster.engines import Engines
from search.scripted.skat.layout import SkatLayout
from tests.search.play.material import app_of, drive, play_hand, press, screen, session_of, settled
from tests.search.turns import Lowest


def hints_of(network: str) -> Hints:
    game = HeartsGame()
    return Hints(game, Engines(game, EngineConfig(device="cpu")).get(network), GoMctsConfig(num_runs=8), 1)


def test_three_cards_are_chosen_in_order_taken_back_and_passed() -> None:
    session = session_of()
    app = app_of(session)

    async def script(pilot: Pilot[None]) -> None:
        legal = legal_tokens(app.scene.choices)
        await press(pilot, "3", "1", "5")
        assert app.selection.chosen == [legal[2], legal[0], legal[4]]
        await press(pilot, "8")
        assert len(app.selection.chosen) == 3 and "3 are chosen" in screen(app)[22]
        await press(pilot, "u")
        assert app.selection.chosen == [legal[2], legal[0]]
        await press(pilot, "enter")
        assert app.phase is Phase.CHOOSING and len(session.history) == 14 and "Choose 1 more" in screen(app)[22]
        await press(pilot, "3")
        assert app.selection.chosen == [legal[0]], "the key of a chosen card puts it back"
        await press(pilot, "escape")
        assert app.selection.chosen == [] and len(session.history) == 14
        await press(pilot, "b", "2", "7", "enter")
        assert session.history[14:17].tolist() == [legal[11], legal[1], legal[6]]
        assert app.phase is Phase.CHOOSING and app.scene.needed == 1 and "From" in screen(app)[11]

    drive(app, script)


def test_the_arrows_and_the_mouse_choose_too() -> None:
    app = app_of(session_of())

    async def script(pilot: Pilot[None]) -> None:
        legal = legal_tokens(app.scene.choices)
        await press(pilot, "right", "right", "space", "end", "space")
        assert app.selection.chosen == [legal[2], legal[-1]]
        view = app.query_one(HandView)
        box = next(box for box in view.hand.boxes if box.token == legal[5])
        await pilot.click(HandView, offset=(box.left + 2, 2))
        await settled(pilot)
        assert app.selection.chosen == [legal[2], legal[-1], legal[5]]
        await pilot.click(HandView, offset=(0, 0))
        await pilot.click(HandView, offset=(box.left + 2, 1))
        await settled(pilot)
        assert app.selection.chosen == [legal[2], legal[-1]]

    drive(app, script)


def test_a_hand_is_played_to_its_end_counted_looked_at_again_and_the_next_one_dealt() -> None:
    session, ended = session_of(seed=2), []
    layout = layout_of(session.game, ["random"] * 3)
    app = PlayApp(layout, session, pace=Pace(0, 0), hand_over=lambda: ended.append(len(session.points)))

    async def script(pilot: Pilot[None]) -> None:
        await play_hand(pilot, app)
        assert ended == [1] and app.phase is Phase.LOOKING
        lines = screen(app)
        assert "step 55 of 55" in lines[0] or "step 54 of 54" in lines[0]
        for seat, name in enumerate(("You", "West", "North", "East")):
            row = lines[2 + seat][50:].split()
            assert row == [name, f"{session.points[0, seat]:g}", f"{session.points[0, seat]:g}"]
        before = screen(app)
        await press(pilot, "left", "left")
        assert "step 5" in screen(app)[0] and screen(app) != before
        await press(pilot, "right", "right")
        assert screen(app) == before
        await press(pilot, "home")
        assert "step 1 of" in screen(app)[0]
        await press(pilot, "n")
        assert app.phase is Phase.CHOOSING and "hand 2" in screen(app)[0]
        await play_hand(pilot, app)
        assert ended == [1, 2]
        totals = [int(line.split()[-1]) for line in (row[50:] for row in screen(app)[2:6])]
        assert totals == session.points.sum(axis=0).tolist()

    drive(app, script)


def test_the_card_that_was_played_is_raised_when_a_hand_is_looked_at_again() -> None:
    game = HeartsGame()
    states = game.deal(derive_many(3, 1))
    game.playout(states, derive_many(1, 1))
    tokens, lengths = game.histories(states, np.array([2]))
    app = PlayApp(layout_of(game, [""] * 3, own="hearts_rules"), tokens=tokens[0, : lengths[0]])

    async def script(pilot: Pilot[None]) -> None:
        own = 0
        for _ in app.pictures.stops(app.tokens):
            if app.scene.needed == 1:
                own += 1
                assert app.pictures.token(int(app.tokens[app.seen])) in screen(app)[18]
            await press(pilot, "right")
        assert "You hearts_rules" in screen(app)[15]
        assert own == 13 and "n deals" not in screen(app)[22]
        await press(pilot, "enter", "1", "n")
        assert app.phase is Phase.LOOKING and app.selection.chosen == []
        points = [f"{value:g}" for value in np.roll(game.points(states)[0], -2)]
        assert [line[50:].split()[1] for line in screen(app)[2:6]] == points

    drive(app, script)


def test_the_network_tells_what_it_expects_also_behind_a_chosen_card_and_what_a_search_finds(sure_network: str) -> None:
    app = app_of(session_of(), hints_of(sure_network))

    async def script(pilot: Pilot[None]) -> None:
        async def pressed(*keys: str) -> list[str]:
            await press(pilot, *keys)
            return [line[50:] for line in screen(app)]

        panel = await pressed("h")
        assert "What the network expects" in panel[1] and "V(h)" in panel[2] and "V(h.a)" in panel[3]
        names = {app.pictures.token(token) for token in legal_tokens(app.scene.choices)}
        assert {line.split()[0] for line in panel[4:17]} == names
        panel = await pressed("1", "2", "3")
        behind = " ".join(app.pictures.token(token) for token in app.selection.chosen)
        assert f"Expected after {behind}" in panel[1] and "next token" in panel[3]
        panel = await pressed("escape", "g")
        assert "visits" in panel[3]
        counts = [int(line.split()[3]) for line in panel[4:17] if len(line.split()) == 5]
        assert counts and min(counts) >= 1
        assert "Points" in (await pressed("h"))[1]
        await play_hand(pilot, app)
        assert "Nothing: the hand is over" in "".join(await pressed("h"))
        panel = await pressed("left", "left", "left")
        assert "next token" in "".join(panel) or "V(h.a)" in "".join(panel)

    drive(app, script)


def test_nothing_on_the_screen_follows_from_what_the_history_does_not_tell(sure_network: str) -> None:
    """The deal behind the screen is exchanged for one that looks alike, before every decision."""
    session = session_of(seed=7)
    app, game = app_of(session, hints_of(sure_network)), session.game

    async def script(pilot: Pilot[None]) -> None:
        await press(pilot, "h")
        exchanged = 0
        while app.phase is Phase.CHOOSING:
            before = screen(app)
            history = session.history
            views = game.views(history[None], np.array([len(history)]))
            others, _ = game.determinize(views, np.array([len(history)], np.uint64))
            exchanged += int((others["hands"] != session._state["hands"]).any())
            session._state = others
            app.show()
            await settled(pilot)
            assert screen(app) == before
            await press(pilot, *("123" if app.scene.needed == 3 else "1"), "enter")
        assert exchanged > 5

    drive(app, script)


@pytest.mark.parametrize("key", ["x", "enter", "space"])
def test_a_trick_stays_until_a_key_is_pressed(key: str) -> None:
    session = session_of(seed=4)
    app = PlayApp(layout_of(session.game, ["random"] * 3), session, pace=Pace(0, 60))

    async def script(pilot: Pilot[None]) -> None:
        async def waited(condition: Callable[[], bool]) -> bool:
            for _ in range(200):
                await asyncio.sleep(0.01)
                if condition():
                    return True
            return False

        while app.phase is Phase.CHOOSING:
            await pilot.press(*("123" if app.scene.needed == 3 else "1"), "enter")
            await waited(lambda: app.phase is not Phase.WATCHING or "Any key takes" in screen(app)[22])
        assert "took it" in "".join(screen(app)) and app.phase is Phase.WATCHING
        seen = app.seen
        await asyncio.sleep(0.1)
        assert app.seen == seen
        await pilot.press(key)
        assert await waited(lambda: app.seen > seen)
        app.exit()

    drive(app, script)


def test_leaving_in_the_middle_of_a_hand_is_asked_twice() -> None:
    app = app_of(session_of())

    async def script(pilot: Pilot[None]) -> None:
        await press(pilot, "q")
        assert app.is_running and "q again leaves" in screen(app)[22]
        await pilot.press("q")

    drive(app, script)
    assert app.return_value is None and app.return_code == 0


# ---- Skat


SKAT = make_game("skat")
LAYOUT = layout_of(SKAT, ["go_mcts:num_runs=40:mask_impossible=true", "random"])


def test_in_the_auction_a_seat_chooses_among_words_and_sees_its_hand_on_the_table() -> None:
    states = SKAT.deal(derive_many(2, 1))
    names = SKAT.vocabulary.names
    for name in ("18", "hold", "33"):
        SKAT.play(states, np.array([names.index(name)]))
    tokens, lengths = SKAT.histories(states, np.array([0]))
    scene = LAYOUT.scene(tokens[0, : lengths[0]])
    assert scene.prompt == "Left bids 33: hold it or pass" and not scene.cards
    assert [choice.name for choice in scene.choices] == ["pass", "hold"]
    assert scene.card_table is not None and len(scene.card_table.shown[0][1]) == 10
    assert "Left 18 · You hold · Left 33" in scene.table.plain
    assert [place.role for place in scene.card_table.places] == ["forehand", "middlehand", "rearhand"]
    tokens, lengths = SKAT.histories(states, np.array([2]))
    waiting = LAYOUT.scene(tokens[0, : lengths[0]])
    assert waiting.cards and not waiting.needed and "Right hold · " not in waiting.table.plain
    assert "Right 33" in waiting.table.plain.replace("Left hold", "")


@pytest.mark.parametrize("seed", range(3))
def test_a_game_cut_short_shows_what_was_turned_over_and_how_it_ended(seed: int) -> None:
    names, states = SKAT.vocabulary.names, SKAT.deal(derive_many(seed, 1))
    for name in ("pass", "pass", "18", "hand", "grand", "schwarz"):
        SKAT.play(states, np.array([names.index(name)]))
    SKAT.playout(states, derive_many(seed, 1))
    tokens, lengths = SKAT.histories(states, np.array([1]))
    scene = LAYOUT.scene(tokens[0, : lengths[0]])
    text, points = scene.table.plain, SKAT.points(states)[0]
    assert "Right plays grand hand, schwarz; bid 18" in text and "Turned over" in text
    assert "Right lost: " in text and f"value {-(points[0] + 50) / 2:g}" in text
    np.testing.assert_array_equal(scene.points, np.roll(points, -1))


def test_a_person_bids_picks_up_puts_any_two_cards_away_and_plays() -> None:
    """The first discard has the lower number in a history; a person may choose the cards in any order."""
    session = Session(SKAT, [Lowest(), Lowest()], 0, 3)
    app = app_of(session)
    assert isinstance(app.pictures, SkatLayout)

    async def script(pilot: Pilot[None]) -> None:
        assert app.scene.prompt.startswith("Bid") and "Your hand" in "".join(screen(app))
        await press(pilot, "2", "enter")
        assert [choice.name for choice in app.scene.choices] == ["pickup", "hand"]
        await press(pilot, "1", "enter")
        legal = legal_tokens(app.scene.choices)
        assert app.scene.needed == 2 and len(legal) == 12 and "Picked up" in "".join(screen(app))
        away = [max(legal), min(legal)]
        for token in away:
            app.selection.toggle(token)
        await press(pilot, "enter")
        assert session.history[-2:].tolist() == sorted(away)
        assert [choice.name for choice in app.scene.choices][:2] == ["diamonds", "hearts"]
        await press(pilot, "5", "enter")
        assert "You play grand; bid 18" in "".join(screen(app)) and "Put away" in "".join(screen(app))
        await play_hand(pilot, app)
        assert app.phase is Phase.LOOKING and len(session.points) == 1
        assert "You won: " in "".join(screen(app)) or "You lost: " in "".join(screen(app))

    drive(app, script)
