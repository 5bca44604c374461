"""Every game keeps every law, and the laws notice games that do not."""

import os
import subprocess
import sys

import numpy as np
import pytest

from games import conformance
from games.hearts.game import HeartsGame

RULES = {
    "defaults": {},
    "no passing": {"pass_cards": False},
    "bonuses": {"jd_bonus": True, "avoid_all_tricks_bonus": True, "moon": "shooter_minus_26"},
    "free leads": {"can_lead_any_club": True, "must_break_hearts": False, "no_pts_on_first_trick": False},
    "paper 002": {
        "pass_cards": False,
        "must_break_hearts": False,
        "no_pts_on_first_trick": False,
        "free_first_lead": True,
    },
    "queen": {"can_lead_hearts_instead_of_qs": True, "qs_breaks_hearts": False},
}


@pytest.mark.parametrize("options", RULES.values(), ids=RULES.keys())
@pytest.mark.parametrize("law", [*conformance.LAWS, conformance.check_no_leak])
def test_hearts_keeps_the_law(law, options) -> None:
    law(HeartsGame(**options), num_deals=40, seed=1)


def test_hearts_keeps_every_law_as_plain_python_too() -> None:
    program = (
        "from games.conformance import check_game; from games.hearts.game import HeartsGame;"
        "check_game(HeartsGame(), num_deals=2, seed=3)"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, env=environment, timeout=120)


def test_players_that_peek_are_found_out() -> None:
    def plays_the_lowest(states: np.ndarray, _seeds: np.ndarray) -> np.ndarray:
        return np.argmax(HeartsGame().legal(states), axis=1)

    def peeks(states: np.ndarray, _seeds: np.ndarray) -> np.ndarray:
        return states["hands"][:, 0] ^ states["hands"][:, 3]

    conformance.check_no_leak(HeartsGame(), 5, 1, [plays_the_lowest])
    with pytest.raises(AssertionError, match="player 1 decides by what it cannot see"):
        conformance.check_no_leak(HeartsGame(), 5, 1, [plays_the_lowest, peeks])


class ShowsAForeignCard(HeartsGame):
    """Hearts that shows every seat a card of its neighbour's instead of the last card dealt to it."""

    def histories(self, states: np.ndarray, seats: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        tokens, lengths = super().histories(states, seats)
        tokens[:, 13] = super().histories(states, (np.asarray(seats) + 1) % 4)[0][:, 13]
        return tokens, lengths


class ForgetsVoids(HeartsGame):
    """Hearts whose views take any card of the hand for legal."""

    def view_legal(self, views: np.ndarray) -> np.ndarray:
        legal = super().view_legal(views)
        for view, row in zip(views, legal, strict=True):
            row[:52] = [row.any() and view["hand"] >> card & 1 for card in range(52)]
        return legal


class DependsOnItsNeighbours(HeartsGame):
    """Hearts whose random play depends on the size of the batch."""

    def playout(self, states: np.ndarray, seeds: np.ndarray) -> None:
        super().playout(states, seeds + np.uint64(len(seeds)))


class AcceptsAnything(HeartsGame):
    """Hearts that passes over illegal actions in silence."""

    def play(self, states: np.ndarray, actions: np.ndarray) -> None:
        legal = self.legal(states)
        inside = np.clip(actions, 0, legal.shape[1] - 1)
        actions = np.where(legal[np.arange(len(states)), inside], inside, np.argmax(legal, axis=1))
        super().play(states, actions)


class StopsShort(HeartsGame):
    """Hearts that leaves out the last of several actions."""

    def after(self, states: np.ndarray, actions: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        return super().after(states, actions, np.maximum(lengths - 1, 0))


@pytest.mark.parametrize(
    ("game", "law"),
    [
        (ShowsAForeignCard(), conformance.check_replay),
        (ForgetsVoids(), conformance.check_replay),
        (DependsOnItsNeighbours(), conformance.check_determinism),
        (AcceptsAnything(), conformance.check_legality),
        (StopsShort(), conformance.check_after),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, HeartsGame) else "",
)
def test_the_laws_notice_a_broken_game(game, law) -> None:
    with pytest.raises(AssertionError):
        law(game, num_deals=8, seed=2)
