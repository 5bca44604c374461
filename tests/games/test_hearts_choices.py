"""What ``choices`` says of each card in Hearts: on a trick by hand, against plain Python that reads the true deal, and
its chances against every division of the unseen cards and against sampled deals."""

from math import comb

import numpy as np
import pytest

from games.compiled import blank
from games.game import Next
from games.hearts import chances
from games.hearts.cards import EOS, NUM_CARDS, QUEEN_OF_SPADES, SPADES, card_id
from games.hearts.game import HeartsGame
from games.hearts.hidden import unseen
from games.hearts.state import STATE, deal_hands
from games.rng import derive_many
from tests.games.material import decisions, members
from tests.games.test_hearts_views import divisions

GAME = HeartsGame()
# fmt: off
COLUMNS = [
    "rank", "heart", "spade", "queen", "above queen", "lower mine", "higher mine", "only", "may pass all",
    "higher out", "lower out", "highest", "lowest", "can hold", "queen mine", "queen out", "low spades",
    "leads", "follows", "discard", "wins", "beaten by", "safe", "against all", "by chance", "if ducked",
    "points", "quarters taken", "points taken", "void behind", "queen falls", "behind", "all mine", "all another's",
    "owner wins", "jack",
]
# fmt: on
CHANCES = (
    "safe",
    "against all",
    "by chance",
    "if ducked",
    "quarters taken",
    "points taken",
    "void behind",
    "queen falls",
)
SUITS = [{rank * 4 + suit for rank in range(13)} for suit in range(4)]
HEARTS = SUITS[2]


def points_of(cards: set[int]) -> int:
    return len(cards & HEARTS) + 13 * (QUEEN_OF_SPADES in cards)


def plain(game: HeartsGame, state: np.void, seat: int, view: np.void) -> dict[int, dict[str, int]]:
    """What needs no chances, of each legal card, from the true deal; ``possible`` of the view has tests of its own."""
    public, hand = state["public"], members(state["hands"][seat])
    trick, played, passing = members(public["trick"]), int(public["num_played"]) % 4, public["turn"] < 0
    out = set().union(*(members(state["hands"][other]) for other in range(4) if other != seat))
    if passing:
        out = set(range(52)) - hand - members(state["passed"][seat])
    able = [out if passing else out & members(view["possible"][other]) for other in range(4)]
    taken = [points_of(members(public["taken"][(seat + other) % 4])) for other in range(4)]
    owners = [other for other in range(4) if taken[other]]
    rows = {}
    for card in np.flatnonzero(game.legal(np.array([state]))[0]).tolist():
        suit, row = SUITS[card % 4], dict.fromkeys(COLUMNS, 0)
        mine, others = hand & suit, out & suit
        row |= {
            "rank": card // 4,
            "heart": card in HEARTS,
            "spade": card % 4 == SPADES,
            "queen": card == QUEEN_OF_SPADES,
            "above queen": card % 4 == SPADES and card > QUEEN_OF_SPADES,
            "lower mine": sum(other < card for other in mine),
            "higher mine": sum(other > card for other in mine),
            "only": mine == {card},
            "higher out": sum(other > card for other in others),
            "lower out": sum(other < card for other in others),
            "highest": max(others, default=-1) < card,
            "lowest": min(others, default=99) > card,
            "can hold": sum(bool(able[other] & suit) for other in (1, 2, 3)),
            "queen mine": QUEEN_OF_SPADES in hand,
            "queen out": QUEEN_OF_SPADES in out,
            "low spades": sum(other < QUEEN_OF_SPADES for other in hand & SUITS[SPADES]),
        }
        rows[card] = row
        if passing:
            row["may pass all"] = len(hand & suit) <= 3 - len(members(state["passed"][seat]))
            continue
        led = public["led"] if trick else card % 4
        row["leads" if not trick else "follows" if card % 4 == led else "discard"] = 1
        wins = not trick or (card % 4 == led and card > max(trick & suit))
        rivals = set().union(*(able[other] for other in range(1, 4 - played))) & suit
        row |= {"wins": wins, "beaten by": sum(other > card for other in rivals) if wins else 0}
        row |= {"points": points_of(trick | {card}), "behind": 3 - played}
        row |= {"all mine": owners == [0], "all another's": len(owners) == 1 and owners != [0]}
        winner = 0 if wins else (int(public["winner"]) - seat) % 4
        row |= {"owner wins": owners == [winner]}
        row |= {"jack": bool(game.options["jd_bonus"]) and card_id("JD") in trick | {card}}
    return rows


