"""The scripted players of Hearts, also those of paper 002: clear-cut positions, what they see, how strong they are."""

from itertools import pairwise

import numpy as np
import pytest

from games.hearts.cards import ALL_CARDS, VOCABULARY, card_id
from games.hearts.game import HeartsGame
from games.hearts.state import deal_hands
from games.rng import derive_many
from search.arena.tournament.tournament import run_tournament
from search.config import SearchConfig
from search.players.player import Player
from search.players.table import play_table
from search.roster.registry import make_players
from search.scripted.hearts.complex import HeartsComplex
from search.scripted.hearts.config import HeartsComplexConfig
from search.scripted.hearts.rules import HeartsRules
from search.scripted.hearts.simple import HeartsSimple
from tests.learner.material import NO_PASS
from tests.search.turns import turns_at, turns_in

HAND = "3C 5C 7C 9C 2H 3H 4H 2S 3S 4S 5S QS KS"
"""No diamonds."""
RULES, SIMPLE, HONEST = HeartsRules(), HeartsSimple(), HeartsComplex(HeartsComplexConfig())
CHEAT = HeartsComplex(HeartsComplexConfig(cheat=True))


def chosen(player: Player, history: list[str], options: dict[str, bool] | None = None) -> str:
    """What a player that does not cheat does after a history of token names."""
    game = HeartsGame(**(options or {}))
    player.start(game, 1)
    turns = turns_at(game, [tuple(VOCABULARY.names.index(name) for name in history)], derive_many(0, 1))
    return VOCABULARY.name(player.act(turns)[0])


def after(hand: str, leader: str, plays: str) -> list[str]:
    """The history of a hand without passing."""
    return ["hold", *hand.split(), leader, *plays.split()]


def at_table(player: Player, hands: tuple[str, str, str], leader: int, plays: str) -> str:
    """What a player does in a whole deal of the paper's variant: hands of seats 0 to 2, seat 3 has the rest."""
    game = HeartsGame(**NO_PASS)
    held = [sum(1 << card_id(name) for name in hand.split()) for hand in hands]
    state = np.zeros(1, game.state_type)
    state["public"] = game.template
    state["tokens"] = game.vocabulary.eos
    deal_hands(state[0], 0, np.array([*held, ALL_CARDS & ~sum(held)], np.int64), leader)
    for name in plays.split():
        game.play(state, np.array([card_id(name)]))
    player.start(game, 1)
    return VOCABULARY.name(player.act(turns_in(game, state))[0])


# ---- positions

KING = "3C 5C 7C 9C 2H 3H KH 2S 3S 4S 5S 6S 7S"
QUEEN_ALONE = "3C 5C 7C 9C 2H 3H 4H 2S 3S 4S 5S 6S QS"
HIGH_SPADES = "3C 5C 7C 9C 2H 3H 4H 2S 3S 4S 5S KS AS"
HARMLESS = "7C 9C KC 2H 3H 4H 2S 3S 4S 5S 6S QS KS"
DISCARD = "2C 9C TC JC AD 3D"
MOON = "3C 5C 7C 9C 3H 6H JH 2S 3S 4S 5S 7S 8S"
TAKEN = "AH 2H 6H 4H QS TS 2S 6S 4C 6C 3C AC"
"""Across has won four hearts and the queen; left leads."""
POINTS = after("3C 5C 7C KC 2H 5H 9H AH 3S 4S 5S 6S 7S", "left", "2C 4C 6C KC 3S 2S 8S JS TH")
"""Takes the first trick; right wins the second and leads a heart."""
ALONE, GUARDED = "2C 3C 4C 5C 2D 3D 4D 5D 2H 3H 4H QS KS", "2C 3C 4C AC 2D 3D 4D 5D 2S 3S 4S 5S QS"
PASSING = ["pass left", *["2C", "3C", "4C", "AC", "2D", "3D", "4D", "KD", "2H", "3H", "4H", "QS", "AS"]]


