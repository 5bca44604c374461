"""The game of docs/own_game.md keeps every law, and conformance finds what is wrong with one that is nearly it."""

from functools import partial
from types import ModuleType

import numpy as np
import pytest

from games import conformance
from games.conformance.plain import plain
from games.game import Next
from games.outcomes import OutcomeTable
from tests.games import own_game


@pytest.fixture(scope="module")
def own() -> ModuleType:
    return own_game.module()


@pytest.mark.parametrize("trump", [False, True])
@pytest.mark.parametrize("law", [*conformance.LAWS, conformance.check_no_leak])
def test_the_game_of_the_page_keeps_the_law(own: ModuleType, law, trump: bool) -> None:
    law(own.ToyTricks(trump=trump), num_deals=20, seed=1)


def test_trumps_win_and_are_an_option(own: ModuleType) -> None:
    winners = []
    for trump in (False, True):
        public = np.zeros(1, own.PUBLIC)[0]
        public["trump"] = trump
        for card in (7, 8, 9, 3):  # the highest of suit A, then two of suit B
            own.play_card(public, card)
        winners.append(int(np.argmax(public["tricks"])))
    assert winners == [0, 2]
    with pytest.raises(ValueError, match="toy_tricks option trump=1: choose one of false, true"):
        own.ToyTricks(trump=1)


HANDS = "hands_as_dealt(view, HAND_SIZE, seed)\n"
STATE = "state_type(PUBLIC, SEATS, MAX_LENGTH)\n"
OF_INT32 = """np.dtype([("public", PUBLIC), ("hands", np.int32, SEATS), ("lengths", np.int64, SEATS)]
    + [("tokens", np.uint8, (SEATS, MAX_LENGTH))])
"""
CHANGED = {
    "a hand that determinize leaves short": (HANDS, HANDS + "    hands[3] = view['public']['shown'][3]\n",
        r"a world of determinize, \d+ actions on: seat \d has none, as if a card lacked"),
    "cards that determinize deals twice": (HANDS, HANDS + "    hands[3] = hands[0]\n",
        r"a world of determinize, played to its end: seat \d (saw what cannot have happened|has another outcome)"),
    "a hand that determinize makes too long": (HANDS, HANDS + "    hands[1] |= hands[2]\n",
        r"own_game_\w+.py, line \d+, in act: index 22 is out of bounds"),
    "sets of int32": (STATE, OF_INT32,
        "set of cards that is int32; sets are"),
    "sets of uint64": ("0xFF << SUIT_SIZE])", "0xFF << SUIT_SIZE], np.uint64)",
        r"own_game_\w+.py, line \d+, in legal_plays: .*; sets are int64, and uint64 does not mix with it"),
    "histories one short": ("+ 1 + NUM_CARDS + 1", "+ 1 + NUM_CARDS",
        r"own_game_\w+.py, line \d+, in act: index 21 is out of bounds for axis 1 with size 21"),
    "an index out of bounds": ("view_type(PUBLIC, SEATS, MAX_LENGTH)", "view_type(PUBLIC, SEATS, 9)",
        r"batches.py, line \d+, in advance: index 9 is out of bounds for axis 0 with size 9"),
    "an exception of a kernel": ("    return hands_fit(",
        '    raise ValueError("no cards")\n    return hands_fit(',
        r"own_game_\w+.py, line \d+, in is_consistent: no cards"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "said"), CHANGED.values(), ids=CHANGED.keys())
def test_what_would_crash_compiled_is_found_without_the_compiler(before: str, after: str, said: str) -> None:
    changed = own_game.module(before, after)
    with pytest.raises(AssertionError, match=said):
        conformance.check_game(changed.ToyTricks(), num_deals=4)
    assert not changed.deal.signatures, "nothing was compiled"


def test_worlds_are_played_on_to_their_end_by_the_law_about_leaks_too() -> None:
    short = own_game.module(HANDS, HANDS + "    hands[3] = view['public']['shown'][3]  \n")
    with pytest.raises(AssertionError, match="as if a card lacked"):
        conformance.check_no_leak(plain(short.ToyTricks()), 1, 1)


def lacking(name: str):
    def change(game) -> None:
        kind = type(game)
        game.__class__ = type(kind.__name__, kind.__mro__[1:2], {k: v for k, v in vars(kind).items() if k != name})

    return change


def set_to(**values):
    return lambda game: vars(game).update(values)


