"""The rule-based Skat player: what it does in clear-cut positions, its settings, and how strong it is."""

import numpy as np
import pytest

from games.compiled import blank
from games.conformance import check_no_leak
from games.rng import derive_many
from games.skat.cards import EOS, NULL, PASS, VOCABULARY, card_id
from games.skat.game import SkatGame
from games.skat.rules import template
from games.skat.state import STATE, deal_hands
from search.arena.tournament.tournament import run_tournament
from search.players.random_player import Exploring, RandomPlayer, choose_uniformly
from search.players.table import play_table
from search.scripted.skat.config import SkatRulesConfig
from search.scripted.skat.rules.declaring import takes_all
from search.scripted.skat.rules.null import danger
from search.scripted.skat.rules.player import SkatRules
from tests.search.turns import turns_in

FOREHAND = "CJ SJ HJ DJ CA CT C9 DA HA S7"
"""Grand with four and three aces."""
MIDDLEHAND = "C8 CQ CK D9 DK H9 HQ S8 S9 SQ"
"""Nothing: no jack, no ace, and high cards enough to spoil null."""
REARHAND = "C7 D7 D8 DT H7 H8 HK HT SK ST"


def cards(names: str) -> int:
    return sum(1 << card_id(name) for name in names.split())


def chosen(hands: list[str], doings: str, **settings: float) -> str:
    """What the player does in the seat to act after ``doings`` (names of tokens, what chance shows left out)."""
    game = SkatGame()
    states = blank(STATE, template(), EOS, 1)
    deal_hands(states[0], np.array([cards(hand) for hand in hands]))
    for name in doings.split():
        game.play(states, np.array([VOCABULARY.names.index(name)]))
    return VOCABULARY.name(decisions(SkatRules(SkatRulesConfig(**settings)), game, states)[0])