@pytest.mark.parametrize("options", [{}, {"jd_bonus": True, "no_pts_on_first_trick": False, "qs_breaks_hearts": False}])
def test_the_counts_are_what_plain_python_reads_off_the_deal(options: dict[str, bool]) -> None:
    game, compared = HeartsGame(**options), 0
    exact = [n for n, name in enumerate(COLUMNS) if name not in CHANCES]
    for states, seats, views in decisions(game, 12, seed=5):
        numbers = game.features["choices"].encode(views)
        for row in range(len(states)):
            wanted = np.zeros((NUM_CARDS, len(COLUMNS)), np.int64)
            for card, told in plain(game, states[row], int(seats[row]), views[row]).items():
                wanted[card] = [told[name] for name in COLUMNS]
            np.testing.assert_array_equal(numbers[row][:, exact], wanted[:, exact])
            compared += 1
    assert compared > 600 and (numbers.shape[2] == len(COLUMNS))


def test_only_cards_that_may_be_played_or_passed_have_numbers_and_only_for_the_seat_to_act() -> None:
    for states, seats, views in decisions(GAME, 10, seed=6):
        assert (GAME.features["choices"].encode(views).any(axis=2) == GAME.legal(states)[:, :NUM_CARDS]).all()
        others = GAME.views(*GAME.histories(states, (seats + 1) % 4))
        waiting = GAME.next(others) != Next.ACTION  # in the pass a seat does not know whose turn it is
        assert not GAME.features["choices"].encode(others[waiting]).any()


def dealt(*plays: str) -> np.ndarray:
    """A state without passing: the seat on seat 0's right leads the two of clubs."""
    hands = ["5C KC 2D 3D 4D 5D QS 2H 3H 4H 5H 6H 7H", "3C 4C AC 6D 7D 8D 2S 3S 4S 5S 6S 8H 9H"]
    hands += ["6C 7C 8C 9D TD JD 7S 8S 9S TS JS TH JH", "2C 9C TC JC QC QD KD AD KS AS QH KH AH"]
    sets = np.array([sum(1 << card_id(card) for card in hand.split()) for hand in hands])
    states = blank(STATE, GAME.template, EOS, 1)
    deal_hands(states[0], 0, sets, 0)
    for play in plays:
        GAME.play(states, np.array([card_id(play)]))
    return states


def told(states: np.ndarray) -> dict[str, dict[str, int]]:
    """Of each legal card by name the columns by name, for the seat to act."""
    views = GAME.views(*GAME.histories(states, GAME.to_move(states).astype(np.int64)))
    numbers, names = GAME.features["choices"].encode(views)[0], GAME.vocabulary.names
    return {
        names[card]: dict(zip(COLUMNS, numbers[card].tolist(), strict=True)) for card in np.flatnonzero(numbers.any(1))
    }


def test_the_numbers_of_a_first_trick_are_those_counted_by_hand() -> None:
    """Seat 0 holds 5 and K of clubs, and plays second: left and across have 13 of 38 unseen cards each, right 12."""
    cards, void = told(dealt("2C")), comb(28, 13) / comb(38, 13)
    assert cards.keys() == {"5C", "KC"}
    king, five = cards["KC"], cards["5C"]
    assert [king[name] for name in ("rank", "lower mine", "higher mine", "only")] == [11, 1, 0, 0]
    assert [king[name] for name in ("higher out", "lower out", "beaten by", "safe", "behind")] == [1, 9, 1, 0, 2]
    assert king["follows"] == king["wins"] == five["wins"] == king["queen mine"] == five["lowest"] + 1 == 1
    assert king["against all"] == round(8 * 12 / 38)  # the ace is right's
    assert king["by chance"] == round(8 * (1 - (1 - void) / 10) ** 2)
    assert king["if ducked"] == 8  # a seat without 3 to Q that holds the ace: 1 of 180
    assert five["beaten by"] == 8 and five["against all"] == 0  # 6 to Q and A
    assert five["by chance"] == round(8 * (1 - (1 - void) * 8 / 10) ** 2) == 0
    # 3 and 4 with left and across, one each, or one of them void where the other has a low card: about 2 * 13 * 13 ways
    # of 38 * 37, and as little as a void adds to it
    apart = 2 * 13 * 13 / (38 * 37)
    assert apart < 0.25 and five["if ducked"] == round(8 * apart) == 2
    assert king["void behind"] == 1 and king["queen falls"] == king["points"] == king["quarters taken"] == 0


def late(count: int, most: int) -> list[np.void]:
    """Views of seats that are to play while the others hold few cards."""
    found = [view for _, _, views in decisions(GAME, count, seed=7) for view in views if view["public"]["turn"] == 0]
    return [view for view in found if len(members(unseen(view))) <= most]


def hands_of(view: np.void) -> list[list[int]]:
    """Every division of the unseen cards that the view allows."""
    rooms = [13 - len(members(view["shown"][seat])) for seat in (1, 2, 3)]
    able = [int(view["possible"][seat]) for seat in (1, 2, 3)]
    every = divisions(sorted(members(unseen(view))), rooms)
    return [hands for hands in every if all(hand & ~at == 0 for hand, at in zip(hands, able, strict=True))]


