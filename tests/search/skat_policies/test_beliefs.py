"""Worlds that PIMC draws by what the networks find probable."""

import numpy as np
import pytest

from games.bits import BIT
from games.rng import mix
from games.skat.policies.decisions import decisions_of
from games.skat.policies.points import BID, CONTINUE, DECISION_TYPES
from games.skat.rules import PLAY
from learner.skat_policies.engine import SkatPoliciesEngine
from search.config import SearchConfig
from search.players.worlds import weighted_worlds
from search.roster.registry import make_players
from search.scripted.skat.support import SUPPORT
from search.skat_policies.beliefs import by_policies
from search.skat_policies.config import SkatPoliciesPlayerConfig
from search.skat_policies.player import SkatPolicies as SkatPoliciesPlayer
from tests.search.skat_policies.material import GAME, at_phase, finished, turns_of

JACK_OF_CLUBS = GAME.vocabulary.names.index("CJ")


def test_beliefs_are_what_the_networks_find_probable_of_all_but_discards(engine: SkatPoliciesEngine) -> None:
    states = finished(20)
    seats = np.arange(20) % 3
    tokens, lengths = GAME.histories(states, seats)
    found = by_policies(engine)(GAME, tokens, lengths, np.ones(tokens.shape, bool))
    decided = decisions_of(tokens, lengths, survivors=True)
    expected = np.zeros(20)
    for number, point in enumerate(decided.point):
        if 4 <= point < 10:  # discards
            continue
        bits = np.unpackbits(decided.bits[number : number + 1], axis=1, bitorder="little")
        policy = engine.probabilities(int(point), bits, decided.numbers[number : number + 1])[0]
        label = int(decided.label[number])
        taken = policy[label:].sum() if decided.censored[number] else policy[label]
        expected[decided.row[number]] += np.log(0.9 * taken + 0.1 / len(policy))
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert decided.censored.any() and (found < 0).all()
    parts = [by_policies(engine)(GAME, tokens[i : i + 1], lengths[i : i + 1], tokens[i : i + 1] > 0) for i in range(20)]
    np.testing.assert_allclose(np.concatenate(parts), found, rtol=1e-4)


class OnlyWithTheJack:
    """A ``DecisionModel`` of bidders that call at all only with the jack of clubs; whatever else they do is drawn."""

    def probabilities(self, point: int, bits: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        policy = np.full((len(bits), DECISION_TYPES[point].actions), 1 / DECISION_TYPES[point].actions)
        if point < 2:
            policy[:] = 0.0
            policy[np.arange(len(bits)), np.where(bits[:, JACK_OF_CLUBS] == 1, 63, 0)] = 1.0
        return policy

    def values(self, point: int, bits: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        raise AssertionError


def test_worlds_are_drawn_by_what_the_networks_find_of_the_others() -> None:
    states = at_phase(PLAY, 200)
    seats, public = GAME.to_move(states), states["public"]
    defends = (public["soloist"] != seats) & (states["hands"][np.arange(200), seats] & BIT[JACK_OF_CLUBS] == 0)
    states, soloists = states[defends], public["soloist"][defends]
    views, seeds = GAME.views(*GAME.histories(states, seats[defends])), mix(1, np.arange(defends.sum()))
    weighed = weighted_worlds(GAME, by_policies(OnlyWithTheJack()), views, seeds, 40, 400).states["dealt"]
    plain = GAME.determinize(views, seeds)[0]["dealt"]
    of_soloist = [weighed[np.arange(len(states)), :, soloists], plain[np.arange(len(states)), soloists]]
    with_it, at_random = ((dealt & BIT[JACK_OF_CLUBS] != 0).mean() for dealt in of_soloist)
    assert len(states) > 30 and with_it > 0.9 > 0.6 > at_random


def test_pimc_with_candidates_weighs_them(network: str) -> None:
    asked: list[int] = []

    class Noted(OnlyWithTheJack):
        def probabilities(self, point: int, bits: np.ndarray, numbers: np.ndarray) -> np.ndarray:
            asked.append(point)
            return super().probabilities(point, bits, numbers)

    turns = turns_of(at_phase(PLAY, 1))
    for candidates in (0, 320):  # without candidates cards ask no network
        settings = SkatPoliciesPlayerConfig(cards="pimc", candidates=candidates)
        weighing = SkatPoliciesPlayer(Noted(), settings, SUPPORT)
        weighing.start(GAME, 1)
        assert turns.legal[np.arange(1), weighing.act(turns)].all() and bool(asked) == (candidates > 0)
    assert {BID, CONTINUE} & set(asked)
    (made,) = make_players([f"skat_policies:cards=pimc:candidates=320@{network}"], GAME, SearchConfig())
    made.start(GAME, 1)
    assert turns.legal[np.arange(1), made.act(turns)].all()
    for settings in ({"cards": "pimc", "candidates": 100}, {"candidates": 320}):
        with pytest.raises(ValueError, match=r"skat_policies\.candidates=\d+: must be 0, or at least 160 with"):
            SkatPoliciesPlayerConfig(**settings)  # type: ignore[arg-type]
