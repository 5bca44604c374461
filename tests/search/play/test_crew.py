"""The Crew: what is drawn behind a history."""

import numpy as np
import pytest

from games.crew.table import card_text, table_of
from games.registry import make_game
from games.rng import derive_many
from search.apps.pictures.cards import standing
from search.apps.pictures.scene import TABLE_HEIGHT, TABLE_WIDTH
from search.apps.play.hand import HAND_HEIGHT, HAND_WIDTH, draw_hand, legal_tokens
from search.apps.play.layouts import layout_of
from search.apps.play.panel import draw_scores
from tests.search.play.material import size

PLAYERS = ["crew_rules", "random", "go_mcts:num_runs=40"]


def histories(missions: str, count: int) -> tuple[object, list[np.ndarray]]:
    game = make_game("crew", {"missions": missions, "distress": True})
    states = game.deal(derive_many(4, count))
    game.playout(states, derive_many(5, count))
    tokens, lengths = game.histories(states, np.arange(count) % 4)
    return game, [row[:length] for row, length in zip(tokens, lengths, strict=True)]


@pytest.mark.parametrize("missions", ["1-25", "26-50"])
def test_every_scene_of_a_deal_fits_its_place_and_shows_the_cards_on_the_table(missions: str) -> None:
    game, rows = histories(missions, 50)
    layout = layout_of(game, PLAYERS)
    for tokens in rows:
        for stop in layout.stops(tokens):
            scene = layout.scene(tokens[:stop])
            assert size(scene.table.plain) == (TABLE_WIDTH, TABLE_HEIGHT)
            assert size(draw_hand(scene.choices, scene.cards, [], None).text.plain) == (HAND_WIDTH, HAND_HEIGHT)
            table = scene.card_table
            assert table is not None
            names = (f"{place.name} {place.player}".strip()[:12] for place in table.places)
            middle = (line[:24] for line in table.middle)  # as wide as there is room between cards
            for text in (*names, *middle, *map(standing, table.places)):
                assert text in scene.table.plain
            for label, cards in table.shown:
                assert label in scene.table.plain
                assert all(card.name in scene.table.plain for card in cards)
            assert all(remark in draw_scores(layout.names, (), None, scene.remarks).plain for remark in scene.remarks)
            assert bool(scene.needed) == bool(legal_tokens(scene.choices)) == bool(scene.prompt)
            trick = table_of(game, tokens[:stop]).trick
            on_table = sorted(place.card.name for place in table.places if place.card)
            assert on_table == sorted(map(card_text, trick.cards) if trick else [])
            assert all(name in scene.table.plain for name in on_table)


def test_a_mission_is_told_by_its_tasks_statements_and_end() -> None:
    game, rows = histories("8", 60)
    layout = layout_of(game, PLAYERS)
    tokens = next(row for row in rows if game.vocabulary.names.index("highest") in row)
    scenes = [layout.scene(tokens[:stop]) for stop in layout.stops(tokens)]
    assert scenes[0].title == "The Crew · mission 8"
    assert any(label == "Tasks" and len(cards) == 3 for label, cards in scenes[0].card_table.shown)
    roles = " ".join(place.role for place in scenes[-1].card_table.places)
    assert any(f":{number}" in roles for number in (1, 2, 3)) or scenes[-1].card_table.middle[0] == "Success"
    assert any("highest" in remark for remark in scenes[-1].remarks)
    assert scenes[-1].card_table.middle[0] in ("Success", "Failure")
    assert scenes[-1].points in ((0.0,) * 4, (1.0,) * 4)


def test_somebody_elses_silence_is_passed_over() -> None:
    game, rows = histories("1", 4)
    layout, silent = layout_of(game, PLAYERS), game.vocabulary.names.index("silent")
    for tokens in rows:
        for stop in layout.stops(tokens):
            assert tokens[stop - 1] != silent or layout.scene(tokens[:stop]).needed