@pytest.mark.parametrize("player", [RULES, HONEST], ids=["rules", "complex"])
@pytest.mark.parametrize(
    ("history", "options", "expected", "why"),
    [
        (after(HAND, "right", DISCARD), {}, "QS", "the queen goes on somebody else's trick"),
        (after(KING, "right", DISCARD), {}, "KH", "without her the highest heart does"),
        (after(QUEEN_ALONE, "right", "2C 9C TC JC KS 7S"), {}, "QS", "she goes under the king"),
        (after(QUEEN_ALONE, "right", "2C 9C TC JC JS 7S"), {}, "2S", "she does not go over the jack"),
        (after(HIGH_SPADES, "right", "2C 9C TC JC 8S 7S"), {}, "5S", "high spades stay while she may fall on them"),
        (after(HARMLESS, "left", "2C 4C 6C"), {}, "KC", "the last takes a harmless trick with its highest card"),
        (POINTS, {"must_break_hearts": False}, "9H", "a trick with points is ducked with the highest card that loses"),
        (["pass left", *GUARDED.split()], {}, "AC", "a guarded queen is kept"),
    ],
)
def test_the_rules_and_the_complex_one_look_at_the_table(player, history, options, expected, why) -> None:
    assert chosen(player, history, options) == expected, why
    assert chosen(player, ["pass left", *ALONE.split()]) in ("QS", "KS"), "alone, high spades are passed"


@pytest.mark.parametrize(
    ("player", "history", "options", "expected"),
    [
        (SIMPLE, after(HAND, "left", "2C 4C 8C"), {}, "7C"),  # ducks with the highest card that loses
        (SIMPLE, after(HARMLESS, "left", "2C 4C 6C"), {}, "7C"),  # is low even if the trick is harmless
        (SIMPLE, after(HAND, "right", DISCARD), {}, "QS"),  # throws the queen, then hearts, then high cards
        (SIMPLE, after("3C 5C 7C 9C 2H 3H KH 2S 3S 4S 5S 6S AS", "right", DISCARD), {}, "KH"),
        (SIMPLE, after("3C 4C 5C 6C 7C 8C 9C AC 2S 3S 4S 5S 6S", "right", DISCARD), {}, "AC"),
        (SIMPLE, after(HAND, "self", ""), NO_PASS, "2S"),  # leads its lowest card, rather not a heart
        (SIMPLE, after("3C 5C 7C 9C 2H 3H 4H 4S 5S 6S 7S QS KS", "self", ""), NO_PASS, "2H"),
        (SIMPLE, after(HAND, "right", "2C 9C TC JC AS 7S"), {}, "KS"),
        (SIMPLE, after(HAND, "right", "2C 9C TC JC JS 7S"), {}, "5S"),
        (SIMPLE, PASSING, {}, "QS"),  # passes the queen first and then its highest cards
        (SIMPLE, [*PASSING, "QS"], {}, "AS"),
        (SIMPLE, [*PASSING, "QS", "AS"], {}, "AC"),
        # Across has taken four hearts, then the queen too, or right has; left has led hearts, and the player is last.
        (HONEST, after(MOON, "across", "AH 2H 6H 4H QS TS 2S 6S 4C 6C 3C AC 5H 8H 7H"), NO_PASS, "JH"),
        (HONEST, after(MOON, "across", "AH 2H 6H 4H QS KS 2S 6S 4C 3C AC 6C 5H 8H 7H"), NO_PASS, "3H"),
        # The rules of thumb too: they win the heart, spoil a moon by a heart on left's trick, and give across none.
        (RULES, after(MOON, "across", f"{TAKEN} 5H 8H 7H"), NO_PASS, "JH"),
        (RULES, after(MOON, "across", f"{TAKEN} KD TD 2D"), NO_PASS, "3H"),
        (RULES, after(MOON, "across", f"{TAKEN} 2D KD 3D"), NO_PASS, "3S"),
    ],
)
def test_the_greedy_one_takes_no_trick_and_the_others_stop_a_moon(player, history, options, expected) -> None:
    assert chosen(player, history, options) == expected


def test_the_complex_one_leads_low_spades_to_draw_the_queen_unless_it_would_take_her() -> None:
    low = "4C 8C TC 5D 9D JD 6H 8H 9H 4S 7S 9S TS"
    assert chosen(HONEST, after(low, "self", ""), NO_PASS)[1] == "S"
    high = "4C 8C TC 5D 9D JD 6H 8H 9H 4S 7S 9S KS"
    assert chosen(HONEST, after(high, "self", ""), NO_PASS) != "KS"


# ---- the one that cheats: positions that look alike to the player, who is seat 0


def swapped(hands: tuple[str, str, str], card: str, other: str) -> tuple[str, str, str]:
    """The hands with two cards exchanged, one of which may be in seat 3's hand."""
    exchange = {card: other, other: card}
    first, second, third = (" ".join(exchange.get(held, held) for held in hand.split()) for hand in hands)
    return first, second, third


