"""Where hidden cards can lie in The Crew, and worlds drawn from a history: against every division among places and
every world there is."""

import random
from itertools import product

import numpy as np
import pytest

from games.crew.game import CrewGame
from games.crew.places import NUM_BONDS, NUM_PLACES, PLACES, divide_places, fits
from games.rng import derive_many
from tests.games.crew.worlds import Deal, choose, late_deals, next_tokens, worlds
from tests.marks import slow


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


KINDS = {
    "radio": ("9", 31, 36, {}),
    "any mark on a single card": ("9", 31, 36, {"singleton": "any"}),
    "dead zone": ("6", 31, 33, {}),
    "draw": ("12", 35, 36, {}),
    "draw of any card": ("12", 35, 36, {"shown_card": "may_be_drawn"}),
    "distress": ("9", 36, 33, {"distress": True}),
    "pink 9 before distress": ("46", 35, 33, {"distress": True}),
    "pink 9 after distress": ("46", 35, 33, {"distress": True, "pink_target": "after_distress"}),
}
"""Missions, cards played when every world is looked for and when worlds are drawn, options."""
OFTEN = ("radio", "dead zone", "draw of any card", "distress", "pink 9 after distress")
KIND = pytest.mark.parametrize("kind", [*OFTEN, *slow(*(kind for kind in KINDS if kind not in OFTEN))])


def deals_of(kind: str, stop: int, seed: int, silence: float) -> list[Deal]:
    missions, _, _, options = KINDS[kind]
    return late_deals(CrewGame(missions=missions, **options), stop, seed, silence)


def view_of(deal: Deal, seat: int) -> np.ndarray:
    return deal.game.views(*deal.game.histories(deal.states, np.array([seat])))


@KIND
@pytest.mark.parametrize(
    ("silence", "count"), [(0.9, 1), *(pytest.param(s, 2, marks=pytest.mark.slow) for s in (0.0, 0.9))]
)
def test_late_in_a_deal_exactly_what_some_world_allows_is_possible(kind: str, silence: float, count: int) -> None:
    """With three cards or fewer in a hand, every division of the others' can be tried. Seats that keep silent for long
    speak late, of hands that are still hidden."""
    rng, told, bound = np.random.default_rng(5), 0, 0
    for deal in deals_of(kind, KINDS[kind][1], 3, silence)[:count]:
        while not deal.over:
            for seat in range(4):
                behind, views = worlds(deal, seat), view_of(deal, seat)
                assert deal.game.consistent(views)[0] and len(behind)
                possible = set(np.flatnonzero(deal.game.view_possible(views)[0]).tolist())
                assert possible == next_tokens(deal, behind), f"seat {seat}"
                told += len(behind)
                bound += int((views["some"] != 0).any() or (views["high"] != 0).any())
            deal.do(int(choose(deal.game, deal.states, rng, silence)[0]))
    assert told > 50 * count and (bound or kind.startswith("any mark") or silence)  # what was said still binds somebody


@KIND
@pytest.mark.parametrize("count", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_every_world_is_drawn_and_all_are_equally_likely(kind: str, count: int) -> None:
    """Against the list of all worlds; which cards others passed after a distress signal is left out of the count."""
    checked = 0
    for number, deal in enumerate(deals_of(kind, KINDS[kind][2], 4, 0.7)[:40]):
        seat, names = number % 4, ["hands"] if "distress" in KINDS[kind][3] else ["dealt", "drawn"]
        behind = worlds(deal, seat)
        expected = {key.tobytes() for key in keys_of(behind, names, seat)}
        if not 3 <= len(expected) <= 1000:
            continue
        each = 60
        seeds = derive_many(number, each * len(expected))
        states, seats = deal.game.determinize(np.repeat(view_of(deal, seat), len(seeds)), seeds)
        drawn, times = np.unique(keys_of(states, names, 0), axis=0, return_counts=True)
        assert {key.tobytes() for key in drawn} == expected and not seats.any()
        freedom = len(expected) - 1
        assert ((times - each) ** 2 / each).sum() < freedom + 5 * (2 * freedom) ** 0.5
        checked += 1
        if checked == count:
            break
    assert checked


def keys_of(states: np.ndarray, names: list[str], seat: int) -> np.ndarray:
    """``int64[W, 4 * names]``: what tells worlds apart, seats counted from the observer."""
    return np.concatenate([np.roll(states[name], -seat, axis=1) for name in names], axis=1)
