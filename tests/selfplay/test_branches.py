"""Branches of played deals: which there are, and how they end or where they stop, against the same player and deal by
hand. ``test_branch_targets`` has what a generator writes of them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from games.branches import Branches
from games.game import Game
from games.hearts.game import HeartsGame
from games.openspiel import OpenSpielGame
from games.rng import derive, derive_many, mix
from games.shards import Sequences
from learner.config import EngineConfig
from learner.inference.engine import QueryEngine
from learner.model.network import PolicyValueNet
from learner.observation_model import EMPTY
from search.players.argmax_val import ArgmaxVal
from search.players.beginnings import Beginnings
from search.players.config import ArgmaxValConfig, ImitationConfig
from search.players.imitation import Imitation
from search.players.player import Player, Turns
from search.scripted.hearts.rules import HeartsRules
from selfplay.branches import DRAWS, ByNetwork, branch, draw_places, stratified
from tests.learner.material import tiny_net, transformers_model
from tests.marks import slow
from tests.search.models import FunctionModel, hash_model
from tests.search.toy import ToyGame
from tests.selfplay.material import first_of, random_deals

HEARTS, LEDUC = HeartsGame(), OpenSpielGame("leduc_poker")
GAMES = {"hearts": HEARTS, "leduc": LEDUC}
WITHOUT_NETWORK = {"rules": HeartsRules(), "random": None}
CPU = EngineConfig(device="cpu")
SEED = 3


def engine_of(game: Game, net: PolicyValueNet, config: EngineConfig = CPU) -> QueryEngine:
    return QueryEngine(net, game.outcomes.utility(""), config, game)


def player_of(name: str, model: Any) -> Player | None:
    if name in WITHOUT_NETWORK:
        return WITHOUT_NETWORK[name]
    if name == "imitation":
        return Imitation(model, ImitationConfig())
    return ArgmaxVal(model, ArgmaxValConfig(threshold=0.0))


def branched(game, name, deals, count, steps=0, at_once=512) -> tuple[Sequences, Branches]:
    """Random deals and their branches by a tiny network."""
    ended, sequences = random_deals(game, deals)
    return sequences, played_out(game, name, ended, sequences, count, steps, at_once)


def played_out(game, name, ended, sequences, count, steps=0, at_once=512) -> Branches:
    model = Beginnings(engine_of(game, tiny_net(game, seed=4)))
    by = None if name in WITHOUT_NETWORK else ByNetwork(at_once, model, steps)
    return branch(game, ended, sequences, player_of(name, model), count, SEED, network=by)


def actions_of(found: Branches) -> Iterator[tuple[int, int, int, list[int]]]:
    """Row, place and token of every action, and its outcomes."""
    starts = np.flatnonzero(found.first)
    for first, end in zip(starts, [*starts[1:], len(found.place)], strict=True):
        yield int(found.row[first]), int(found.place[first]), int(found.token[first]), found.outcome[first:end].tolist()


def before(game: Game, sequences: Sequences, row: int, place: int) -> np.ndarray:
    """``[1]``: the state of a sequence's deal when its seat has seen ``place`` tokens and is to act."""
    state = game.deal(sequences.deal_seed[[row]])
    of_seat = {int(sequences.seat[r]): r for r in np.flatnonzero(sequences.game == sequences.game[row])}
    while True:
        seat = game.to_move(state).astype(np.int64)
        seen = int(game.histories(state, seat)[1][0])
        if seat[0] == sequences.seat[row] and seen == place:
            return state
        game.play(state, sequences.tokens[of_seat[int(seat[0])], [seen]].astype(np.int64))


