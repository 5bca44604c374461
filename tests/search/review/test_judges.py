"""A judge says what its player does: nobody else's moves are handed out, and a player's own play costs it nothing."""

import numpy as np
import pytest

from games.game import Game
from games.recorded_deals import RecordedDeals
from games.registry import make_game
from games.rng import derive_many
from games.shards import Sequences
from learner.config import EngineConfig
from search.apps.review.decisions import judge_deals
from search.arena.judges import ValuingJudge, load_judge
from search.config import SearchConfig
from search.players.choices import choice_places, place_bits, turns_before
from search.players.player import ChoosingPlayer, Turns
from search.roster import kinds
from search.roster.engines import Engines
from search.roster.registry import resolve, seat_players
from tests.search.review.test_decisions import played

JUDGES = [
    ("crew", "argmax_val@kibitz:crew"),
    ("crew", "argmax_val:threshold=0.2:policy_weight=0.5@kibitz:crew"),
    ("hearts", "go_mcts:num_runs=4@kibitz:hearts"),
    ("crew", "pimc:worlds=4:evaluator=playouts"),
    ("crew", "pimc:worlds=6:evaluator=playouts:confidence=1"),
    ("crew", "pimc:worlds=3:evaluator=playouts:blueprint=network:confidence=0.5:threshold=0.1@kibitz:crew"),
    ("skat", "pimc:worlds=3:evaluator=solver:confidence=0.5"),
    ("skat", "pimc:worlds=2:evaluator=solver:blueprint=network:threshold=0.05@kibitz:skat"),
]
"""Every kind that may judge, with each of the settings by which what it does is not what it values most."""


def test_every_kind_that_may_judge_is_tried() -> None:
    tried = {name.split("@")[0].split(":")[0] for _, name in JUDGES}
    assert tried == {"argmax_val", "go_mcts", *(kind.name for kind in kinds.every() if kind.values_actions)}


def some_turns(game: Game, deals: int) -> Turns:
    """A decision with a choice of every seat of some deals, anywhere in them."""
    found = played(game, deals, f"{game.name}_rules")
    choices = choice_places(game, found.sequences.tokens, found.lengths)
    drawn = np.where(choices, place_bits(7, *choices.shape), 0)
    rows = np.flatnonzero(choices.any(axis=1))
    seats, bits = found.sequences.seat[rows].astype(np.int64), derive_many(8, len(rows))
    return turns_before(game, found.sequences.tokens[rows], drawn[rows].argmax(axis=1), rows, seats, bits)


@pytest.mark.parametrize(("game", "name"), JUDGES)
def test_what_a_judge_calls_best_is_what_it_does(game: str, name: str) -> None:
    made, engines = make_game(game), Engines(make_game(game), EngineConfig())
    judge = load_judge(name, made, engines).judge
    (player,) = seat_players(resolve([name], made, SearchConfig()), [name], made, engines)
    turns = some_turns(made, 102 // made.num_players)
    for one in (judge, player):
        one.start(made, 102)
    assert len(turns.seeds) > 80
    np.testing.assert_array_equal(judge.opinion(turns).best, player.act(turns))


def own_play(game: Game, name: str, count: int, seed: int) -> RecordedDeals:
    """Deals of a player with itself, whose random numbers are those of a judge with this seed."""
    states, bits = game.deal(derive_many(3, count)), place_bits(seed, count * game.num_players, game.max_length)
    (player,) = seat_players(resolve([name], game, SearchConfig()), [name], game, Engines(game, EngineConfig()))
    player.start(game, count)
    while len(rows := np.flatnonzero((seats := game.to_move(states).astype(np.int64)) >= 0)):
        here, seats = states[rows], seats[rows]
        tokens, lengths = game.histories(here, seats)
        drawn = bits[rows * game.num_players + seats, lengths - 1]
        game.play(here, player.act(Turns(rows, seats, tokens, lengths, game.legal(here), drawn)))
        states[rows] = here
    return RecordedDeals(game, Sequences.of_deals(game, states, derive_many(3, count), name), ("",) * count)


@pytest.mark.parametrize(("game", "name"), [JUDGES[1], *JUDGES[3:]])
def test_the_review_of_a_player_by_itself_costs_nothing(game: str, name: str) -> None:
    made = make_game(game)
    deals = own_play(made, name, 2, 5)
    setup = load_judge(name, made)
    decisions = judge_deals(deals, np.arange(len(deals.sequences)), setup.judge, setup.scale, 5).decisions
    assert len(decisions.row) > 20 and decisions.agrees.all() and (decisions.cost == 0).all()


class Lowest(ChoosingPlayer):
    """Plays the lowest action, and finds each worth its number."""

    name = "lowest"

    def choose(self, turns: Turns) -> np.ndarray:
        return np.asarray(turns.legal.argmax(axis=1))

    def action_values(self, turns: Turns) -> np.ndarray:
        return np.where(turns.legal, np.arange(turns.legal.shape[1], dtype=np.float64), -np.inf)


def test_a_player_of_ones_own_needs_its_actions_and_their_values_alone() -> None:
    game = make_game("hearts")
    judge, turns = ValuingJudge(Lowest()), some_turns(game, 5)
    judge.start(game, 20)
    opinion = judge.opinion(turns)
    np.testing.assert_array_equal(opinion.best, turns.legal.argmax(axis=1))
    np.testing.assert_array_equal(opinion.expected, opinion.best)
