"""Chances by counting cards: against plain Python, and against every deal where few cards are left."""

from itertools import permutations

import numpy as np

from games.crew.cards import ROCKET
from games.crew.chances import LEVELS, spread, trick_winners
from games.crew.game import CrewGame
from games.game import Next
from tests.games.material import decisions

GAME = CrewGame()


def plays(count: int, first_trick: int = 0) -> list[np.void]:
    """Views of seats that are to play a card, in random deals."""
    found = []
    for states, _, views in decisions(GAME, count, 4):
        legal, late = GAME.legal(states), views["public"]["num_played"] >= 4 * first_trick
        cards = legal[:, :40].any(axis=1) & ~legal[:, 40:].any(axis=1) & (GAME.next(views) == Next.ACTION)
        found += [*views[cards & late]]
    return found


def likely_of(view: np.void) -> np.ndarray:
    likely = np.empty((4, 40))
    spread(view, likely)
    return likely


def test_a_seats_chances_add_up_to_its_hand_and_a_cards_to_1() -> None:
    for view in plays(20):
        likely, public = likely_of(view), view["public"]
        unseen = [card for card in range(40) if likely[1:, card].any()]
        np.testing.assert_allclose(likely[1:, unseen].sum(axis=0), 1.0)
        sizes = [10 - bin(int(public["shown"][seat])).count("1") for seat in range(1, 4)]
        assert abs(likely[1:].sum(axis=1) - sizes).max() < 0.5
        for seat in range(1, 4):
            possible = [int(view["possible"][seat]) >> card & 1 for card in unseen]
            assert not likely[seat, unseen][np.array(possible) == 0].any()


def test_with_a_card_in_each_hand_a_cards_chances_are_its_share_of_the_deals() -> None:
    """Of the deals that voids and radio allow, listed; three rounds of fitting come near, a quarter away at most."""
    errors = []
    for view in plays(400, first_trick=9):
        likely = likely_of(view)
        unseen = [card for card in range(40) if likely[1:, card].any()]
        sizes = [10 - bin(int(view["public"]["shown"][seat])).count("1") for seat in range(1, 4)]
        if sizes != [1, 1, 1] or len(unseen) != 3:
            continue
        able = [[int(view["possible"][seat]) >> card & 1 for card in range(40)] for seat in range(1, 4)]
        fits = [deal for deal in permutations(unseen) if all(able[seat][card] for seat, card in enumerate(deal))]
        for seat in range(3):
            share = [np.mean([deal[seat] == card for deal in fits]) for card in unseen]
            errors += list(abs(likely[seat + 1, unseen] - share))
    assert len(errors) > 70 and max(errors) < 0.26 and np.mean(errors) < 0.04


def plain_winners(public: np.void, likely: np.ndarray, card: int, wanting: set[int], barred: set[int]) -> np.ndarray:
    """``float[4]``: who wins the trick, one later seat after the other, by the lowest or the highest card it holds."""
    led = int(public["led"]) if public["trick"] else card // 9
    winner, high = (int(public["winner"]), int(public["high"])) if public["trick"] else (0, card)
    if public["trick"] and card > high and card // 9 in (led, ROCKET):
        winner, high = 0, card
    now = {(winner, high): 1.0}
    colour, rows = list(range(led * 9, min(led * 9 + 9, 40))), likely.tolist()
    for seat in range(1, 4 - bin(int(public["trick"])).count("1")):
        following: dict[tuple[int, int], float] = {}
        for (holder, high), weight in now.items():
            tries = seat in wanting and holder not in wanting
            order = colour[::-1] if tries else [other for other in colour if other not in barred]
            left = 1.0
            for other in order:  # the first card in this order that the seat holds
                chance = left * rows[seat][other]
                won = other > high if (high // 9 == led) else False
                key = (seat, other) if won else (holder, high)
                following[key] = following.get(key, 0.0) + weight * chance
                left -= chance
            if tries and led != ROCKET and high // 9 != ROCKET:
                rocket = left * (1.0 - np.prod(1.0 - likely[seat, 36:40]))
                following[seat, 37] = following.get((seat, 37), 0.0) + weight * rocket
                left -= rocket
            following[holder, high] = following.get((holder, high), 0.0) + weight * left
        now = following
    wins = np.zeros(4)
    for (holder, _), weight in now.items():
        wins[holder] += weight
    return wins


def test_the_winner_of_a_trick_is_that_of_plain_python() -> None:
    chance, before, rng, compared = np.empty((4, LEVELS)), np.empty((4, LEVELS)), np.random.default_rng(5), 0
    for view in plays(15)[::3]:
        likely, public = likely_of(view), view["public"]
        for card in [card for card in range(40) if int(view["hand"]) >> card & 1]:
            wanting = {seat for seat in range(4) if rng.random() < 0.4}
            barred = {int(other) for other in rng.integers(0, 36, 2)}
            sets = sum(1 << seat for seat in wanting), sum(1 << other for other in barred)
            trick_winners(public, likely, card, *(np.int64(each) for each in sets), chance, before)
            np.testing.assert_allclose(
                chance.sum(axis=1), plain_winners(public, likely, card, wanting, barred), atol=1e-5
            )
            compared += 1
    assert compared > 500
