"""ArgmaxVal* and imitation, decided by hand, and with bids up to a percentile (paper 004, equation 1)."""

import hashlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from games.rng import derive_many
from games.skat.cards import FIRST_BID, HOLD, PASS
from games.skat.game import SkatGame
from games.skat.values import BIDS, NUM_BIDS
from learner.config import EngineConfig, TransformerConfig
from learner.model.checkpoint import save_weights
from search.config import SearchConfig
from search.players.argmax_val import ArgmaxVal
from search.players.bidding import PercentileBidder
from search.players.config import ArgmaxValConfig, ImitationConfig
from search.players.imitation import Imitation, sample
from search.players.player import Turns
from search.players.table import play_table
from search.roster.engines import Engines
from search.roster.registry import make_players
from search.scripted.skat.auction import calls
from tests.learner.material import tiny_net
from tests.search.models import FunctionModel, History, Model, hash_model, table_model
from tests.search.toy import EOS, LEADS, ToyGame
from tests.search.turns import turns_in

HOLDS_1_4 = (LEADS, 0, 3)
"""The history of the leader that holds the cards 1 and 4, tokens 0 and 3."""


def turns(histories: list[tuple[int, ...]], legal: list[list[int]]) -> Turns:
    """Turns of seat 0, one game each."""
    tokens = np.full((len(histories), 8), EOS, np.uint8)
    marked = np.zeros((len(histories), EOS + 1), bool)
    for row, (history, actions) in enumerate(zip(histories, legal, strict=True)):
        tokens[row, : len(history)] = history
        marked[row, actions] = True
    rows = np.arange(len(histories))
    lengths = np.array([len(history) for history in histories], np.int32)
    return Turns(rows, np.zeros_like(rows), tokens, lengths, marked, derive_many(1, len(histories)))


def decide(policy: dict[int, float], values: dict[int, float], threshold: float, policy_weight: float = 0.0) -> int:
    """What ArgmaxVal* leads from 1 and 4."""
    rows = {HOLDS_1_4: (policy, 0.0)} | {(*HOLDS_1_4, action): ({}, value) for action, value in values.items()}
    config = ArgmaxValConfig(threshold=threshold, policy_weight=policy_weight)
    player = ArgmaxVal(FunctionModel(table_model(EOS + 1, rows)), config)
    player.start(ToyGame(), 1)
    return int(player.act(turns([HOLDS_1_4], [[0, 3]]))[0])


@pytest.mark.parametrize(
    ("policy", "values", "threshold", "chosen", "why"),
    [
        ({0: 0.5, 3: 0.5}, {0: -0.5, 3: 0.5}, 0.05, 3, "the higher value"),
        ({0: 0.75, 3: 0.25}, {0: -0.5, 3: 0.5}, 0.25, 3, "a probability equal to the threshold passes"),
        ({0: 0.75, 3: 0.25}, {0: -0.5, 3: 0.5}, 0.26, 0, "a probability below it does not"),
        ({0: 0.375, 3: 0.125, 1: 0.5}, {0: -0.5, 3: 0.5}, 0.25, 3, "probabilities count among legal actions only"),
        ({0: 0.25, 3: 0.75}, {0: 0.5, 3: -0.5}, 0.9, 3, "where none passes, the most probable one"),
        ({0: 0.5, 3: 0.5}, {0: 0.25, 3: 0.25}, 0.05, 0, "of equal values the lowest token"),
        ({1: 1.0}, {0: -0.5, 3: 0.5}, 0.05, 3, "legal actions without any probability are equally likely"),
    ],
)
def test_argmax_val_decides_as_equations_2_and_3_say(policy, values, threshold, chosen, why) -> None:
    assert decide(policy, values, threshold) == chosen, why


@pytest.mark.parametrize(
    ("policy", "threshold", "weight", "chosen", "why"),
    [
        ({0: 0.75, 3: 0.25}, 0.05, 0.1, 3, "0.1 * log 3 = 0.110 is less than the 0.125 that 3 is worth more"),
        ({0: 0.75, 3: 0.25}, 0.05, 0.125, 0, "0.125 * log 3 = 0.137 is more"),
        ({0: 0.1, 3: 0.9}, 0.2, 0.0, 3, "what is below the threshold is not chosen"),
        ({0: 0.9, 3: 0.1}, 0.05, 0.0, 3, "the paper's rule looks at values alone"),
        ({0: 0.9, 3: 0.0, 1: 0.1}, 0.0, 1.0, 0, "an action without any probability comes last"),
    ],
)
def test_a_policy_weight_adds_the_log_of_the_probability_to_the_value(policy, threshold, weight, chosen, why) -> None:
    assert decide(policy, {0: 0.25, 3: 0.375}, threshold, weight) == chosen, why