def played_on(game: Game, state: np.ndarray, player: Player, bits: int, seat: int, turns: int) -> np.ndarray:
    """The state when ``seat`` is to act for the so-manieth time (0: at the end); one player at a table of one deal."""
    player.start(game, 1)
    while (mover := game.to_move(state).astype(np.int64))[0] >= 0:
        if mover[0] == seat and turns:
            turns -= 1
            if not turns:
                break
        tokens, lengths = game.histories(state, mover)
        draws = mix(mix(np.array([bits], np.uint64), mover), lengths)
        asked = Turns(np.zeros(1, np.int64), mover, tokens, lengths, game.legal(state), draws)
        game.play(state, player.act(asked))
    player.forget(np.zeros(1, np.int64))
    return state


def by_hand(game, name, sequences, row, place, token, turns) -> tuple[np.ndarray, int]:
    """The state that a branch is played to, and the random bits of its decision."""
    state, seat = before(game, sequences, row, place), int(sequences.seat[row])
    bits = int(mix(derive_many(derive(SEED, "playouts"), len(sequences))[[row]], np.array([place]))[0])
    game.play(state, np.array([token]))
    player = player_of(name, engine_of(game, tiny_net(game, seed=4)))
    if player is None:
        game.playout(state, np.array([bits], np.uint64))
        return state, bits
    return played_on(game, state, player, bits, seat, turns), bits


SLOW = pytest.mark.slow


def test_every_legal_action_of_the_drawn_decisions_is_a_branch_the_sequence_s_own_too() -> None:
    states, sequences = random_deals(HEARTS, 20)
    branches = branch(HEARTS, states, sequences, None, 3, seed=3)
    marked = draw_places(HEARTS, sequences, 3, seed=3)
    rows, places = np.nonzero(marked)
    assert (np.bincount(rows) == 3).all()
    legal = HEARTS.view_legal(HEARTS.views(sequences.tokens[rows], places))
    assert (legal.sum(axis=1) > 1).all() and legal[np.arange(len(rows)), sequences.tokens[rows, places]].all()
    decision, tokens = np.nonzero(legal)
    assert np.array_equal(branches.row, rows[decision])
    assert np.array_equal(branches.place, places[decision]) and np.array_equal(branches.token, tokens)
    choices = (HEARTS.view_legal(HEARTS.prefixes(sequences.tokens[:5]).reshape(-1)).sum(axis=1) > 1).reshape(5, -1)
    every = draw_places(HEARTS, first_of(sequences, 5), 99, seed=3)  # more than there are
    assert (every.sum(axis=1) == choices.sum(axis=1)).all()


@pytest.mark.parametrize(
    ("game", "name"),
    [
        ("hearts", "random"),
        ("hearts", "rules"),
        ("hearts", "argmax_val"),
        ("leduc", "random"),
        ("leduc", "imitation"),
        pytest.param("hearts", "imitation", marks=SLOW),
        pytest.param("leduc", "argmax_val", marks=SLOW),
    ],
)
def test_a_branch_ends_as_the_deal_does_when_its_player_goes_on_with_it_at_a_table(game: str, name: str) -> None:
    sequences, branches = branched(GAMES[game], name, 1 if game == "hearts" else 10, 2)
    assert len(branches.place) > 25 and branches.first.all()
    for row, place, token, outcomes in actions_of(branches):
        state, _ = by_hand(GAMES[game], name, sequences, row, place, token, turns=0)
        assert outcomes == [GAMES[game].outcome(state)[0, sequences.seat[row]]]


def expected_labels(game, net, state, seat, bits, samples) -> list[set]:
    """What each draw may be: the labels whose part of the cumulative chances, by transformers' network, holds its mark;
    two where rounding decides."""
    tokens, lengths = game.histories(state, np.array([seat]))
    with torch.no_grad():
        logits = transformers_model(net).eval()(torch.tensor(tokens[:, : lengths[0]].astype(np.int64))).outcome_logits
    possible = game.view_outcomes(game.views(tokens, lengths))[0]
    chances = torch.softmax(logits[0, -1].double(), -1).numpy() * possible
    uniform, start = (int(mix(np.uint64(bits), derive(0, "outcomes"))) >> 11) / 2**53, 0.0
    labels: list[set] = [set() for _ in range(samples)]
    for label in sorted(range(len(chances)), key=lambda label: game.outcomes.points[label, 0]):
        end = start + chances[label] / chances.sum()
        for i in range(samples):
            if possible[label] and start - 1e-5 <= (i + uniform) / samples <= end + 1e-5:
                labels[i].add(label)
        start = end
    return labels


