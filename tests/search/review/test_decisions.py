"""Reviews: decisions against models whose answers are known, the exact solver, and judges against their players."""

from pathlib import Path

import numpy as np
import pytest

from games.game import Game
from games.hearts.game import HeartsGame
from games.recorded_deals import RecordedDeals
from games.registry import make_game
from games.rng import derive_many
from games.shards import Sequences
from games.skat.replay import states_at
from games.skat.rules import PLAY
from learner.config import EngineConfig
from search.apps.review.decisions import Judged, judge_deals, marked
from search.apps.review.figures import costliest_decisions, course, figures, ratio_interval, results_of
from search.apps.review.open_cards import hindsight, history_of, with_perfect_play
from search.apps.review.report import DealNote, deal_notes
from search.arena.judges import NetworkJudge, ValuingJudge, load_judge
from search.config import SearchConfig
from search.players.choices import choice_places, place_bits, turns_before
from search.players.config import ArgmaxValConfig
from search.players.player import Turns
from search.players.support import Support
from search.players.table import play_table, turns_at
from search.roster import kinds
from search.roster.engines import Engines
from search.roster.registry import make_players, resolve, seat_players
from search.scripted.skat.records.sequences import read_records
from search.scripted.skat.solver.solve import Solver
from search.scripted.skat.support import SUPPORT
from tests.search.models import FunctionModel, hash_model
from tests.search.turns import Lowest

RECORDS = Path(__file__).parents[2] / "games" / "skat" / "iss_records.sgf"
CONFIG = ArgmaxValConfig(threshold=0.1)


def played(game: Game, count: int, player: str = "random") -> RecordedDeals:
    players, seeds = make_players([player], game, SearchConfig()), derive_many(3, count)
    seating = np.zeros((count, game.num_players), np.int64)
    states = play_table(game, players, seating, seeds, secret=4).states
    return RecordedDeals(game, Sequences.of_deals(game, states, seeds, player), tuple(map(str, range(count))))


def judged_by_model(deals: RecordedDeals, scale: float = 1.0, rows: np.ndarray | None = None) -> Judged:
    """By a model whose answers are known."""
    model = FunctionModel(hash_model(deals.game, 0.2))
    rows = np.arange(len(deals.sequences)) if rows is None else rows
    judged = judge_deals(deals, rows, NetworkJudge(model, CONFIG), scale, 1)
    assert not model.slots, "a handle stayed held"
    return judged


@pytest.mark.parametrize("name", ["hearts", "crew", "samegame", "openspiel:leduc_poker"])
def test_every_choice_is_judged_by_what_the_model_says_of_it(name: str) -> None:
    game = make_game(name)
    deals, answer = played(game, 3), hash_model(game, 0.2)
    judged = judged_by_model(deals, 10.0)
    tokens, decisions, number = deals.sequences.tokens, judged.decisions, 0
    for row in range(len(tokens)):
        for place in range(int(deals.lengths[row])):
            history = tokens[row, :place]
            legal = np.flatnonzero(game.view_legal(game.views(history[None], np.array([place])))[0])
            if len(legal) < 2:
                continue
            chances, value = answer(tuple(history.tolist()))
            values = np.array([10 * answer((*history.tolist(), int(a)))[1] for a in legal])
            likely = chances[legal] / chances[legal].sum() >= 0.1
            best = legal[
                np.where(likely if likely.any() else chances[legal] == chances[legal].max(), values, -9e9).argmax()
            ]
            assert (decisions.row[number], decisions.place[number]) == (row, place)
            assert decisions.best[number] == best and decisions.played[number] == tokens[row, place]
            np.testing.assert_allclose(decisions.values[number, legal], values, rtol=1e-5)
            lost = values[legal == best][0] - values[legal == tokens[row, place]][0]
            assert decisions.cost[number] == pytest.approx(max(lost, 0.0), abs=1e-5)
            assert judged.expected[row, place] == pytest.approx(10 * value, rel=1e-5)
            number += 1
    assert number == len(decisions.row) > 10