def test_a_forced_move_asks_the_model_nothing() -> None:
    for player_of in (ArgmaxVal, Imitation):
        model = FunctionModel(hash_model(ToyGame(), 0.1))
        config = ArgmaxValConfig() if player_of is ArgmaxVal else ImitationConfig()
        player = player_of(model, config)  # type: ignore[arg-type]
        player.start(ToyGame(), 2)
        answers = player.act(turns([HOLDS_1_4, HOLDS_1_4], [[3], [0, 3]]))
        assert answers[0] == 3
        assert model.histories_asked == [HOLDS_1_4]


def imitating(policy: dict[int, float], asked: Turns, **settings: Any) -> tuple[np.ndarray, Imitation]:
    """What an imitation of this policy does, and the player."""
    player = Imitation(FunctionModel(table_model(EOS + 1, {HOLDS_1_4: (policy, 0.0)})), ImitationConfig(**settings))
    player.start(ToyGame(), len(asked.game))
    return player.act(asked), player


@pytest.mark.parametrize(("temperature", "share"), [(0.5, 0.1), (1.0, 0.25), (2.0, 0.366)])
def test_imitation_samples_the_policy_over_legal_actions_sharpened_or_flattened(temperature, share) -> None:
    asked = turns([HOLDS_1_4] * 20_000, [[0, 3]] * 20_000)
    chosen, _ = imitating({0: 0.1, 3: 0.3, 1: 0.6}, asked, temperature=temperature)
    assert set(chosen.tolist()) == {0, 3}
    assert abs(np.mean(chosen == 0) - share) < 0.017  # five standard deviations
    assert np.array_equal(imitating({0: 0.1, 3: 0.3, 1: 0.6}, asked, temperature=temperature)[0], chosen)


@pytest.mark.parametrize(("policy", "best"), [({0: 0.1, 3: 0.3, 1: 0.6}, 3), ({0: 0.3, 3: 0.3}, 0), ({1: 1.0}, 0)])
def test_a_greedy_imitation_plays_the_lowest_of_the_most_probable_legal_actions_for_sure(policy, best) -> None:
    chosen, player = imitating(policy, turns([HOLDS_1_4] * 200, [[0, 3]] * 199 + [[0]]), greedy=True)
    assert set(chosen[:199]) == {best} and player.probabilities.tolist() == [1.0] * 199 + [0.0]


def test_sampling_never_gives_a_token_of_probability_zero() -> None:
    policy = np.tile([0.0, 0.1, 0.0, 0.2, 0.7, 0.0], (4, 1))
    ends = np.array([0, 2**64 - 1, 2**11 - 1, 2**63], np.uint64)
    assert sample(policy, ends).tolist() == [1, 4, 1, 4]


@pytest.mark.parametrize("player_of", [ArgmaxVal, Imitation])
def test_every_token_of_a_deal_is_computed_once_and_none_is_held_behind_its_end(player_of: type) -> None:
    config = ArgmaxValConfig() if player_of is ArgmaxVal else ImitationConfig()
    for seed in range(10):
        model = FunctionModel(hash_model(ToyGame(), 0.1))
        player = player_of(model, config)
        play_table(ToyGame(), [player], np.zeros((1, 2), np.int64), np.array([seed], np.uint64), secret=1)
        assert len(set(model.computed)) == len(model.computed) > 0
        assert not model.slots


def test_a_history_asked_about_again_after_its_move_is_answered() -> None:
    model = FunctionModel(hash_model(ToyGame(), 0.1))
    player = ArgmaxVal(model, ArgmaxValConfig())
    player.start(ToyGame(), 1)
    asked = turns([HOLDS_1_4], [[0, 3]])
    assert player.act(asked) == player.act(asked)
    assert len(model.slots) == len(HOLDS_1_4) + 1
    player.start(ToyGame(), 1)
    assert not model.slots


GAME = SkatGame()
PERCENTILES = (0.05, 0.3, 0.5, 0.85, 0.99, 1.0)
FORE, MIDDLE, REAR = range(3)


def passing(chances: dict[int, float]) -> Model:
    """A network that passes, when asked for a value by number, with this probability among the legal actions, and gives
    four times as much to tokens that are not."""

    def answer(history: History) -> tuple[np.ndarray, float]:
        view = GAME.views(np.array([history]), np.array([len(history)]))
        public, legal = view["public"][0], GAME.view_legal(view)[0]
        chance = chances[int(public["bid"] if public["asked"] else public["bid"] + 1)]
        others = legal & (np.arange(len(legal)) != PASS)
        said = np.where(legal, 0, 0.8 / (~legal).sum()) + np.where(others, 0.2 * (1 - chance) / others.sum(), 0)
        said[PASS] = 0.2 * chance
        return said.astype(np.float32), 0.0

    return answer


