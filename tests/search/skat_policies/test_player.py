"""The players of paper 004: bids, games, discards and cards from what the networks say."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chisquare

from games.bits import BIT
from games.conformance import Decide, check_no_leak
from games.rng import mix
from games.skat.cards import HOLD, NULL, PASS, PICKUP
from games.skat.policies.decisions import decisions_of, inputs, observed
from games.skat.policies.points import BID, CHOICE, CONTINUE, DECISION_TYPES, DECLARE, DISCARD, NULL_OUVERT
from games.skat.rules import CHOICE as CHOICE_PHASE
from games.skat.rules import DISCARD as DISCARD_PHASE
from games.skat.rules import MODIFIER, PLAY
from games.skat.values import BIDS
from learner.skat_policies.engine import SkatPoliciesEngine
from search.config import SearchConfig
from search.players.table import play_table
from search.players.worlds import weighted_worlds
from search.roster.registry import make_players
from search.scripted.skat.support import SUPPORT
from search.skat_policies.beliefs import by_policies
from search.skat_policies.config import SkatPoliciesPlayerConfig
from search.skat_policies.plans import GAME_OF, PAIRS, max_bid
from search.skat_policies.player import SkatPolicies as SkatPoliciesPlayer
from tests.search.skat_policies.material import GAME, at_phase, finished, player, turns_of

A = 0.004
"""So low that bidders with random networks differ."""


# ---- bids


def test_the_limit_is_the_first_that_reaches_a_by_hand() -> None:
    limits = np.zeros((2, 64))
    limits[0, :4] = 0.5, 0.2, 0.2, 0.1
    limits[1, 0] = 1.0
    for a, expected in ((0.3, 0), (0.5, 0), (0.6, 1), (0.85, 2), (0.95, 3), (1.0, 3)):
        assert max_bid(limits, a).tolist() == [expected, 0]


@pytest.mark.parametrize("seed", range(3))
def test_a_higher_a_never_bids_lower(seed: int) -> None:
    limits = np.random.default_rng(seed).dirichlet(np.full(64, 0.1), 50)
    found = [max_bid(limits, a) for a in (0.1, 0.5, 0.85, 0.89, 0.925, 1.0)]
    assert all((low <= high).all() for low, high in pairwise(found))


def called(names: str, seed: int) -> np.ndarray:
    """40 deals after calls by name (``18 hold pass``)."""
    states = GAME.deal(np.arange(seed, seed + 40, dtype=np.uint64))
    for name in names.split():
        GAME.play(states, np.full(40, GAME.vocabulary.names.index(name)))
    return states


@pytest.mark.parametrize(
    ("calls", "point", "limit", "onward"),
    [
        ("", BID, 1, "18"),
        ("18", BID, 1, "hold"),
        ("18 hold", BID, 2, "20"),
        ("pass", CONTINUE, 1, "18"),  # rearhand bids to forehand
        ("18 pass", CONTINUE, 2, "20"),  # rearhand to middlehand, who has 18
        ("18 pass 20", CONTINUE, 2, "hold"),
        ("pass pass", CONTINUE, 1, "18"),  # forehand alone
    ],
)
@pytest.mark.parametrize("method", ["di_m", "ab"])
def test_each_duel_has_its_network(engine, calls, point, limit, onward, method) -> None:
    """What the seat to act calls after these, against the network that the paper has for the duel."""
    states = called(calls, 100)
    turns = turns_of(states)
    policy = engine.probabilities(point, *inputs(*observed(turns.tokens, turns.lengths), np.zeros(40, bool)))
    limits = policy.argmax(axis=1) if method == "di_m" else max_bid(policy, A)
    own = player(engine, method=method, **({"a": A} if method == "ab" else {}))
    found = [GAME.vocabulary.name(token) for token in own.act(turns)]
    assert found == [onward if most >= limit else "pass" for most in limits]
    assert len(set(found)) == 2 or method == "di_m" or onward == "hold"  # so the comparison above says something


def test_drawn_limits_have_the_networks_distribution(engine: SkatPoliciesEngine) -> None:
    """Middlehand of ``di_s`` against a forehand that always holds: where it passes is a draw of its limit."""
    many = 4000
    states, di_s = np.repeat(GAME.deal(np.array([7], np.uint64)), many), player(engine, method="di_s")
    turns = turns_of(states[:1])
    limits = engine.probabilities(BID, *inputs(*observed(turns.tokens, turns.lengths), np.zeros(1, bool)))[0]
    reached, left = np.zeros(many, int), np.arange(many)
    rng = np.random.default_rng(1)
    while len(left):
        calls = di_s.act(turns_of(states[left], rng.integers(2**64, size=len(left), dtype=np.uint64)))
        on = calls != PASS
        left, calls = left[on], calls[on]
        reached[left] += 1
        now = states[left]
        GAME.play(now, calls)
        if len(now):
            GAME.play(now, np.full(len(now), HOLD))
            states[left] = now
        left = left[reached[left] < 63]
    counts = np.bincount(reached, minlength=64)
    assert chi_square_fits(counts, limits.astype(float))


def chi_square_fits(counts: np.ndarray, share: np.ndarray) -> bool:
    """Whether counts are such as come of probabilities, cells of few expected put together; p above 0.001."""
    expected = share / share.sum() * counts.sum()
    cells = np.where(expected < 8, 0, 1 + np.arange(len(share)))
    seen, wanted = np.bincount(cells, counts), np.bincount(cells, expected)
    return bool(chisquare(seen[wanted > 0], wanted[wanted > 0]).pvalue > 0.001)


# ---- the game


HAND_NULLS, NULLS = {11: 35, 12: 59}, {NULL: 23, NULL_OUVERT: 46}
"""Actions that are worth so much, whatever the bid."""


def opinion(
    engine: SkatPoliciesEngine, point: int, states: np.ndarray, worth: dict[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Policy over what is worth the bid, and values."""
    given = inputs(*observed(*GAME.histories(states, GAME.to_move(states))), np.zeros(len(states), bool))
    policy, bids = engine.probabilities(point, *given), BIDS[states["public"]["bid"]]
    for action, value in worth.items():
        policy[bids > value, action] = 0
    return policy / policy.sum(axis=1, keepdims=True), engine.values(point, *given)