def test_no_card_that_the_seat_could_not_see_changes_anything() -> None:
    """Other deals in which one seat has seen the same up to a decision are judged alike there."""
    game = make_game("skat")
    deals = played(game, 6, "skat_rules")
    decisions = judged_by_model(deals).decisions
    some = np.flatnonzero(decisions.place > 20)[::7]
    tokens, rows = deals.sequences.tokens[decisions.row[some]], np.arange(len(some))
    views = game.views(tokens, decisions.place[some])
    others = game.determinize(views, derive_many(9, len(some)))[0]
    game.playout(others, derive_many(10, len(some)))
    changed = Sequences.of_deals(game, others, derive_many(9, len(some)), "others")
    again = RecordedDeals(game, changed, tuple(map(str, rows)))
    before = deals.sequences.tokens.reshape(6, -1)[decisions.row[some] // 3]
    assert (changed.tokens.reshape(len(some), -1) != before).any()
    judged = judged_by_model(again).decisions
    for number, decision in enumerate(some):
        same = (judged.row == 3 * number + decisions.row[decision] % 3) & (judged.place == decisions.place[decision])
        assert same.sum() == 1
        np.testing.assert_array_equal(judged.values[same][0], decisions.values[decision])
        assert judged.best[same][0] == decisions.best[decision]


# ---- hindsight


@pytest.fixture(scope="module")
def planted() -> tuple[RecordedDeals, int, int]:
    """Deals of perfect players with open hands but for one card, the first that turns a won game into a lost one: the
    history and the place of it."""
    game = make_game("skat")
    states = game.deal(derive_many(5, 1))
    (rules,) = make_players(["skat_rules"], game, SearchConfig())
    rules.start(game, 1)
    at, place = (-1, -1), np.zeros(1, np.int64)
    while (seat := int(game.to_move(states)[0])) >= 0:
        legal = np.flatnonzero(game.legal(states)[0])
        if states["public"]["phase"][0] == PLAY and len(legal) > 1:
            won = Solver().card_wins(states)[0][legal] == (states["public"]["soloist"][0] == seat)
            wrong = legal[~won]
            if at == (-1, -1) and won.any() and len(wrong):
                at = (seat, int(game.histories(states, np.array([seat]))[1][0]))
                action = wrong[0]
            else:
                action = legal[won.argmax()]
        else:
            action = rules.act(turns_at(game, states, place, np.array([seat]), derive_many(5, 1), 1))[0]
        game.play(states, np.array([action]))
    sequences = Sequences.of_deals(game, states, derive_many(5, 1), "planted")
    return RecordedDeals(game, sequences, ("planted",)), *at


def test_a_planted_blunder_is_the_costliest_in_hindsight_and_costs_the_result(planted) -> None:
    deals, seat, place = planted
    game, decisions = deals.game, judged_by_model(deals).decisions
    points = game.outcomes.points[:, 0].astype(np.float64)
    found = hindsight(deals, decisions, SUPPORT, points)
    assert found is not None
    lost = np.nanmax(np.where(np.isnan(found), -1e9, found), axis=1) - found[np.arange(len(found)), decisions.played]
    worst = int(np.nanargmax(lost))
    assert (decisions.row[worst], decisions.place[worst]) == (seat, place)
    assert np.count_nonzero(np.nan_to_num(lost) > 0) == 1
    state = states_at(game, deals.sequences.tokens[None], np.array([0]), np.array([seat]), np.array([place]))
    game.play(state, deals.sequences.tokens[seat, place : place + 1].astype(np.int64))
    assert found[worst, decisions.played[worst]] == game.points(play_perfectly(game, state))[0, seat]


def play_perfectly(game: Game, states: np.ndarray) -> np.ndarray:
    """The deal to its end: every card keeps what its side can win."""
    while (seat := int(game.to_move(states)[0])) >= 0:
        legal = np.flatnonzero(game.legal(states)[0])
        won = Solver().card_wins(states)[0][legal] == (states["public"]["soloist"][0] == seat)
        game.play(states, legal[won.argmax()][None])
    return states


def test_rebuilt_states_are_those_of_the_deals() -> None:
    deals = read_records(RECORDS)
    game, rows = deals.game, np.arange(len(deals.sequences))
    places = deals.lengths - 4
    views = game.views(deals.sequences.tokens, places)
    mine = game.view_legal(views).any(axis=1)
    tokens = deals.sequences.tokens.reshape(-1, 3, game.max_length)
    found = states_at(game, tokens, rows[mine] // 3, rows[mine] % 3, places[mine])
    np.testing.assert_array_equal(game.to_move(found), rows[mine] % 3)
    np.testing.assert_array_equal(game.legal(found), game.view_legal(views[mine]))
    np.testing.assert_array_equal(game.histories(found, rows[mine] % 3)[1], places[mine])
    assert mine.sum() > 3
    with pytest.raises(ValueError, match="deal 0: its histories are not those of one deal"):
        states_at(game, deals.sequences.tokens[[0, 4, 2]][None], np.zeros(1, int), np.array([1]), np.array([30]))


# ---- figures


def test_decisions_of_one_deal_count_as_one() -> None:
    values, group = np.random.default_rng(2).exponential(size=30), np.arange(30)
    mean, low, high = ratio_interval(values, group)
    again = ratio_interval(np.repeat(values, 5), np.repeat(group, 5))
    assert again == pytest.approx((mean, low, high))


def test_the_parts_of_a_course_add_up_and_records_that_break_off_have_no_result() -> None:
    deals = read_records(RECORDS)
    judged = judged_by_model(deals, 100.0)
    results = results_of(judged, deals.game.outcomes.utility(), 100.0)
    assert set(results) == set(np.flatnonzero(deals.complete))
    for row in range(len(deals.sequences)):
        mine = judged.decisions.row == row
        found = course(judged, row, results.get(row), float(judged.decisions.cost[mine].sum()))
        parts = [found.start, found.cards, found.before_play, found.play]
        if row in results and found.play is not None:
            assert sum(part for part in parts if part is not None) == pytest.approx(results[row])
    order = costliest_decisions(judged.decisions, 5)
    assert judged.decisions.cost[order[0]] == judged.decisions.cost.max()
    by_player = figures(judged)["player"]
    assert sum(one.decisions for one in by_player) == len(judged.decisions.row)


def test_of_no_decision_nothing_is_said() -> None:
    judged = judged_by_model(played(HeartsGame(), 1), rows=np.empty(0, np.int64))
    assert len(judged.decisions.row) == 0 and len(costliest_decisions(judged.decisions)) == 0
    assert figures(judged) == {"player": [], "phase": [], "seat": []}
    notes = deal_notes(judged, np.arange(4), None, {})
    assert [seat.decisions for seat in notes[0].seats] == [()] * 4


def test_the_kind_of_deal_is_not_called_cards() -> None:
    """In The Crew the mission comes before the cards: of two deals of it, with whatever cards, all begin alike."""
    game = make_game("crew", {"missions": "1,4,30"})
    deals, rows = played(game, 9, "crew_rules"), np.arange(36)
    judged = judged_by_model(deals)
    kinds = np.repeat(game.scenario(game.deal(deals.sequences.deal_seed[::4])), 4)
    courses = [course(judged, row, None, 0.0) for row in rows]
    starts = {kind: {courses[row].start for row in np.flatnonzero(kinds == kind)} for kind in set(kinds.tolist())}
    assert len(starts) == 3 and all(len(found) == 1 for found in starts.values())
    assert len({one.start for one in courses}) == len(starts), "what is known of each mission"
    assert len({one.cards for one in courses}) > 30
    assert all(place > mark for one, mark in zip(courses, judged.marks[:, 0], strict=True) for place, _ in one.curve)


Notes = tuple[DealNote, ...]


def notes_of(deals: RecordedDeals) -> Notes:
    return deal_notes(judged_by_model(deals), np.arange(len(deals.sequences)), None, {})


def perfect(deals: RecordedDeals, notes: Notes, most: int = 100, support: Support = SUPPORT) -> Notes:
    return with_perfect_play(deals, notes, support, deals.game.outcomes.points[:, 0].astype(np.float64), most)


@pytest.fixture(scope="module")
def records() -> tuple[RecordedDeals, Notes]:
    """Real records, reviewed."""
    deals = read_records(RECORDS)
    return deals, notes_of(deals)


def test_a_planted_blunder_is_the_one_card_that_changed_the_result_and_its_line_keeps_it(planted) -> None:
    deals, seat, place = planted
    (note,) = perfect(deals, notes_of(deals))
    blunder = deals.game.vocabulary.name(deals.sequences.tokens[seat, place])
    for one in note.seats:
        assert one.perfect is not None
        ((number, who, card),) = {(change.number, change.seat, change.card) for change in one.perfect.changes}
        assert (who, card) == (seat, blunder)
        assert one.perfect.start == (number if one.seat == seat else 0)
        assert one.seat != seat or (one.perfect.line[0] != blunder and len(one.perfect.line) == 30 - number)
        history, before = history_of(deals, one, SUPPORT)
        real = deals.sequences.tokens[one.row]
        np.testing.assert_array_equal(history[:before], real[:before])
        assert before == place if one.seat == seat else before <= place
        view = deals.game.views(history[None], np.array([len(history)]))
        assert deals.game.consistent(view)[0]
        assert deals.game.view_points(view)[0, 0] == pytest.approx(one.perfect.points)
    own = next(one.perfect for one in note.seats if one.seat == seat)
    assert own is not None and own.points * own.first > 0, "what was won before the card is won by its line"


def test_a_seat_gains_under_perfect_play_if_the_solver_says_that_its_side_wins(records) -> None:
    (deals, notes), found = records, 0
    for note in perfect(deals, notes):
        rows = np.array([seat.row for seat in note.seats])
        if note.seats[0].perfect is None:
            continue
        lead = marked(deals, rows)[:1, 2]  # forehand's, before the first card
        state = states_at(deals.game, deals.sequences.tokens[rows][None], np.array([0]), np.array([0]), lead)
        won, soloist = Solver().wins(state)[0], state["public"]["soloist"][0]
        for seat in note.seats:
            assert seat.perfect is not None and (seat.perfect.first > 0) == (won == (seat.seat == soloist))
            found += 1
    assert found > 6


def test_only_the_deals_in_which_the_most_was_lost_get_it_and_only_whole_ones(records) -> None:
    deals, notes = records
    with_it = [note.title for note in perfect(deals, notes, 1) if note.seats[0].perfect]
    assert with_it == [max(notes, key=lambda note: note.lost).title]
    assert perfect(deals, notes, 0) == notes
    every = deals.sequences
    columns = every.tokens, every.outcome, every.seat, every.player, every.deal_seed, every.game
    part = RecordedDeals(deals.game, Sequences(*(column[1:] for column in columns)), deals.titles)
    found = {note.title: note.seats[0].perfect for note in perfect(part, notes_of(part))}
    assert found[deals.titles[0]] is None and sum(one is not None for one in found.values()) > 2
    hearts = played(HeartsGame(), 1)
    notes = notes_of(hearts)
    assert perfect(hearts, notes, support=Support()) == notes, "a game without a solver has no line"


JUDGES = [
    ("crew", "argmax_val@kibitz:crew"),
    ("crew", "pimc:worlds=6:evaluator=playouts:confidence=1"),
]
LARGER_JUDGES = [
    ("hearts", "go_mcts:num_runs=4@kibitz:hearts"),
    ("crew", "argmax_val:threshold=0.2:policy_weight=0.5@kibitz:crew"),
    ("crew", "pimc:worlds=4:evaluator=playouts"),
    ("crew", "pimc:worlds=3:evaluator=playouts:blueprint=network:confidence=0.5:threshold=0.1@kibitz:crew"),
    ("skat", "pimc:worlds=3:evaluator=solver:confidence=0.5"),
    ("skat", "pimc:worlds=2:evaluator=solver:blueprint=network:threshold=0.05@kibitz:skat"),
]
"""Every kind that may judge, with each of the settings by which what it does is not what it values most."""
SLOW_JUDGES = [pytest.param(*one, marks=pytest.mark.slow) for one in LARGER_JUDGES]


def test_every_kind_that_may_judge_is_tried() -> None:
    tried = {name.split("@")[0].split(":")[0] for _, name in (*JUDGES, *LARGER_JUDGES)}
    assert tried == {"argmax_val", "go_mcts", *(kind.name for kind in kinds.every() if kind.values_actions)}


def some_turns(game: Game, deals: int) -> Turns:
    """A decision with a choice of every seat of some deals, anywhere in them."""
    found = played(game, deals, f"{game.name}_rules")
    choices = choice_places(game, found.sequences.tokens, found.lengths)
    drawn = np.where(choices, place_bits(7, *choices.shape), 0)
    rows = np.flatnonzero(choices.any(axis=1))
    seats, bits = found.sequences.seat[rows].astype(np.int64), derive_many(8, len(rows))
    return turns_before(game, found.sequences.tokens[rows], drawn[rows].argmax(axis=1), rows, seats, bits)


@pytest.mark.parametrize(("game", "name"), [*JUDGES, *SLOW_JUDGES])
def test_what_a_judge_calls_best_is_what_it_does(game: str, name: str) -> None:
    made, engines = make_game(game), Engines(make_game(game), EngineConfig())
    judge = load_judge(name, made, engines).judge
    (player,) = seat_players(resolve([name], made, SearchConfig()), [name], made, engines)
    turns = some_turns(made, 48 // made.num_players)
    for one in (judge, player):
        one.start(made, 48)
    assert len(turns.seeds) > 30
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


@pytest.mark.parametrize(("game", "name"), [JUDGES[1], *SLOW_JUDGES[1:]])
def test_the_review_of_a_player_by_itself_costs_nothing(game: str, name: str) -> None:
    made = make_game(game)
    deals = own_play(made, name, 2, 5)
    setup = load_judge(name, made)
    decisions = judge_deals(deals, np.arange(len(deals.sequences)), setup.judge, setup.scale, 5).decisions
    assert len(decisions.row) > 20 and decisions.agrees.all() and (decisions.cost == 0).all()


def test_a_player_of_ones_own_needs_its_actions_and_their_values_alone() -> None:
    game = make_game("hearts")
    judge, turns = ValuingJudge(Lowest()), some_turns(game, 5)
    judge.start(game, 20)
    opinion = judge.opinion(turns)
    np.testing.assert_array_equal(opinion.best, turns.legal.argmax(axis=1))
    np.testing.assert_array_equal(opinion.expected, opinion.best)


@pytest.mark.parametrize("player", ["pimc:worlds=2:runs=5:explore=0.1", "argmax_val:explore=0.1@kibitz:hearts"])
def test_a_player_that_explores_judges_nothing(player: str) -> None:
    with pytest.raises(ValueError, match="leave out explore"):
        load_judge(player, HeartsGame())
