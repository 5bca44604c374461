"""Numbers of true states in every game that has them: what they tell apart, whose seat they are counted from."""

import numpy as np
import pytest

from games.crew.game import CrewGame
from games.crew.public import PASS
from games.crew.state_features import _PUBLIC as OF_CREW
from games.crew.state_features import views_of
from games.features import in_ones
from games.game import Game
from games.hearts.game import HeartsGame
from games.rng import derive_many
from games.skat.cards import card_id
from games.skat.game import SkatGame
from tests.games.material import decisions

GAMES: list[Game] = [HeartsGame(), SkatGame(), CrewGame(), CrewGame(distress=True)]


def encoded(game: Game, states: np.ndarray, seats: np.ndarray) -> np.ndarray:
    features = game.state_features
    assert features is not None
    numbers = features.encode(states, seats)
    assert numbers.shape == (len(states), features.size) and numbers.dtype == np.uint8
    return numbers


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_they_are_zeros_and_ones_that_do_not_change_the_state_and_do_not_depend_on_the_batch(game: Game) -> None:
    for states, seats, _ in decisions(game, 60, 1):
        before = states.copy()
        numbers = encoded(game, states, seats)
        assert numbers.max() == 1 and (states == before).all()
        np.testing.assert_array_equal(encoded(game, states[-1:], seats[-1:])[0], numbers[-1])


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_the_hands_come_first_the_observer_s_own_before_the_others(game: Game) -> None:
    """So two deals that one seat cannot tell apart differ in them as soon as a hidden card does."""
    cards, players = {"hearts": 52, "skat": 32, "crew": 40}[game.name], game.num_players
    for states, _, _ in decisions(game, 60, 2):
        for observer in range(players):
            numbers = encoded(game, states, np.full(len(states), observer))
            hands = numbers[:, : players * cards].reshape(-1, players, cards)
            for place in range(players):
                held = states["hands"][:, (observer + place) % players]
                if game.name == "crew" and (states["public"]["phase"] == PASS).any():
                    continue
                np.testing.assert_array_equal(hands[:, place], held[:, None] >> np.arange(cards) & 1)


@pytest.mark.parametrize("game", GAMES[1:], ids=lambda game: game.name)
def test_sampled_worlds_of_one_history_differ_in_hidden_cards_alone(game: Game) -> None:
    for states, seats, views in [*decisions(game, 60, 3)][::5]:
        if game.name == "crew" and (states["public"]["phase"] == PASS).any():  # a card on its way is in a hand already
            continue
        worlds, observers = game.determinize(views, derive_many(4, len(states)))
        mine, theirs = encoded(game, states, seats), encoded(game, worlds, observers)
        hidden = (np.sort(worlds["hands"], axis=1) != np.sort(states["hands"], axis=1)).any(axis=1)
        assert ((mine != theirs).any(axis=1) >= hidden).all()
        own = {"skat": 32, "crew": 40}[game.name]
        np.testing.assert_array_equal(mine[:, :own], theirs[:, :own])
        told = own * game.num_players + {"skat": 32, "crew": 36}[game.name]  # behind them all is public
        np.testing.assert_array_equal(mine[:, told:], theirs[:, told:])


@pytest.mark.parametrize("game", GAMES[2:], ids=["crew", "distress"])
def test_the_public_part_of_the_crew_is_what_every_seat_sees(game: CrewGame) -> None:
    for states, _, _ in decisions(game, 60, 5):
        for seat in range(4):
            seats = np.full(len(states), seat)
            seen, ours = game.views(*game.histories(states, seats)), views_of(states, seats)
            for name, most in OF_CREW.items():
                theirs = game.features[name].encode(seen)
                assert theirs.max() <= most, name
                np.testing.assert_array_equal(
                    in_ones(game.features[name], ours, most).sum(axis=1), theirs.reshape(len(seen), -1).sum(axis=1)
                )
                np.testing.assert_array_equal(game.features[name].encode(ours), theirs, err_msg=name)


def test_face_down_tasks_and_passed_cards_of_the_crew_are_told() -> None:
    game, seen = CrewGame(distress=True), 0
    for states, _, _ in decisions(game, 200, 6):
        for row in np.flatnonzero((states["public"]["phase"] == PASS) & (states["public"]["num_passed"] > 0)):
            numbers = encoded(game, states[row : row + 1], np.zeros(1, int))[0]
            assert numbers[:160].sum() == 40, "a card on its way is in a hand already"
            seen += 1
    covered = np.concatenate(
        [encoded(game, states, seats)[:, 160:196].sum(1) for states, seats, _ in decisions(game, 60, 7)]
    )
    assert seen and (covered > 0).any()


def test_skat_s_numbers_of_one_position_by_hand() -> None:
    """Forehand picked up and laid two sevens aside; it leads the ace of clubs to a grand, and middlehand is to play."""
    game = SkatGame()
    state = game.deal(np.zeros(1, np.uint64))
    hands = ["CJ SJ HJ DJ CA CT CK CQ D7 H7", "C7 C8 C9 SA ST SK SQ S9 S8 S7", "DA DT DK DQ D9 D8 HA HT HK HQ"]
    sets = [sum(1 << card_id(card) for card in hand.split()) for hand in hands]
    state["hands"], state["dealt"], state["talon"] = sets, sets, (1 << card_id("H9")) | (1 << card_id("H8"))
    names = game.vocabulary.names
    for name in ["18", "hold", "pass", "pass", "pickup", "D7", "H7", "grand", "CA"]:
        game.play(state, np.array([names.index(name)]))
    numbers = encoded(game, state, np.array([1]))[0]
    places = [hands[1], hands[2], "CJ SJ HJ DJ CT CK CQ H9 H8", "D7 H7"]  # middlehand's own, the next two, aside
    for place, cards in enumerate(places):
        told = set(np.flatnonzero(numbers[32 * place : 32 * place + 32]))
        assert told == {card_id(card) for card in cards.split()}
    rest = numbers[128:]
    view = game.views(*game.histories(state, np.array([1])))
    public = np.concatenate(
        [game.features[name].encode(view).ravel() for name in ("contract", "trumps", "trick", "points")]
    )
    np.testing.assert_array_equal(rest[: len(public)], public)
    assert np.flatnonzero(rest[len(public) :]).tolist()[:2] == [5, 7 + 2]  # card play; forehand is on the right