SPADES = (
    "2C 3C 4C 5C 6C 7C 8C 9C 8H 9H 2S 3S KS",
    "2D 3D 4D 5D 6D 7D 2H 3H 4H 5S 6S JS AS",
    "8D 9D TD JD QD KD 5H 6H 7H 7S 8S 9S QS",
)
DIAMONDS = (
    "2C 5C 7C 9C 3D 9D AD 4H 7H 9H 2S 4S 6S",
    "3C 4C 6C 8C TC JC QC 5H 6H 8H 8S QS KS",
    "AC 4D 5D 6D 7D 8D 2H 3H TH 3S 5S 7S 9S",
)
HEARTS = (
    "2C 4C 6C 8C 3D 5D 7D 9D 7H JH 2S 4S 6S",
    "3C 5C 7C 9C TC JC 2D 4D 6D 8D QH KH 5S",
    "QC KC AC TD JD QD KD 3H 4H 5H 6H 3S 7S",
)
QUEEN = (
    "2C 3C 4C 5C 6C 7C 8C 9C 8H 9H 2S 3S QS",
    "2D 3D 4D 5D 6D 7D 2H 3H 4H 5H 6H 7H AS",
    "8D 9D TD JD QD KD TH JH QH 5S 6S 7S 8S",
)


@pytest.mark.parametrize(
    ("hands", "exchange", "leader", "plays", "before", "after_it"),
    [
        # Left is last to a trick of spades: across has the queen, so the king is safe; left has her, so it is not.
        (SPADES, ("QS", "JS"), 2, "9S TS", "KS", "3S"),
        # Left has no diamonds and the queen: stay low. Across has her and must follow suit: the ace is cheap.
        (DIAMONDS, ("QS", "9S"), 3, "2D", "3D", "AD"),
        # Left is last, without diamonds, and throws the queen on the ace; with a diamond it must follow.
        (DIAMONDS, ("TC", "4D"), 2, "8D TD", "9D", "AD"),
        # Left has nothing but the ace of spades and must put it over the queen; with the seven it would not.
        (QUEEN, ("2D", "7S"), 3, "4S", "QS", "2S"),
        # Left's hearts are all higher, so the jack loses; with the five left would go below it.
        (HEARTS, ("QH", "5H"), 2, "6H 8H", "JH", "7H"),
        # The same with the ten in place of the ace, which goes below the queen.
        (QUEEN, ("AS", "TS"), 3, "4S", "QS", "2S"),
    ],
)
def test_the_cheating_one_knows_who_can_do_what(hands, exchange, leader, plays, before, after_it) -> None:
    other = swapped(hands, *exchange)
    assert at_table(CHEAT, hands, leader, plays) == before
    assert at_table(CHEAT, other, leader, plays) == after_it
    assert at_table(HONEST, hands, leader, plays) == at_table(HONEST, other, leader, plays)


# ---- all of them


@pytest.mark.parametrize(
    "options",
    [
        {},
        NO_PASS,
        {"can_lead_any_club": True, "must_break_hearts": False, "jd_bonus": True},
        {"qs_breaks_hearts": False, "can_lead_hearts_instead_of_qs": True, "avoid_all_tricks_bonus": True},
    ],
)
def test_they_play_whole_deals_under_every_rule_option_and_always_alike(options: dict[str, bool]) -> None:
    game, seeds = HeartsGame(**options), derive_many(5, 40)
    seating = np.tile([[0, 1, 2, 3], [2, 0, 3, 1]], (20, 1))
    first, again = (play_table(game, [SIMPLE, HONEST, CHEAT, RULES], seating, seeds, secret=1) for _ in range(2))
    assert first.states.tobytes() == again.states.tobytes()


@pytest.mark.parametrize("options", [{}, NO_PASS])
def test_random_simple_complex_and_cheating_are_in_this_order(options: dict[str, bool]) -> None:
    """Every step is clear over 200 deals of pairs."""
    game = HeartsGame(**options)
    names = ["random", "hearts_simple", "hearts_complex", "hearts_complex:cheat=true"]
    for weaker, stronger in pairwise(names):
        players = make_players([stronger, weaker], game, SearchConfig())
        pair = run_tournament(game, players, deals=200, seed=3, seating="pairs").columns[0].comparisons[0]
        assert pair.high is not None and pair.high < -0.3
