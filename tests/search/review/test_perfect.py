"""Perfect play with all cards open in reviews: what it comes to, which cards changed that, and how it goes on."""

import json
from pathlib import Path

import numpy as np
import pytest

from games.hearts.game import HeartsGame
from games.recorded_deals import RecordedDeals
from games.shards import Sequences
from games.skat.replay import states_at
from search.apps.review.__main__ import main
from search.apps.review.decisions import judge_deals, marked
from search.apps.review.perfect import history_of, with_perfect_play
from search.apps.review.report import DealNote, deal_notes
from search.arena.judges import NetworkJudge
from search.players.support import Support
from search.scripted.skat.records.sequences import read_records
from search.scripted.skat.solver.solve import Solver
from search.scripted.skat.support import SUPPORT
from tests.search.models import FunctionModel, hash_model
from tests.search.review.test_decisions import CONFIG, RECORDS, played, with_a_blunder

Reviewed = tuple[RecordedDeals, tuple[DealNote, ...]]


def notes_of(deals: RecordedDeals) -> tuple[DealNote, ...]:
    rows, judge = np.arange(len(deals.sequences)), NetworkJudge(FunctionModel(hash_model(deals.game, 0.2)), CONFIG)
    return deal_notes(judge_deals(deals, rows, judge, 1.0, 1), rows, None, {})


def perfect(
    deals: RecordedDeals, notes: tuple[DealNote, ...], most: int = 100, support: Support = SUPPORT
) -> tuple[DealNote, ...]:
    return with_perfect_play(deals, notes, support, deals.game.outcomes.points[:, 0].astype(np.float64), most)


@pytest.fixture(scope="module")
def records() -> Reviewed:
    """Real records, reviewed."""
    deals = read_records(RECORDS)
    return deals, notes_of(deals)


def test_a_planted_blunder_is_the_one_card_that_changed_the_result_and_its_line_keeps_it() -> None:
    deals, seat, place = with_a_blunder()
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


def test_a_seat_gains_under_perfect_play_if_the_solver_says_that_its_side_wins(records: Reviewed) -> None:
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


def test_only_the_deals_in_which_the_most_was_lost_get_it_and_only_whole_ones(records: Reviewed) -> None:
    deals, notes = records
    with_it = [note.title for note in perfect(deals, notes, 1) if note.seats[0].perfect]
    assert with_it == [max(notes, key=lambda note: note.lost).title]
    assert perfect(deals, notes, 0) == notes
    every = deals.sequences
    columns = every.tokens, every.outcome, every.seat, every.player, every.deal_seed, every.game
    part = RecordedDeals(deals.game, Sequences(*(column[1:] for column in columns)), deals.titles)
    found = {note.title: note.seats[0].perfect for note in perfect(part, notes_of(part))}
    assert found[deals.titles[0]] is None and sum(one is not None for one in found.values()) > 2


def test_a_game_without_a_solver_has_no_line() -> None:
    hearts = played(HeartsGame(), 1)
    notes = notes_of(hearts)
    assert perfect(hearts, notes, support=Support()) == notes


def test_the_command_puts_it_into_json_page_and_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(RECORDS), "--out", str(tmp_path), "--pages", "2", "--seat", "1"]) == 0
    deals = json.loads((tmp_path / "review.json").read_text())["deals"]
    told = [deal for deal in deals if deal["seats"][0]["perfect"]]
    assert 1 <= len(told) <= 2 < len(deals)
    assert capsys.readouterr().out.count("; all cards open: ") == len(told)
    page = (tmp_path / "review.html").read_text().partition("<script")[0]
    assert page.count("under perfect play from the first card on") == len(told)
    assert page.count('class="tricks"') == len(told) and page.count("all would play") == len(told)