POINTS = np.array([[4, 0, 0, 0], [0, 4, 0, 0], [0, 0, 4, 0]], np.float32)
NEARLY = {
    "no rules_version": (lacking("rules_version"), r"the game has no rules_version; shards and checkpoints carry it"),
    "a rules_version of text": (set_to(rules_version="1"), r"rules_version is '1' \(str\); it must be of type int"),
    "an option that is no JSON": (set_to(options={"trump": np.bool_(True)}),
        r"option 'trump' is np.True_ \(numpy.bool\); files hold bool, int and str of Python"),
    "a name of Kibitz's own": (set_to(name="hearts"), "'hearts' is a game of Kibitz's own; choose another name"),
    "a name of OpenSpiel's": (set_to(name="openspiel:go"), "'openspiel:go' is a game of Kibitz's own"),
    "a table that lacks a label from one seat": (set_to(outcomes=OutcomeTable(POINTS, {"tricks": POINTS[:, 0]})),
        r"the outcome table has points \[4.0, 0.0, 0.0, 0.0\], and not the same from the next seat, \(0.0, 0.0"),
    "a max_length one short": (set_to(max_length=21), "a history of 22 tokens, and max_length is 21"),
    "an outcome of float32": (
        lambda game: vars(game).update(outcome=lambda states: type(game).outcome(game, states).astype(np.float32)),
        r"outcome at a fresh deal is float32\[4, 4\], not int32\[4, 4\]"),
    "a describe that wants five tokens": (set_to(describe=lambda tokens: f"first {tokens[5]}"),
        r"describe of the first 0 tokens of seat 0: IndexError"),
    "a describe that gives no text": (set_to(describe=lambda tokens: None), "describe gives a NoneType, no text"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "said"), NEARLY.values(), ids=NEARLY.keys())
def test_what_files_and_pages_would_stumble_over_is_found(own: ModuleType, change, said: str) -> None:
    game = own.ToyTricks()
    change(game)
    with pytest.raises(AssertionError, match=said):
        conformance.check_game(game, num_deals=4)


def neighbours_card(game, states, seats):
    """Histories with a card of the next seat's instead of the last one that is dealt."""
    (tokens, lengths), seats = type(game).histories(game, states, seats), np.asarray(seats)
    tokens[:, 3] = type(game).histories(game, states, (seats + 1) % game.num_players)[0][:, 3]
    return tokens, lengths


def any_card_of_the_hand(game, views):
    """Legal moves that need not follow suit."""
    held = views["hand"][:, None] >> np.arange(game.vocabulary.size) & 1
    return type(game).view_legal(game, views).any(axis=1)[:, None] & (held > 0)


def in_silence(game, states, actions):
    """Play the first legal action in the place of an illegal one."""
    legal = game.legal(states)
    fine = legal[np.arange(len(states)), np.clip(actions, 0, game.vocabulary.size - 1)]
    type(game).play(game, states, np.where(fine, actions, legal.argmax(axis=1)))


def never_over(game, views):
    following = type(game).next(game, views)
    return np.where(following == Next.END, np.int8(Next.OBSERVATION), following)


BROKEN = {
    "histories": (neighbours_card, conformance.check_replay),
    "view_legal": (any_card_of_the_hand, conformance.check_replay),
    "playout": (lambda game, states, seeds: type(game).playout(game, states, seeds + np.uint64(len(seeds))),
        conformance.check_determinism),
    "play": (in_silence, conformance.check_legality),
    "after": (lambda game, states, actions, lengths: type(game).after(game, states, actions, (lengths - 1).clip(0)),
        conformance.check_after),
    "next": (never_over, conformance.check_garbage),
}  # fmt: skip
"""Of a game that breaks a law the method that does, what it does instead, and the law."""


@pytest.mark.parametrize("name", BROKEN)
def test_the_laws_notice_a_broken_game(own: ModuleType, name: str) -> None:
    game, (wrong, law) = own.ToyTricks(), BROKEN[name]
    law(game, num_deals=8, seed=2)
    vars(game)[name] = partial(wrong, game)
    with pytest.raises(AssertionError):
        law(game, num_deals=8, seed=2)


def test_a_rare_label_that_is_missing_is_found_and_said_truly(own: ModuleType) -> None:
    points = own.TRICKS[own.TRICKS.max(axis=1) < 4]  # one seat takes all tricks: one deal in thirty
    game = own.ToyTricks()
    game.outcomes = OutcomeTable(points, {"tricks": points[:, 0]})
    with pytest.raises(AssertionError, match=r"the outcome table has no label for a deal that ended so: .*'tricks': "):
        conformance.check_labels(game, 20, 1)
    states = game.deal(np.arange(400, dtype=np.uint64))
    game.playout(states, np.arange(400, dtype=np.uint64))
    with pytest.raises(ValueError, match=r"row \d+: its deal ended in a result that the outcome table lacks$"):
        game.points(states)
    with pytest.raises(ValueError, match=r"row 0: its deal is not over$"):
        game.points(game.deal(np.arange(2, dtype=np.uint64)))
