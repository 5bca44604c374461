"""What a Skat history says of the table, against the true deals."""

import numpy as np
import pytest

from games.rng import derive_many
from games.skat.cards import HAND, PICKUP, VOCABULARY, card_id
from games.skat.game import SkatGame
from games.skat.state import result_of
from games.skat.table import card_text, in_hand_order, stops, table_of
from games.skat.values import BIDS
from tests.games.material import members

GAME = SkatGame()


def deals(count: int, seed: int, choice: int) -> np.ndarray:
    """Random deals with a soloist who picked up, or did not; up to the declaration the lowest legal bid is taken."""
    states = GAME.deal(derive_many(seed, count))
    while (waiting := (states["public"]["phase"] < 3) & (GAME.to_move(states) >= 0)).any():
        legal = GAME.legal(states)
        legal[:, HAND if choice == PICKUP else PICKUP] = False
        lowest_bid = np.where(legal[:, 34:97].any(1), 34 + legal[:, 34:97].argmax(1), legal.argmax(1))
        bids = (states["public"]["bid"] < 0) & legal[:, 34:97].any(1)
        rows = states[waiting]
        GAME.play(rows, np.where(bids, lowest_bid, legal.argmax(1))[waiting])
        states[waiting] = rows
    return states


def agrees(state: np.void, seat: int, tokens: np.ndarray) -> None:
    """Every part of the table follows from the true state."""
    table, public = table_of(GAME, tokens), state["public"]

    def absolute(relative: int) -> int:
        return (relative + seat) % 3 if relative >= 0 else -1

    assert table.place == seat and table.phase == public["phase"]
    assert set(table.hand) == members(state["hands"][seat])
    assert absolute(table.turn) == public["turn"] and absolute(table.soloist) == public["soloist"]
    assert table.bid == (BIDS[public["bid"]] if public["bid"] >= 0 else 0)
    assert (table.game, table.modifier) == (public["game"], public["modifier"])
    assert sum(len(trick.cards) for trick in table.tricks) == public["num_played"]
    assert (set(table.tricks[-1].cards) if public["num_played"] % 3 else set()) == members(public["trick"])
    taken = [0, 0, 0]
    for trick in table.tricks:
        if trick.complete:
            taken[absolute(trick.winner)] |= sum(1 << card for card in trick.cards)
    assert taken == public["taken"].tolist()
    assert set(table.talon) == (members(state["talon"]) if public["picked_up"] and table.soloist == 0 else set())
    assert set(table.laid) == (members(state["laid"]) if table.soloist == 0 else set())


@pytest.mark.parametrize("choice", [PICKUP, HAND])
def test_the_table_agrees_with_the_deal_at_every_moment_and_from_every_seat(choice: int) -> None:
    states, step = deals(6, 4, choice), 0
    while (GAME.to_move(states) >= 0).any():
        for seat in range(3):
            tokens, lengths = GAME.histories(states, np.full(len(states), seat))
            for state, row, length in zip(states, tokens, lengths, strict=True):
                waits = state["public"]["phase"] == 2 and state["public"]["soloist"] != seat
                if not waits:  # nobody else sees the discards: to the others the declaration is next
                    agrees(state, seat, row[:length])
        legal, step = GAME.legal(states), step + 1
        GAME.play(states, np.array([row[step % len(row)] if len(row) else 0 for row in map(np.flatnonzero, legal)]))
    points = GAME.points(states)
    for seat in range(3):
        tokens, lengths = GAME.histories(states, np.full(len(states), seat))
        for state, row, length, scored in zip(states, tokens, lengths, points, strict=True):
            agrees(state, seat, row[:length])
            result = table_of(GAME, row[:length]).result
            assert result is not None
            soloist = state["public"]["soloist"]
            assert scored[soloist] == (result.value + 50 if result.won else -2 * result.value - 50)
            whole = state["public"]["num_played"] == 30  # else nobody but the soloist knows what was put away
            assert result.points == (int(result_of(state)[4]) if whole else None)


def test_the_scenes_of_a_history_are_the_deal_and_whatever_somebody_did() -> None:
    states = deals(8, 7, PICKUP)
    GAME.playout(states, derive_many(8, 8))
    for seat in range(3):
        tokens, lengths = GAME.histories(states, np.full(8, seat))
        for state, row, length in zip(states, tokens, lengths, strict=True):
            found = stops(GAME, row[:length])
            assert found[0] == 11 and found == sorted(set(found))
            table = table_of(GAME, row[:length])
            announced = 3 if state["public"]["game"] == 5 else 2  # choice, game, and a modifier in null
            own = table.soloist == 0
            assert len(found) == 1 + len(table.calls) + announced + own + state["public"]["num_played"]
            shown = 10 if not own and table.modifier == 3 else 0
            if shown:
                assert len(table_of(GAME, row[: found[found.index(11) + len(table.calls) + 3]]).open) == 10
    assert stops(GAME, tokens[0, :5]) == [5]


def test_calls_are_told_by_who_made_them() -> None:
    states = GAME.deal(derive_many(1, 1))
    for name in ("18", "hold", "pass", "20", "pass"):
        GAME.play(states, np.array([VOCABULARY.names.index(name)]))
    tokens, lengths = GAME.histories(states, np.array([1]))
    table = table_of(GAME, tokens[0, : lengths[0]])
    calls = " ".join(f"{seat}:{VOCABULARY.names[token]}" for seat, token in table.calls)
    assert calls == "0:18 2:hold 0:pass 1:20 2:pass"
    assert (table.soloist, table.bid, table.turn) == (1, 20, 1)


def test_a_hand_is_sorted_by_trumps_then_suits_of_alternating_colours() -> None:
    cards = [card_id(name) for name in ("H7", "DJ", "SA", "CT", "CJ", "HA", "DK", "CK")]
    in_order = {game: [card_text(card) for card in in_hand_order(cards, game)] for game in (-1, 1, 5)}
    assert in_order[-1] == ["J♣", "J♦", "10♣", "K♣", "A♥", "7♥", "A♠", "K♦"]
    assert in_order[1] == ["J♣", "J♦", "A♥", "7♥", "10♣", "K♣", "A♠", "K♦"]
    assert in_order[5] == ["K♣", "J♣", "10♣", "A♥", "7♥", "A♠", "K♦", "J♦"]
