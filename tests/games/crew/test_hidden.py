"""Where hidden cards can lie in The Crew, and worlds drawn from a history, against every world there is."""

import numpy as np
import pytest

from games.crew.game import CrewGame
from games.rng import derive_many
from tests.games.crew.worlds import Deal, choose, late_deals, next_tokens, worlds

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
KIND = pytest.mark.parametrize("kind", KINDS)


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
