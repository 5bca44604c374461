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
from search.players.player import Turns
from search.players.random_player import Exploring, RandomPlayer, choose_uniformly
from search.players.table import play_table
from search.scripted.skat.config import SkatRulesConfig
from search.scripted.skat.rules.declaring import takes_all
from search.scripted.skat.rules.null import danger
from search.scripted.skat.rules.player import SkatRules

FOREHAND = "CJ SJ HJ DJ CA CT C9 DA HA S7"
"""Grand with four and three aces."""
MIDDLEHAND = "C8 CQ CK D9 DK H9 HQ S8 S9 SQ"
"""Nothing: no jack, no ace, and high cards enough to spoil null."""
REARHAND = "C7 D7 D8 DT H7 H8 HK HT SK ST"
TALON = "DQ SA"


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
    seats = game.to_move(states).astype(np.int64)
    tokens, lengths = game.histories(states, seats)
    seeds = derive_many(1, len(states)) if seeds is None else seeds
    player.start(game, len(states))
    return player.act(Turns(np.arange(len(states)), seats, tokens, lengths, game.legal(states), seeds))


# ---- bids and declarations -----------------------------------------------------------------------------------------


def test_a_hand_of_nothing_passes_and_a_hand_of_jacks_and_aces_holds() -> None:
    assert chosen([FOREHAND, MIDDLEHAND, REARHAND], "") == "pass"
    assert chosen([FOREHAND, MIDDLEHAND, REARHAND], "48") == "hold"
    assert chosen([MIDDLEHAND, FOREHAND, REARHAND], "") == "18"


def test_it_bids_the_lowest_value_and_not_beyond_what_its_game_is_worth() -> None:
    hands = ["HJ CA CT CK C9 C8 SA H7 D7 D8", MIDDLEHAND.replace("C8", "CQ"), ""]
    hands[1] = "S7 S8 SQ D9 DQ DK H8 H9 HQ C7"
    hands[2] = "CJ SJ DJ ST SK S9 DT DA HK HT"
    assert chosen(hands, "18") == "hold"  # clubs without two is worth 36
    assert chosen(hands, "40") == "pass"
    assert chosen(hands, "264") == "pass"


def test_forehand_alone_plays_a_good_hand_and_throws_a_bad_one_in() -> None:
    assert chosen([FOREHAND, MIDDLEHAND, REARHAND], "pass pass") == "18"
    assert chosen([MIDDLEHAND, FOREHAND, REARHAND], "pass pass") == "pass"


def test_grand_is_declared_with_four_jacks_and_aces_which_are_not_laid_aside() -> None:
    hands = [FOREHAND, MIDDLEHAND, REARHAND]
    start = "pass pass 18 pickup"
    first = chosen(hands, start)
    second = chosen(hands, f"{start} {first}")
    assert {first, second} < {"S7", "DQ", "C9", "CT"}
    assert chosen(hands, f"{start} {first} {second}") == "grand"


def test_a_long_suit_is_trump_and_neither_trumps_nor_aces_are_laid_aside() -> None:
    hands = ["CJ HJ SA ST SK SQ S8 HA D7 C8", "DJ S7 D8 D9 DQ H7 H8 H9 CQ CK", "SJ S9 DK DT DA HQ HK HT CA CT"]
    start = "pass pass 18 pickup"  # the talon holds C7 C9
    first = chosen(hands, start)
    second = chosen(hands, f"{start} {first}")
    assert {first, second} < {"D7", "C7", "C8", "C9"}
    assert chosen(hands, f"{start} {first} {second}") == "spades"


def test_a_hand_without_a_weak_suit_plays_null_and_shows_it() -> None:
    hands = ["D7 D8 D9 H7 H8 H9 S7 S8 S9 C7", "DA DK DQ HA HK HQ SA SK SQ CA", "DT DJ HT HJ ST SJ CT CJ CK CQ"]
    assert chosen(hands, "18 hold pass") == "20" or chosen(hands, "18") == "hold"
    assert chosen(hands, "pass pass 18 hand") == "null"
    assert chosen(hands, "pass pass 18 hand null") == "ouvert"