def best_by(method: str, policy: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The most probable action, or the one of the highest value among all, or among likely ones."""
    least = {"mv": 1e-30, "mlv": 0.1}.get(method)
    return policy.argmax(axis=1) if least is None else np.where(policy >= least, values, -np.inf).argmax(axis=1)


def test_pickup_or_hand_is_the_best_by_each_method(engine: SkatPoliciesEngine) -> None:
    states = at_phase(CHOICE_PHASE, 60)
    turns = turns_of(states)
    policy, values = opinion(engine, CHOICE, states, HAND_NULLS)
    assert (policy.max(axis=1) >= 0.1).all()
    for method in ("ab", "di_m", "mv", "mlv"):
        picks_up = best_by(method, policy, values) == 0
        assert ((player(engine, method=method).act(turns) == PICKUP) == picks_up).all()
    for method, same in (("mlv:0", "mv"), ("mlv:0.999", "ab")):
        found = player(engine, method="mlv", threshold=float(method.partition(":")[2])).act(turns)
        assert (found == player(engine, method=same).act(turns)).all()


@pytest.mark.parametrize("method", ["di_m", "di_s", "ab", "mv", "mlv"])
def test_a_game_by_hand_is_declared_as_it_was_chosen(engine: SkatPoliciesEngine, method: str) -> None:
    """What ``choose`` says at the declaration and the modifier belongs to one of the plans it could have had."""
    states, own = at_phase(CHOICE_PHASE, 60), player(engine, method=method)
    turns = turns_of(states)
    hand = states[own.act(turns) != PICKUP]
    if not len(hand):
        pytest.skip("no hand game")
    plan = best_by(method, *opinion(engine, CHOICE, hand, HAND_NULLS))
    GAME.play(hand, np.full(len(hand), PICKUP + 1))
    for _ in range(2):
        GAME.play(hand, own.act(turns_of(hand)))
    assert (hand["public"]["phase"] == PLAY).all()
    opened, game = hand["public"]["modifier"] == 3, hand["public"]["game"]
    assert method == "di_s" or (np.where(game == NULL, 11 + opened, 1 + game + 5 * opened) == plan).all()


def discarded_and_declared(own: SkatPoliciesPlayer, states: np.ndarray, seeds: np.ndarray) -> tuple[np.ndarray, ...]:
    """Pairs of discards and declarations of 7, from states at the first discard."""
    states = states.copy()
    for step in range(3):
        GAME.play(states, own.act(turns_of(states, mix(seeds, np.uint64(step)))))
    rows = np.flatnonzero(states["public"]["phase"] == MODIFIER)
    if len(rows):
        now = states[rows]
        GAME.play(now, own.act(turns_of(now, mix(seeds[rows], np.uint64(3)))))
        states[rows] = now
    assert (states["public"]["phase"] == PLAY).all()
    cards = np.array([[low for low in range(32) if laid >> low & 1] for laid in states["laid"].tolist()])
    pair = cards[:, 1] * (cards[:, 1] - 1) // 2 + cards[:, 0]
    declared = states["public"]["game"] + (states["public"]["modifier"] == 3)
    return pair, declared


@pytest.mark.parametrize("method", ["di_m", "ab", "mv", "mlv"])
def test_discards_are_for_the_game_that_is_declared(engine: SkatPoliciesEngine, method: str) -> None:
    states = at_phase(DISCARD_PHASE, 40)
    pair, declared = discarded_and_declared(player(engine, method=method), states, np.arange(1, 41, dtype=np.uint64))
    turns = turns_of(states)
    views, logs = observed(turns.tokens, turns.lengths)
    assert (best_by(method, *opinion(engine, DECLARE, states, NULLS)) == declared).all()
    for row in range(40):
        one = slice(row, row + 1)
        ouvert = np.array([declared[row] == NULL_OUVERT])
        pairs = engine.probabilities(DISCARD + GAME_OF[declared[row]], *inputs(views[one], logs[one], ouvert))[0]
        held = np.array([bool(views["hand"][row] >> low & views["hand"][row] >> high & 1) for low, high in PAIRS])
        assert np.where(held, pairs, -1).argmax() == pair[row]


def test_drawn_discards_and_declarations_are_distributed_as_the_papers(engine: SkatPoliciesEngine) -> None:
    many = 6000
    (state,) = at_phase(DISCARD_PHASE, 1)
    states = np.repeat(np.array([state]), many)
    seeds = np.random.default_rng(3).integers(2**64, size=many, dtype=np.uint64)
    pair, declared = discarded_and_declared(player(engine, method="di_s"), states, seeds)
    turns = turns_of(states[:1])
    views, logs = observed(turns.tokens, turns.lengths)
    policy = opinion(engine, DECLARE, states[:1], NULLS)[0][0].astype(float)
    joint = np.zeros((7, 496))
    held = np.array([bool(views["hand"][0] >> low & views["hand"][0] >> high & 1) for low, high in PAIRS])
    for game in range(7):
        given = inputs(views, logs, np.array([game == NULL_OUVERT]))
        pairs = np.where(held, engine.probabilities(DISCARD + GAME_OF[game], *given)[0], 0).astype(float)
        joint[game] = policy[game] * pairs / pairs.sum()
    counts = np.bincount(declared * 496 + pair, minlength=7 * 496)
    assert chi_square_fits(counts, joint.ravel())
    assert len(Counter(declared.tolist())) > 3


# ---- worlds of PIMC, drawn by what the networks find probable

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


# ---- whole deals


@pytest.mark.parametrize(
    "settings",
    ["method=di_s", "method=di_m:cards=skat_rules", "method=ab:a=0.5", "method=mv", "method=mlv", "method=skat_rules"],
)
def test_whole_deals_are_legal_and_the_same_again(network: str, settings: str) -> None:
    names = [f"skat_policies:{settings}@{network}", "skat_rules"]
    players = make_players(names, GAME, SearchConfig())
    seating = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 0]] * 8)
    seeds = np.arange(32, dtype=np.uint64)
    found = [play_table(GAME, players, seating, seeds, size, secret=4).states for size in (32, 5)]
    assert (found[0]["tokens"] == found[1]["tokens"]).all() and (found[0]["public"]["turn"] < 0).all()


def test_what_it_cannot_see_changes_no_decision(engine: SkatPoliciesEngine) -> None:
    made = [player(engine, method=method) for method in ("di_s", "ab", "mlv")]

    def decides(one: SkatPoliciesPlayer) -> Decide:
        return lambda states, seeds: one.act(turns_of(states, seeds))

    check_no_leak(GAME, num_deals=8, seed=5, players=[decides(one) for one in made])


def test_cards_are_the_most_probable_legal_ones(engine: SkatPoliciesEngine) -> None:
    states, own = at_phase(PLAY, 30), player(engine)
    turns = turns_of(states)
    views, logs = observed(turns.tokens, turns.lengths)
    bits, numbers = inputs(views, logs, np.zeros(30, bool))
    for row, card in enumerate(own.choose(turns)):
        game, soloist = views["public"]["game"][row], views["public"]["soloist"][row] == views["seat"][row]
        point = 10 + 2 * (0 if game < 4 else int(game) - 3) + (0 if soloist else 1)
        one = slice(row, row + 1)
        policy = engine.probabilities(point, bits[one], numbers[one])[0]
        assert card == np.where(turns.legal[row, :32], policy, -1).argmax()


def test_pimc_plays_the_cards_as_it_would_alone(network: str) -> None:
    states = at_phase(PLAY, 1)
    ours, pimc = make_players(
        [f"skat_policies:cards=pimc@{network}", "pimc:worlds=160:evaluator=solver"], GAME, SearchConfig()
    )
    for one in (ours, pimc):
        one.start(GAME, 1)
    assert (ours.act(turns_of(states)) == pimc.act(turns_of(states))).all()


def test_a_network_of_decisions_is_for_these_players_alone(network: str) -> None:
    with pytest.raises(ValueError, match=r"is for players whose network reads decisions: skat_policies"):
        make_players([f"argmax_val@{network}"], GAME, SearchConfig())
