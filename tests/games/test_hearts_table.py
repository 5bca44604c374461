"""What a Hearts history says of the table, against the true deals."""

import numpy as np

from games.conformance.playing import random_play
from games.hearts.cards import card_id
from games.hearts.game import HeartsGame
from games.hearts.table import card_text, in_hand_order, stops, table_of
from games.rng import derive_many
from tests.games.material import members, played

GAME = HeartsGame()


def test_the_table_agrees_with_the_deal_at_every_moment_and_from_every_seat() -> None:
    for states in random_play(GAME, 12, 4):
        for seat in range(4):
            tokens, lengths = GAME.histories(states, np.full(len(states), seat))
            for state, row, length in zip(states, tokens, lengths, strict=True):
                table, public = table_of(GAME, row[:length]), state["public"]
                assert set(table.hand) == members(state["hands"][seat])
                assert table.direction == public["direction"]
                assert (table.turn + seat) % 4 == public["turn"] or table.turn == public["turn"] == -1
                winners = [trick.winner for trick in table.tricks if trick.complete]
                won = np.roll([len(members(cards)) // 4 for cards in public["taken"]], -seat)
                assert [winners.count(place) for place in range(4)] == won.tolist()
                assert sum(len(trick.cards) for trick in table.tricks) == public["num_played"]
                shown = set(table.tricks[-1].cards) if public["num_played"] % 4 else set()
                assert shown == members(public["trick"])
    points = GAME.points(states)
    plain = np.abs(points).sum(axis=1) == 26  # nobody shot the moon
    assert plain.any()
    for state, row in zip(states[plain], points[plain], strict=True):
        tokens, lengths = GAME.histories(np.array([state]), np.array([2]))
        assert table_of(GAME, tokens[0, : lengths[0]]).points == tuple(np.roll(row, -2))


def test_what_was_passed_and_received_is_told_in_the_order_of_the_history() -> None:
    states = GAME.deal(derive_many(1, 8))
    row = int(np.flatnonzero(states["public"]["direction"] == 1)[0])
    state = states[row : row + 1]
    given = []
    for turn in range(12):
        card = int(np.flatnonzero(GAME.legal(state)[0])[-1 - turn % 2])
        given.append(card)
        tokens, lengths = GAME.histories(state, np.array([0]))
        assert table_of(GAME, tokens[0, : lengths[0]]).passing == (turn < 3)
        GAME.play(state, np.array([card]))
    tokens, lengths = GAME.histories(state, np.array([0]))
    table = table_of(GAME, tokens[0, : lengths[0]])
    assert table.passed == tuple(given[:3]) and set(table.received) == set(given[9:])


def test_a_trick_goes_to_the_highest_card_of_the_suit_led() -> None:
    names = "hold 2D 3D 4D 5D 6D 7D 8D 9D TD JD QD KD 2S right 2C TC AS AC"
    tokens = np.array([GAME.vocabulary.names.index(name) for name in names.split()])
    (trick,) = table_of(GAME, tokens).tricks
    assert trick.complete and (trick.leader, trick.winner) == (3, 2) and trick.cards[1] == card_id("TC")
    (led,) = table_of(GAME, tokens[:-3]).tricks
    assert led.winner == 3 and not led.complete


def test_the_scenes_of_a_history_are_the_deal_the_pass_and_every_card() -> None:
    states = played(GAME, 12, 4)
    tokens, lengths = GAME.histories(states, np.zeros(12, int))
    for row, length, direction in zip(tokens, lengths, states["public"]["direction"], strict=True):
        found = stops(row[:length])
        assert found == sorted(set(found)) and found[-1] == length - 1
        assert len(found) == (55 if direction else 54)
        assert [len(table_of(GAME, row[:stop]).tricks) for stop in found[-2:]] == [13, 13]
        assert stops(row[:20])[-1] <= 20
    assert stops(tokens[0, :0]) == [0] and stops(tokens[0, :5]) == [5]


def test_a_hand_is_sorted_by_suits_of_alternating_colours_then_ranks() -> None:
    cards = [card_id(name) for name in ("2H", "AS", "TC", "KD", "2C", "QS")]
    assert [card_text(card) for card in in_hand_order(cards)] == ["2♣", "10♣", "K♦", "Q♠", "A♠", "2♥"]