@pytest.mark.parametrize(
    ("game", "steps"),
    [
        ("hearts", 2),
        pytest.param("hearts", 1, marks=SLOW),
        pytest.param("leduc", 1, marks=SLOW),
        pytest.param("leduc", 2, marks=SLOW),
    ],
)
def test_a_branch_that_stops_holds_draws_of_what_the_network_expects_at_the_seat_s_nth_next_turn(game, steps) -> None:
    played, net = GAMES[game], tiny_net(GAMES[game], seed=4)
    sequences, branches = branched(played, "argmax_val", 1 if game == "hearts" else 40, 2, steps)
    stopped = ended = 0
    for row, place, token, found in actions_of(branches):
        state, bits = by_hand(played, "argmax_val", sequences, row, place, token, steps)
        seat = int(sequences.seat[row])
        if played.to_move(state)[0] < 0:
            assert found == [played.outcome(state)[0, seat]]
            ended += 1
        else:
            labels = expected_labels(played, net, state, seat, bits, DRAWS)
            assert len(found) == DRAWS and all(label in some for label, some in zip(found, labels, strict=True))
            stopped += 1
    assert stopped > 3 and (ended > 3 or game == "hearts")


def test_with_more_turns_than_there_are_every_deal_ends_as_without() -> None:
    whole, many = (branched(LEDUC, "imitation", 12, 2, steps)[1] for steps in (0, 99))
    for name in ("starts", "place", "token", "outcome"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(many, name))


# ---- draws


def test_draws_are_where_the_cumulative_chances_in_the_order_of_points_reach_even_marks() -> None:
    points, chances = np.array([5.0, -1.0, 2.0, 2.0]), np.array([[0.25, 0.5, 0.0, 0.25], [0.0, 1.0, 0.0, 0.0]]) * 7
    drawn = stratified(points, chances, np.array([0.0, 0.5]), 4)
    assert drawn.tolist() == [[1, 1, 3, 0], [1, 1, 1, 1]]
    last = np.nextafter(1.0, 0.0)
    assert stratified(points, chances[::-1], np.full(2, last), 3).tolist() == [[1, 1, 1], [1, 3, 0]]


def test_the_share_of_a_label_is_its_chance_on_average_and_never_far_from_it() -> None:
    rng = np.random.default_rng(1)
    points, chances = rng.normal(size=12), rng.dirichlet(np.full(12, 0.4))
    uniform = (np.arange(1000) + 0.5) / 1000
    drawn = stratified(points, np.tile(chances, (1000, 1)), uniform, 8)
    shares = (drawn[..., None] == np.arange(12)).mean(axis=1)
    np.testing.assert_allclose(shares.mean(axis=0), chances, atol=1e-3)
    assert (np.abs(shares - chances) < 1 / 8 + 1e-9).all()


def test_all_actions_of_a_decision_are_drawn_by_one_number() -> None:
    net = tiny_net(LEDUC, seed=4)
    net.val_head.weight.data.zero_()  # the same is expected of every action
    ended, sequences = random_deals(LEDUC, 30)
    model = Beginnings(engine_of(LEDUC, net))
    found = branch(LEDUC, ended, sequences, player_of("imitation", model), 3, SEED, network=ByNetwork(512, model, 1))
    drawn: dict[tuple[int, int], set[tuple[int, ...]]] = {}
    several = 0
    for row, place, _, outcomes in actions_of(found):
        if len(outcomes) == DRAWS:
            at = drawn.setdefault((row, place), set())
            several += bool(at)
            at.add(tuple(outcomes))
    assert several > 10 and all(len(each) == 1 for each in drawn.values())
    assert len(set.union(*drawn.values())) > 5  # and decisions by different ones