def hashed(history: History) -> tuple[np.ndarray, float]:
    rng = np.random.default_rng(list(hashlib.blake2b(bytes(history)).digest()))
    return rng.dirichlet(np.full(GAME.vocabulary.size, 0.2)).astype(np.float32), float(rng.uniform(-1, 1))


def plain(model: FunctionModel, kind: type) -> Any:
    made = kind(model, ImitationConfig() if kind is Imitation else ArgmaxValConfig(threshold=0.1))
    made.start(GAME, 400)
    return made


def bidder(model: FunctionModel, a: float, inner: type = Imitation) -> PercentileBidder:
    made = PercentileBidder(plain(model, inner), calls, a)
    made.start(GAME, 400)
    return made


def called(names: str, deal: int = 0) -> np.ndarray:
    """A deal after calls by name (``18 hold pass``)."""
    state = GAME.deal(np.array([deal], np.uint64))
    for name in names.split():
        GAME.play(state, np.array([GAME.vocabulary.names.index(name)]))
    return state


def limit_of(seat: int, state: np.ndarray, player: PercentileBidder) -> int:
    """The number of values that a seat goes along with, from 18 on, while another one never passes, and the third does
    at once."""
    public, reached = state["public"][0], 0
    while public["turn"] >= 0 and public["phase"] == 0:
        if public["turn"] == seat:
            token = int(player.act(turns_in(GAME, state))[0])
            if token == PASS:
                return reached
            asked = int(public["bid"]) if public["asked"] else int(public["bid"]) + 1
            assert token == (HOLD if public["asked"] else FIRST_BID + asked), "never a jump"
            reached = asked + 1
        else:
            token = HOLD if public["asked"] else FIRST_BID + int(public["bid"]) + 1
            token = PASS if public["bid"] + 1 == NUM_BIDS and not public["asked"] else token
        GAME.play(state, np.array([token]))
        public = state["public"][0]
    return reached


def limits(chances: dict[int, float]) -> np.ndarray:
    """``float64[64]``: the distribution of the limit, 0 for none, from the chance to pass at each value."""
    passes = np.array([chances[value] for value in range(NUM_BIDS)] + [1.0])
    return passes * np.cumprod(np.append(1.0, 1 - passes[:-1]))


def by_equation_1(distribution: np.ndarray, a: float) -> int:
    return min(b for b in range(len(distribution)) if distribution[: b + 1].sum() >= a - 1e-6 or b == NUM_BIDS)