def beats(hand: int, card: int) -> bool:
    return any(other > card for other in members(hand) & SUITS[card % 4])


def must_beat(hand: int, card: int) -> bool:
    return bool(members(hand) & SUITS[card % 4]) and min(members(hand) & SUITS[card % 4]) > card


def queen_can_fall(hand: int, led: int) -> bool:
    return QUEEN_OF_SPADES in members(hand) and (led == SPADES or not members(hand) & SUITS[led])


def by_counting(view: np.void, card: int) -> dict[str, float]:
    """What the kernels say of a card that wins so far."""
    total, voids, suit = chances.worlds(view, 0, 0, 0), np.zeros(4), card % 4
    chances.fill_voids(view, total, suit, voids)
    return {
        "against all": chances.takes_against_all(view, total, card),
        "void": chances.some_void(view, total, suit, voids),
        "queen": chances.queen_falls(view, total, suit, voids),
        "ducked": chances.takes_if_ducked(view, total, card),
        "by chance": chances.takes_by_chance(view, card, voids),
    }


def by_worlds(view: np.void, card: int, worlds: list[list[int]]) -> dict[str, float]:
    """The same as shares of the hands of left, across and right."""
    behind = [hands[: 3 - int(view["public"]["num_played"]) % 4] for hands in worlds]

    def random_takes(hands: list[int]) -> float:
        held = [members(hand) & SUITS[card % 4] for hand in hands]
        return float(np.prod([np.mean([other < card for other in suit]) for suit in held if suit]))

    return {
        "against all": float(np.mean([not any(beats(hand, card) for hand in hands) for hands in behind])),
        "void": float(np.mean([any(not members(hand) & SUITS[card % 4] for hand in hands) for hands in behind])),
        "queen": float(np.mean([any(queen_can_fall(hand, card % 4) for hand in hands) for hands in behind])),
        "ducked": float(np.mean([not any(must_beat(hand, card) for hand in hands) for hands in behind])),
        "by chance": float(np.mean([random_takes(hands) for hands in behind])),
    }


EXACT = ("against all", "ducked", "void", "queen")


def winning(view: np.void) -> list[int]:
    """Cards of the hand that would win the trick so far."""
    public, hand = view["public"], sorted(members(view["hand"]))
    return [card for card in hand if not public["trick"] or (card % 4 == public["led"] and card > public["high"])]


def test_with_few_cards_left_the_chances_are_shares_of_all_divisions() -> None:
    errors, compared = [], 0
    for view in late(40, most=7):
        worlds = hands_of(view)
        assert chances.worlds(view, 0, 0, 0) == len(worlds) > 0
        for card in winning(view):
            told, wanted = by_counting(view, card), by_worlds(view, card, worlds)
            for name in EXACT:
                assert told[name] == pytest.approx(wanted[name], abs=1e-9), name
            errors.append(abs(told["by chance"] - wanted["by chance"]))
            compared += 1
    assert compared > 150 and np.mean(errors) < 0.05


@pytest.mark.parametrize("positions", [8, pytest.param(40, marks=pytest.mark.slow)])
def test_chances_and_what_cannot_be_agree_with_sampled_deals(positions: int) -> None:
    size, off, near, rng = 200, [], [], np.random.default_rng(8)
    found = [view for _, _, views in decisions(GAME, 12, seed=9) for view in views if view["public"]["turn"] == 0]
    for place in rng.choice(len(found), positions, replace=False):
        view = found[place]
        states, _ = GAME.determinize(np.repeat(np.array([view]), size), derive_many(int(place), size))
        hands = [[int(state["hands"][seat]) for seat in (1, 2, 3)] for state in states]
        numbers = GAME.features["choices"].encode(np.array([view]))[0]
        for card in [card for card in winning(view) if numbers[card].any()]:
            told, wanted = by_counting(view, card), by_worlds(view, card, hands)
            row = dict(zip(COLUMNS, numbers[card].tolist(), strict=True))
            bars = view["public"]["num_played"] < 4 and card % 4 != SPADES  # no points on the first trick
            off += [(told[name] - wanted[name]) / (0.5 / size**0.5) for name in EXACT if name != "queen" or not bars]
            near.append(abs(told["by chance"] - wanted["by chance"]))
            assert not row["safe"] or wanted["against all"] == 1.0
            assert row["beaten by"] or row["safe"]
            assert row["queen falls"] or bars or wanted["queen"] == 0.0
            assert (row["queen falls"] > 0) == (told["queen"] > 1e-9)
    assert len(near) >= positions and max(map(abs, off)) < 4.5
    assert max(near) < 0.3 and np.mean(near) < 0.05