def test_impossible_outcomes_are_not_drawn_from_a_network_that_does_not_mask_them() -> None:
    sequences, branches = branched(HEARTS, "argmax_val", 4, 6, steps=1)
    views = HEARTS.views(sequences.tokens[branches.row], branches.place)
    HEARTS.advance(views, branches.token)
    possible = HEARTS.view_outcomes(views)
    assert (~possible).any(axis=1).sum() > 100  # late in a deal most are impossible
    assert possible[np.arange(len(views)), branches.outcome].all()


# ---- one table, one cache


@pytest.mark.parametrize(("name", "steps"), [("rules", 0), *slow(("imitation", 0), ("imitation", 2))])
def test_branches_depend_on_the_sequence_alone_however_many_are_played_at_once(name: str, steps: int) -> None:
    keep = np.arange(4) == (np.arange(8) % 4)[:, None]
    keep[5] = False
    ended, sequences = random_deals(HEARTS, 8, keep)
    found = played_out(HEARTS, name, ended, sequences, 2, steps)
    assert (np.bincount(found.row, minlength=7) > 3).all()
    for at_once in (1, 3, 7):
        again = played_out(HEARTS, name, ended, sequences, 2, steps, at_once)
        np.testing.assert_array_equal(found.outcome, again.outcome)
    alone = played_out(HEARTS, name, ended, first_of(sequences, 3), 2, steps)
    for column in ("starts", "place", "token", "outcome"):
        np.testing.assert_array_equal(getattr(alone, column), getattr(found.take(np.arange(3)), column))
    assert not np.array_equal(draw_places(HEARTS, sequences, 2, SEED), draw_places(HEARTS, sequences, 2, SEED + 1))


@SLOW
def test_deals_and_playouts_side_by_side_are_bounded_by_the_cache_and_nothing_is_held_behind_them() -> None:
    ended, sequences = random_deals(HEARTS, 40)
    tight = replace(CPU, cache_mb=1)  # 4,096 tokens of this network: 20 deals of 4 seats and 50 tokens

    def made(at_once: int) -> QueryEngine:
        engine = engine_of(HEARTS, tiny_net(HEARTS, seed=4), tight)
        model = Beginnings(engine)
        branch(HEARTS, ended, sequences, player_of("argmax_val", model), 2, SEED, network=ByNetwork(at_once, model))
        return engine

    assert made(12).slots_left == 4096
    with pytest.raises(ValueError, match="cache of keys and values is full"):
        made(40)


def test_beginnings_are_computed_once_and_continued_only_while_they_are_held() -> None:
    game = ToyGame()
    model = FunctionModel(hash_model(game, 0.1))
    shared, states = Beginnings(model), game.deal(derive_many(1, 3))
    game.play(states, game.legal(states).argmax(axis=1))
    shared.start(game, 3)
    for _ in range(2):  # what has not gone on is not computed again, but for its last token
        shared.hold(np.arange(3), states)
    held = len(model.computed)
    tokens, lengths = game.histories(states, np.ones(3, np.int64))
    history = [*tokens[1, : lengths[1]].tolist(), 0]

    def computed(asked: list[int]) -> int:
        """Tokens computed for an answer, which is given back."""
        before = len(model.computed)
        answer = shared.query(np.array([EMPTY]), np.array(asked), np.array([len(asked)]))
        assert model.history_of(answer.handles[0]) == tuple(asked)
        shared.release(answer.handles)
        return len(model.computed) - before

    assert [computed(history), computed(history)] == [1, 1] and len(model.computed) == held + 2
    assert computed(history[:1]) == 1  # shorter than what is held: no beginning
    shared.start(game, 0)
    assert not model.held and computed(history) == len(history)
