"""Where hidden cards can lie in The Crew, and worlds drawn from a history: against every division among places and
every world there is."""

import random
from itertools import permutations, product

import numpy as np
import pytest

from games.crew.cards import ROCKET
from games.crew.chances import LEVELS, spread, trick_winners
from games.crew.game import CrewGame
from games.crew.places import NUM_BONDS, NUM_PLACES, PLACES, divide_places, fits
from games.game import Next
from games.rng import derive_many
from tests.games.crew.worlds import choose, late_deals, next_tokens, worlds
from tests.games.material import Deal, decisions
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


# ---- chances by counting cards: against plain Python, and against every deal where few cards are left


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