@pytest.mark.parametrize(
    ("before", "seat"),
    [("", MIDDLE), ("", FORE), ("pass", REAR), ("pass", FORE)],
    ids=["bids", "answers", "bids second", "answers second"],
)
@pytest.mark.parametrize("seed", range(2))
def test_a_seat_goes_along_exactly_to_the_limit_of_equation_1(before: str, seat: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    chances = dict(enumerate(rng.uniform(0, 0.25, NUM_BIDS)))
    found = [limit_of(seat, called(before), bidder(FunctionModel(passing(chances)), a)) for a in PERCENTILES]
    assert found == [by_equation_1(limits(chances), a) for a in PERCENTILES]
    assert len(set(found)) > 3 and all(low <= high for low, high in pairwise(found))


def test_by_hand_the_chain_of_all_own_calls_counts_and_that_of_others_does_not() -> None:
    model = FunctionModel(passing(dict.fromkeys(range(NUM_BIDS), 0.2) | {0: 0.5}))
    for calls_so_far, share, onward in (
        ("18 hold", 0.6, "20"),  # of middlehand's limits 0.5 * 0.8 reach 20
        ("18 pass 20", 0.6, "hold"),  # its own calls of both duels
        ("30", 0.2, "hold"),  # forehand's first call, whatever was jumped over
        ("18 hold pass 22", 0.6, "hold"),  # its second, and rearhand's first is not its own
        ("pass pass", 0.5, "18"),
    ):
        for a, token in ((share - 0.01, "pass"), (share + 0.01, onward)):
            (found,) = bidder(model, a).act(turns_in(GAME, called(calls_so_far)))
            assert GAME.vocabulary.names[found] == token, (calls_so_far, a)


def test_a_of_1_goes_along_wherever_a_limit_is_possible() -> None:
    seldom = dict.fromkeys(range(NUM_BIDS), 0.1)
    assert limit_of(MIDDLE, called(""), bidder(FunctionModel(passing(seldom)), 1.0)) == NUM_BIDS
    never = seldom | {4: 1.0}
    assert limit_of(MIDDLE, called(""), bidder(FunctionModel(passing(never)), 1.0)) == 4
    assert limit_of(FORE, called(""), bidder(FunctionModel(passing(never)), 1.0)) == 4
    # Where nothing higher can be bid it passes, without a question.
    state = called(f"{BIDS[-1]} pass")
    assert GAME.legal(state)[0].sum() == 1
    model = FunctionModel(hashed)
    assert bidder(model, 1.0).act(turns_in(GAME, state)) == [PASS] and not model.histories_asked


# ---- beside the other player's turns


def some_turns(count: int) -> Turns:
    """Turns of all phases, whose seats have made calls of all kinds."""
    states, there = GAME.deal(derive_many(3, 40)), []
    rng = np.random.default_rng(1)
    for _ in range(30):
        legal = GAME.legal(states)
        there.append(states[legal.any(axis=1)].copy())
        weights = np.where(legal, rng.random(legal.shape), -1.0)
        weights[:, FIRST_BID + 3 : FIRST_BID + NUM_BIDS] -= 1.0
        GAME.play(states, weights.argmax(axis=1))
    found = np.concatenate(there)
    return turns_in(GAME, found[rng.permutation(len(found))[:count]])


@pytest.mark.parametrize("inner", [Imitation, ArgmaxVal])
def test_outside_the_auction_the_other_player_acts_and_no_turn_depends_on_its_batch(inner: type) -> None:
    turns = some_turns(120)
    both, alone = bidder(FunctionModel(hashed), 0.5, inner), plain(FunctionModel(hashed), inner)
    found, own = both.act(turns), alone.act(turns)
    auction = turns.legal[:, PASS] & (turns.legal.sum(axis=1) > 1)
    assert 20 < auction.sum() < 100 and len(set(found[auction])) > 2
    assert np.array_equal(found[~auction], own[~auction])
    fresh = bidder(FunctionModel(hashed), 0.5, inner)
    one_by_one = [int(fresh.act(turns.take(np.array([row])))[0]) for row in range(len(turns.seeds))]
    assert one_by_one == found.tolist()


def test_calls_have_probability_1_and_others_those_with_which_they_were_drawn() -> None:
    turns = some_turns(120)
    both, alone = bidder(FunctionModel(hashed), 0.5), plain(FunctionModel(hashed), Imitation)
    both.act(turns)
    alone.act(turns)
    auction = turns.legal[:, PASS] & (turns.legal.sum(axis=1) > 1)
    np.testing.assert_array_equal(both.probabilities, np.where(auction, 1, alone.probabilities))
    assert not both.probabilities[turns.legal.sum(axis=1) == 1].any()
    assert not hasattr(bidder(FunctionModel(hashed), 0.5, ArgmaxVal), "probabilities")


@pytest.mark.parametrize("inner", [Imitation, ArgmaxVal])
def test_every_handle_is_given_back(inner: type) -> None:
    model = FunctionModel(hashed)
    auction = turns_in(GAME, called("18 hold 20 hold"))
    bidder(model, 0.9, inner).act(auction)
    assert not model.slots and max(map(len, model.histories_asked)) == auction.lengths[0]
    model = FunctionModel(hashed)
    players = [bidder(model, a, inner) for a in (0.3, 0.9)]
    seating = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]] * 2)
    play_table(GAME, players, seating, derive_many(2, 6), 4, secret=1)
    assert model.histories_asked and not model.slots


# ---- by name


def test_by_name_with_a_real_network(tmp_path: Path) -> None:
    net = tiny_net(GAME, seed=1, config=TransformerConfig(n_layer=1, n_head=2, n_embd=16))
    save_weights(tmp_path / "net", net, GAME)
    path, engines = str(tmp_path / "net"), Engines(GAME, EngineConfig(device="cpu"))
    names = ["imitation:greedy=true:bidding=percentile:a=0.3", "argmax_val:bidding=percentile", "imitation"]
    free = engines.get(path).slots_left
    players = make_players(names, GAME, SearchConfig(), path, engines=engines)
    assert [player.name for player in players] == names
    played = play_table(GAME, players, np.array([[0, 1, 2], [1, 2, 0]]), np.arange(2, dtype=np.uint64), secret=1)
    assert (played.labels >= 0).all() and engines.get(path).slots_left == free