def decisions(player: SkatRules, game: SkatGame, states: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
    player.start(game, len(states))
    return player.act(turns_in(game, states, seeds))


# ---- clear-cut positions

DEFAULT = [FOREHAND, MIDDLEHAND, REARHAND]
WEAK = [MIDDLEHAND, FOREHAND, REARHAND]
WITHOUT_TWO = ["HJ CA CT CK C9 C8 SA H7 D7 D8", "S7 S8 SQ D9 DQ DK H8 H9 HQ C7", "CJ SJ DJ ST SK S9 DT DA HK HT"]
"""Clubs of forehand are worth 36."""
SPADES = ["CJ HJ SA ST SK SQ S8 HA D7 C8", "DJ S7 D8 D9 DQ H7 H8 H9 CQ CK", "SJ S9 DK DT DA HQ HK HT CA CT"]
"""Forehand has a long suit; the talon holds C7 C9."""
NO_TRICK = ["D7 D8 D9 H7 H8 H9 S7 S8 S9 C7", "DA DK DQ HA HK HQ SA SK SQ CA", "DT DJ HT HJ ST SJ CT CJ CK CQ"]
EVERY_TRICK = ["CJ SJ HJ DJ CA CT CK CQ SA ST", "C7 C8 C9 S7 S8 S9 SK SQ HA HT", "D7 D8 D9 DQ DK DT DA H7 H8 H9"]
SUIT_GAME = ["CJ HJ SA ST SK SQ S8 HA D7 C8", "DJ S7 D8 D9 DQ H7 H8 HQ CQ CA", "SJ S9 DK DT DA HK H9 HT CK CT"]
"""Forehand plays spades; the talon is C7 C9."""
STARTED = "pass pass 18 pickup C7 C9 spades"
PARTNER = ["CJ HJ SA ST SK SQ S8 HA D7 C8", "DJ S7 D8 D9 DQ DA H8 HQ CQ CK", "SJ S9 HK HT H7 H9 CT CA DK DT"]
RICH = ["CJ HJ SA ST SK SQ S8 HT H7 C8", "DJ S7 D8 D9 DQ DA HA HQ CQ CK", "SJ S9 HK H9 H8 CT CA DK DT D7"]
LEADS_HEARTS = ["DT DA D9 S7 S9 C7 C9 HK H9 HT", "CJ HJ SA ST SK SQ S8 HA H7 DQ", "DJ SJ D8 DK H8 HQ CQ CA CK CT"]
"""Middlehand plays spades."""
NULL_GAME = ["D7 D8 D9 H7 H8 H9 S7 S8 SQ C7", "DA DK DQ HA HK HQ SA SK S9 CA", "DT DJ HT HJ ST SJ CT CJ CK CQ"]
TURNED = [NULL_GAME[1], NULL_GAME[2], NULL_GAME[0]]
"""Rearhand is the soloist and plays last."""


@pytest.mark.parametrize(
    ("hands", "doings", "expected", "why"),
    [
        (DEFAULT, "", "pass", "a hand of nothing"),
        (DEFAULT, "48", "hold", "a hand of jacks and aces"),
        (WEAK, "", "18", "the lowest value"),
        (WITHOUT_TWO, "18", "hold", "not beyond what its game is worth"),
        (WITHOUT_TWO, "40", "pass", "beyond what its game is worth"),
        (DEFAULT, "pass pass", "18", "forehand alone plays a good hand"),
        (WEAK, "pass pass", "pass", "and throws a bad one in"),
        (NO_TRICK, "pass pass 18 hand", "null", "a hand without a weak suit"),
        (NO_TRICK, "pass pass 18 hand null", "ouvert", "is shown"),
        (EVERY_TRICK, "pass pass 18 hand clubs", "ouvert", "everything is announced where no card can be lost"),
        (SUIT_GAME, STARTED, "CJ HJ SA ST SK SQ S8", "the soloist draws trumps"),
        (SUIT_GAME, f"{STARTED} D7 DQ", "DT DA", "a defender smears; the points go home either way"),
        (SUIT_GAME, f"{STARTED} HA", "H7 H8 HQ", "not on a trick of the soloist"),
        (SUIT_GAME, f"{STARTED} HA H7", "H9", "not on a trick of the soloist, last either"),
        (PARTNER, f"{STARTED} C8 CK", "CA CT", "who cannot follow gives the partner its points"),
        (RICH, f"{STARTED} HT", "HA", "a defender takes a rich trick"),
        (LEADS_HEARTS, "18 pass pass pickup D7 C8 spades HT", "HA", "the soloist takes a ten with the ace"),
        (DEFAULT, "pass pass 18 pickup DQ S7 grand", "CA CT DA HA SA", "no other seat can have a jack"),
        (TURNED, "pass 18 pass hand null plain SK ST", "SQ", "in null the soloist goes below with its highest card"),
        (NULL_GAME, "pass pass 18 hand null plain SQ", "S9", "in null a defender leaves the soloist its trick"),
        (NULL_GAME, "pass pass 18 hand null plain SQ S9", "ST SJ", "and so does the other one"),
    ],
)
def test_what_it_does_in_clear_cut_positions(hands: list[str], doings: str, expected: str, why: str) -> None:
    assert chosen(hands, doings) in expected.split(), why


@pytest.mark.parametrize(
    ("hands", "away", "game"),
    [(DEFAULT, {"S7", "DQ", "C9", "CT"}, "grand"), (SPADES, {"D7", "C7", "C8", "C9"}, "spades")],
)
def test_neither_trumps_nor_aces_are_laid_aside_before_its_game(hands: list[str], away: set[str], game: str) -> None:
    start = "pass pass 18 pickup"
    first = chosen(hands, start)
    second = chosen(hands, f"{start} {first}")
    assert {first, second} < away
    assert chosen(hands, f"{start} {first} {second}") == game


@pytest.mark.parametrize(
    ("name", "hand"),
    [
        ("clubs", "CJ SJ HJ DJ CA CT CK CQ SA ST"),
        ("grand", "CJ SJ HA HT HK HQ H9 H8 DA DT"),
        ("spades", "CJ SJ HJ DJ SA ST HA HT DA CA"),
    ],
)
def test_what_is_announced_as_taking_all_does_so_against_anybody(name: str, hand: str) -> None:
    game = SkatGame()
    assert takes_all(np.int64(cards(hand)), VOCABULARY.names.index(name) - VOCABULARY.names.index("diamonds"))
    rest = np.array([card for card in range(32) if not cards(hand) >> card & 1])
    states = blank(STATE, template(), EOS, 60)
    for row, rng in enumerate(np.random.default_rng(4).spawn(60)):
        theirs = rng.permutation(rest)
        deal_hands(states[row], np.array([cards(hand), (1 << theirs[:10]).sum(), (1 << theirs[10:20]).sum()], np.int64))
    for doing in f"pass pass 18 hand {name} ouvert".split():
        game.play(states, np.full(60, VOCABULARY.names.index(doing)))
    step = 0
    while (over := game.to_move(states) < 0).sum() < 60:
        step += 1
        current = states[~over]
        anything = choose_uniformly(game.legal(current), derive_many(step, len(current)))
        mine = decisions(SkatRules(SkatRulesConfig()), game, current)
        game.play(current, np.where(game.to_move(current) == 0, mine, anything))
        states[~over] = current
    assert (states["public"]["tricks"][:, 0] == 10).all() and (game.points(states)[:, 0] > 0).all()


@pytest.mark.parametrize(
    ("hand", "expected"), [("D7 D9 DJ DK", 0), ("D7 D8 D9", 0), ("DA", 3), ("D7 DA", 3), ("D8", 1), ("", 0)]
)
def test_danger_of_a_suit_in_null(hand: str, expected: int) -> None:
    mine = np.int64(cards(hand))
    others = np.int64(cards("D7 D8 D9 DT DJ DQ DK DA") & ~int(mine))
    assert danger(mine, others, 0) == expected


# ---- whole deals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", ["seeger_fabian", "classic"])
@pytest.mark.parametrize("settings", [{}, {"aggression": 1.0, "noise": 1.0}, {"aggression": 0.0}])
def test_it_plays_whole_deals_and_always_alike(scoring: str, settings: dict[str, float]) -> None:
    game, seeds = SkatGame(scoring=scoring), derive_many(5, 150)
    seating = np.zeros((150, 3), np.int64)
    first = play_table(game, [SkatRules(SkatRulesConfig(**settings))], seating, seeds, secret=1)
    again = play_table(game, [SkatRules(SkatRulesConfig(**settings))], seating, seeds, secret=2)
    assert first.states.tobytes() == again.states.tobytes()


def test_it_goes_on_from_whatever_somebody_else_has_done() -> None:
    player = Exploring(SkatRules(SkatRulesConfig(aggression=0.8)), 0.3)
    result = play_table(SkatGame(), [player], np.zeros((400, 3), np.int64), derive_many(6, 400), secret=1)
    public = result.states["public"]
    assert set(public["game"]) == {-1, 0, 1, 2, 3, 4, NULL} and set(public["modifier"]) == {0, 1, 2, 3}


def test_what_it_cannot_see_changes_no_decision() -> None:
    player = SkatRules(SkatRulesConfig(noise=1.0))
    check_no_leak(
        SkatGame(), num_deals=1, seed=5, players=[lambda states, seeds: decisions(player, SkatGame(), states, seeds)]
    )


def calls(count: int, **settings: float) -> np.ndarray:
    """The first call of ``count`` deals."""
    game = SkatGame()
    return decisions(SkatRules(SkatRulesConfig(**settings)), game, game.deal(derive_many(9, count)))


def test_who_is_bolder_bids_more_often_and_the_noisier_the_more_bids_differ_in_either_direction() -> None:
    shares = [(calls(2000, aggression=aggression) != PASS).mean() for aggression in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert shares == sorted(shares)
    assert shares[0] < 0.15 < 0.3 < shares[2] < 0.7 < 0.85 < shares[4]
    plain = calls(2000) != PASS
    noisy = [calls(2000, noise=noise) != PASS for noise in (0.3, 1.0, 3.0)]
    changed = [(plain != bids).mean() for bids in noisy]
    assert changed == sorted(changed) and changed[0] > 0.02
    assert all((plain & ~bids).any() and (bids & ~plain).any() for bids in noisy)


def test_noise_is_the_same_through_a_deal_and_follows_from_the_cards_dealt() -> None:
    game, player = SkatGame(), SkatRules(SkatRulesConfig(noise=2.0))
    states = game.deal(derive_many(3, 300))
    first = decisions(player, game, states)
    np.testing.assert_array_equal(first, decisions(player, game, states, derive_many(2, 300)))
    bidders = first != PASS
    game.play(states, first)
    game.play(states, np.where(bidders, PASS + 1, first))  # forehand holds
    higher = decisions(player, game, states[bidders])
    assert (higher != PASS).mean() > 0.5  # with a noise of its own each call would drop out soon


def test_it_beats_random_players_by_more_than_150_points_a_deal() -> None:
    result = run_tournament(SkatGame(), [SkatRules(SkatRulesConfig()), RandomPlayer()], deals=40, seed=2)
    everything = result.columns[0].comparisons[0]
    assert everything.low is not None and everything.low > 150.0
