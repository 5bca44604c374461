"""Cards divided among places, against a list of all divisions."""

import random
from itertools import product

import numpy as np
import pytest

from games.crew.places import NUM_BONDS, NUM_PLACES, PLACES, divide_places, fits


def random_places(rng: random.Random, bonds: int) -> np.ndarray:
    """Up to seven cards in places that take about two thirds of them each."""
    places = np.zeros(1, PLACES)
    rooms = [rng.randint(0, 2), rng.randint(0, 2), rng.randint(0, 1), rng.randint(0, 1), rng.randint(0, 2)]
    cards = rng.sample(range(40), sum(rooms))
    some = [[card for card in range(40) if rng.random() < 0.67] for _ in range(NUM_PLACES)]
    places["room"][0], places["cards"] = rooms, as_set(cards)
    places["at"][0] = [as_set(allowed) for allowed in some]
    free = list(range(NUM_PLACES))
    for bond in range(bonds):
        among = rng.sample(free, rng.randint(1, min(2, len(free))))
        free = [place for place in free if place not in among or rooms[place] == 1]
        places["among"][0, bond] = as_set(among)
        if not free:
            break
        if rng.random() < 0.5:
            places["some"][0, bond] = as_set(rng.sample(range(40), rng.randint(1, 20)))
        else:
            high = rng.sample(range(40), rng.randint(1, 20))
            places["high"][0, bond] = as_set(high)
            places["low"][0, bond] = as_set([card for card in range(40) if card not in high and rng.random() < 0.5])
    return places


def as_set(cards: list[int]) -> int:
    return sum(1 << card for card in cards)


def all_divisions(places: np.ndarray) -> set[tuple[int, ...]]:
    """Every way to give each card a place, kept if the places and their bonds allow it."""
    row = places[0]
    cards = [card for card in range(40) if int(row["cards"]) >> card & 1]
    found = set()
    for where in product(range(NUM_PLACES), repeat=len(cards)):
        got = [as_set([card for card, at in zip(cards, where, strict=True) if at == p]) for p in range(NUM_PLACES)]
        if any(got[p] & ~int(row["at"][p]) or got[p].bit_count() != row["room"][p] for p in range(NUM_PLACES)):
            continue
        if all(_is_met(row, bond, got) for bond in range(NUM_BONDS) if row["among"][bond]):
            found.add(tuple(got))
    return found


def _is_met(row: np.ndarray, bond: int, got: list[int]) -> bool:
    held = sum(got[p] for p in range(NUM_PLACES) if int(row["among"][bond]) >> p & 1)
    some, high, low = (int(row[name][bond]) for name in ("some", "high", "low"))
    return bool(held & some) if some else not (held & high and held & low)


@pytest.mark.parametrize("count", [30, pytest.param(120, marks=pytest.mark.slow)])
@pytest.mark.parametrize("bonds", range(NUM_BONDS + 1))
def test_cards_fit_exactly_if_some_division_is_possible(bonds: int, count: int) -> None:
    rng, verdicts = random.Random(bonds), []
    while len(verdicts) < count:
        places = random_places(rng, bonds)
        if int(places["room"].sum()) > 6:
            continue
        verdicts.append(bool(fits(places)))
        assert verdicts[-1] == bool(all_divisions(places))
    assert count / 6 < sum(verdicts) < count * 11 / 12


@pytest.mark.parametrize("bonds", range(NUM_BONDS + 1))
def test_every_division_is_drawn_and_all_are_equally_likely(bonds: int) -> None:
    rng, checked = random.Random(10 + bonds), 0
    while checked < 6:
        places = random_places(rng, bonds)
        divisions = all_divisions(places) if 3 <= int(places["room"].sum()) <= 6 else set()
        if len(divisions) < 2 or len(divisions) > 40:
            continue
        checked += 1
        each, counter, times = 200, np.uint64(checked), dict.fromkeys(divisions, 0)
        drawn = np.zeros(NUM_PLACES, np.int64)
        with np.errstate(over="ignore"):
            for _ in range(each * len(divisions)):
                counter = np.uint64(divide_places(places, drawn, counter))
                times[tuple(drawn.tolist())] += 1  # fails for a division that is not possible
        chi_square = sum((number - each) ** 2 / each for number in times.values())
        freedom = len(divisions) - 1
        assert chi_square < freedom + 5 * (2 * freedom) ** 0.5 + 5
