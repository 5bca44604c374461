"""Skat: what is drawn behind a history, and a hand that a person plays."""

import numpy as np
import pytest
from textual.pilot import Pilot

from games.registry import make_game
from games.rng import derive_many
from search.apps.play.app import Phase
from search.apps.play.hand import legal_tokens
from search.apps.play.layouts import layout_of
from search.apps.play.session import Session
from search.scripted.skat.layout import SkatLayout
from tests.search.play.material import app_of, drive, play_hand, press, screen
from tests.search.turns import Lowest

GAME = make_game("skat")
LAYOUT = layout_of(GAME, ["go_mcts:num_runs=40:mask_impossible=true", "random"])


def test_in_the_auction_a_seat_chooses_among_words_and_sees_its_hand_on_the_table() -> None:
    states = GAME.deal(derive_many(2, 1))
    names = GAME.vocabulary.names
    for name in ("18", "hold", "33"):
        GAME.play(states, np.array([names.index(name)]))
    tokens, lengths = GAME.histories(states, np.array([0]))
    scene = LAYOUT.scene(tokens[0, : lengths[0]])
    assert scene.prompt == "Left bids 33: hold it or pass" and not scene.cards
    assert [choice.name for choice in scene.choices] == ["pass", "hold"]
    assert scene.card_table is not None and len(scene.card_table.shown[0][1]) == 10
    assert "Left 18 · You hold · Left 33" in scene.table.plain
    assert [place.role for place in scene.card_table.places] == ["forehand", "middlehand", "rearhand"]
    tokens, lengths = GAME.histories(states, np.array([2]))
    waiting = LAYOUT.scene(tokens[0, : lengths[0]])
    assert waiting.cards and not waiting.needed and "Right hold · " not in waiting.table.plain
    assert "Right 33" in waiting.table.plain.replace("Left hold", "")


@pytest.mark.parametrize("seed", range(3))
def test_a_game_cut_short_shows_what_was_turned_over_and_how_it_ended(seed: int) -> None:
    names, states = GAME.vocabulary.names, GAME.deal(derive_many(seed, 1))
    for name in ("pass", "pass", "18", "hand", "grand", "schwarz"):
        GAME.play(states, np.array([names.index(name)]))
    GAME.playout(states, derive_many(seed, 1))
    tokens, lengths = GAME.histories(states, np.array([1]))
    scene = LAYOUT.scene(tokens[0, : lengths[0]])
    text, points = scene.table.plain, GAME.points(states)[0]
    assert "Right plays grand hand, schwarz; bid 18" in text and "Turned over" in text
    assert "Right lost: " in text and f"value {-(points[0] + 50) / 2:g}" in text
    np.testing.assert_array_equal(scene.points, np.roll(points, -1))


def test_a_person_bids_picks_up_puts_any_two_cards_away_and_plays() -> None:
    """The first discard has the lower number in a history; a person may choose the cards in any order."""
    session = Session(GAME, [Lowest(), Lowest()], 0, 3)
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