def test_everything_is_announced_where_no_card_can_be_lost() -> None:
    hand = "CJ SJ HJ DJ CA CT CK CQ SA ST"
    assert takes_all(np.int64(cards(hand)), 3)
    assert not takes_all(np.int64(cards(hand.replace("ST", "S7"))), 3)
    assert not takes_all(np.int64(cards(hand.replace("SJ", "HA"))), 3)
    others = ["C7 C8 C9 S7 S8 S9 SK SQ HA HT", "D7 D8 D9 DQ DK DT DA H7 H8 H9"]
    assert chosen([hand, *others], "pass pass 18 hand clubs") == "ouvert"


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


# ---- card play -----------------------------------------------------------------------------------------------------

SUIT_GAME = ["CJ HJ SA ST SK SQ S8 HA D7 C8", "DJ S7 D8 D9 DQ H7 H8 HQ CQ CA", "SJ S9 DK DT DA HK H9 HT CK CT"]
"""Forehand plays spades; the talon is C7 C9."""
STARTED = "pass pass 18 pickup C7 C9 spades"


def test_the_soloist_draws_trumps() -> None:
    assert chosen(SUIT_GAME, STARTED) in ["CJ", "HJ", "SA", "ST", "SK", "SQ", "S8"]


def test_a_defender_smears_on_its_partners_trick_and_not_on_the_soloists() -> None:
    assert chosen(SUIT_GAME, f"{STARTED} D7 DQ") in ("DT", "DA")  # the ten also wins; the points go home either way
    lost = chosen(SUIT_GAME, f"{STARTED} HA")
    assert lost in ("H7", "H8", "HQ")
    assert chosen(SUIT_GAME, f"{STARTED} HA H7") == "H9"


def test_a_defender_who_cannot_follow_gives_the_partner_its_points() -> None:
    hands = ["CJ HJ SA ST SK SQ S8 HA D7 C8", "DJ S7 D8 D9 DQ DA H8 HQ CQ CK", "SJ S9 HK HT H7 H9 CT CA DK DT"]
    assert chosen(hands, f"{STARTED} C8 CK") in ("CA", "CT")


def test_a_defender_takes_a_rich_trick_from_the_soloist() -> None:
    hands = ["CJ HJ SA ST SK SQ S8 HT H7 C8", "DJ S7 D8 D9 DQ DA HA HQ CQ CK", "SJ S9 HK H9 H8 CT CA DK DT D7"]
    assert chosen(hands, f"{STARTED} HT") == "HA"


def test_the_soloist_takes_a_ten_with_the_ace() -> None:
    hands = ["DT DA D9 S7 S9 C7 C9 HK H9 HT", "CJ HJ SA ST SK SQ S8 HA H7 DQ", "DJ SJ D8 DK H8 HQ CQ CA CK CT"]
    # middlehand plays spades; forehand leads hearts
    assert chosen(hands, "18 pass pass pickup D7 C8 spades HT") == "HA"


def test_the_last_trump_is_kept_when_nobody_else_has_one() -> None:
    hands = ["CJ SJ HJ DJ CA CT C9 DA HA S7", MIDDLEHAND, REARHAND]
    aces = ["CA", "CT", "DA", "HA", "SA"]
    assert chosen(hands, "pass pass 18 pickup DQ S7 grand") in aces  # no other seat can have a jack


def test_in_null_the_soloist_goes_below_with_its_highest_card() -> None:
    hands = ["D7 D8 D9 H7 H8 H9 S7 S8 SQ C7", "DA DK DQ HA HK HQ SA SK S9 CA", "DT DJ HT HJ ST SJ CT CJ CK CQ"]
    # rearhand, the soloist of a null that is shifted by one seat, plays last
    turned = [hands[1], hands[2], hands[0]]
    assert chosen(turned, "pass 18 pass hand null plain SK ST") == "SQ"


def test_in_null_a_defender_leaves_the_soloist_its_trick() -> None:
    hands = ["D7 D8 D9 H7 H8 H9 S7 S8 SQ C7", "DA DK DQ HA HK HQ SA SK S9 CA", "DT DJ HT HJ ST SJ CT CJ CK CQ"]
    assert chosen(hands, "pass pass 18 hand null plain SQ") == "S9"
    assert chosen(hands, "pass pass 18 hand null plain SQ S9") in ("ST", "SJ")


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


def test_who_is_bolder_bids_more_often() -> None:
    shares = [(calls(2000, aggression=aggression) != PASS).mean() for aggression in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert shares == sorted(shares)
    assert shares[0] < 0.15 < 0.3 < shares[2] < 0.7 < 0.85 < shares[4]


def test_the_noisier_the_more_bids_differ_in_either_direction() -> None:
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
