"""Hearts seen from one seat: which histories could have happened, and the deals behind them.

The oracle knows nothing of restrictions: it tries every division of the cards not seen and replays the play by the
forward rules.
"""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2

from games.compiled import blank
from games.game import Next
from games.hearts.cards import ALL_CARDS, EOS, HEART_CARDS, QUEEN_SET, VOCABULARY, card_id
from games.hearts.game import HeartsGame
from games.hearts.state import STATE, deal_hands
from games.hearts.table import table_of
from games.registry import make_game
from games.rng import derive_many
from tests.games.material import histories_of
from tests.games.test_hearts_features import parts
from tests.marks import slow

SETTINGS = [
    {},
    {"must_break_hearts": False, "pass_cards": False},
    *slow(
        {"can_lead_any_club": True, "can_lead_hearts_instead_of_qs": True},
        {"no_pts_on_first_trick": False, "qs_breaks_hearts": False},
    ),
]


def plays_from(tokens: np.ndarray) -> int:
    return 15 if VOCABULARY.name(tokens[0]) == "hold" else 21


def cards_shown(tokens: np.ndarray, length: int) -> list[int]:
    """The cards each seat (relative) has played, by following who wins the tricks."""
    shown = [0, 0, 0, 0]
    plays, seats = parts(tokens[:length].tolist())
    for card, seat in zip(plays, seats, strict=False):
        shown[seat] |= 1 << card
    return shown


def divisions(cards: list[int], rooms: list[int]) -> list[list[int]]:
    """Every way to divide cards among seats with given rooms, as sets of bits."""
    if len(rooms) == 1:
        return [[sum(1 << card for card in cards)]] if len(cards) == rooms[0] else []
    return [
        [sum(1 << card for card in hand), *rest]
        for hand in combinations(cards, rooms[0])
        for rest in divisions([card for card in cards if card not in hand], rooms[1:])
    ]


def worlds(game: HeartsGame, tokens: np.ndarray, length: int) -> set[tuple[int, ...]]:
    """The cards the other seats may still hold after a history with all plays in view: one entry per world."""
    start = plays_from(tokens)
    own = sum(1 << int(card) for card in tokens[1:14])
    passed = sum(1 << int(card) for card in tokens[14:17]) if start == 21 else 0
    received = sum(1 << int(card) for card in tokens[17:20]) if start == 21 else 0
    own, direction = own & ~passed | received, int(tokens[0]) - 56
    shown = cards_shown(tokens, length)
    unseen = [card for card in range(52) if (ALL_CARDS & ~own & ~sum(shown[1:])) >> card & 1]
    rooms = [13 - bin(cards).count("1") for cards in shown]
    if shown[0] & ~own or min(rooms) < 0:
        return set()
    found = []
    for hands in divisions(unseen, rooms[1:]):
        whole = [own, *(shown[seat] | hands[seat - 1] for seat in range(1, 4))]
        two_of_clubs_leads = whole[int(tokens[start - 1]) - 52] >> card_id("2C") & 1
        if two_of_clubs_leads and whole[direction] & passed == passed and all(bin(h).count("1") == 13 for h in whole):
            found.append((hands, whole))
    possible = replays([whole for _, whole in found], game, tokens[start:length])
    return {tuple(hands) for (hands, _), fine in zip(found, possible, strict=True) if fine}


def replays(deals: list[list[int]], game: HeartsGame, plays: np.ndarray) -> np.ndarray:
    """For every deal, whether all plays are legal in turn."""
    states = blank(STATE, game.template, EOS, len(deals))
    for state, hands in zip(states, deals, strict=True):
        deal_hands(state, 0, np.array(hands, np.int64), 0)
    fine = np.ones(len(deals), np.bool_)
    for card in plays:
        rows = np.flatnonzero(fine)
        fine[rows] = game.legal(states[rows])[:, card]
        still = states[rows[fine[rows]]]
        game.play(still, np.full(len(still), card))
        states[rows[fine[rows]]] = still
    return fine


@pytest.mark.parametrize("options", SETTINGS)
def test_consistent_agrees_with_trying_every_division_of_the_unseen_cards(options) -> None:
    game, random = HeartsGame(**options), np.random.default_rng(3)
    histories, _ = histories_of(game, 150, 11)
    verdicts = []
    for tokens in histories:
        start = plays_from(tokens)
        length = int(random.integers(start + 40, start + 53))
        if random.random() < 0.8:
            a, b = random.choice(length - start, 2, replace=False) + start
            tokens[[a, b]] = tokens[[b, a]]
        view = game.views(tokens[None], np.array([length]))
        verdict = bool(game.consistent(view)[0])
        assert verdict == bool(worlds(game, tokens, length)), game.describe(tokens[:length])
        verdicts.append(verdict)
    assert 20 < sum(verdicts) < 130


PREFIX = "pass left 2D 3D 4D 5D 6D 7D 8D 9D TD JD QD KD AD"
RIGHT = PREFIX.replace("left", "right")


def view_after(text: str, **options: bool) -> tuple[HeartsGame, np.ndarray]:
    names = [name.replace("_", " ") for name in text.replace("pass ", "pass_").split()]
    tokens = np.array([[VOCABULARY.names.index(name) for name in names]], np.uint8)
    game = HeartsGame(**options)
    return game, game.views(tokens, np.array([tokens.shape[1]]))


@pytest.mark.parametrize(
    ("history", "kind", "consistent"),
    [
        (PREFIX, Next.ACTION, True),
        (f"{PREFIX} 2D 3D 4D", Next.OBSERVATION, True),
        (f"{PREFIX} 2D 2D", Next.ACTION, False),  # passed twice
        (f"{PREFIX} 2C", Next.ACTION, False),  # passed a card not held
        (f"{PREFIX} 2D 3D 4D 4D", Next.OBSERVATION, False),  # received what was passed on
        (f"{PREFIX} 2D 3D 4D 3C 2C", Next.OBSERVATION, False),  # received out of order
        (f"{PREFIX} 2D 3D 4D KS AS", Next.OBSERVATION, False),  # no room for a third
        (f"{PREFIX} 2D 3D 4D 2C 3C 4C left", Next.OBSERVATION, False),  # holds the two of clubs itself
        (f"{PREFIX} 2D 3D 4D 2C 3C 4C self", Next.ACTION, True),
        (f"{PREFIX} 2D 3D 4D 3C 4C 5C self", Next.ACTION, False),  # has not got the two of clubs
        (f"{PREFIX} 2D 3D 4D 3C 4C 5C across 2C", Next.OBSERVATION, True),
        (f"{PREFIX} 2D 3D 4D 3C 4C 5C across 2C 6C", Next.ACTION, True),
        (f"{PREFIX} 2D 3D 4D 3C 4C 5C across 6C", Next.OBSERVATION, False),  # must lead the two
        (f"{PREFIX} 2D 3D 4D 3C 4C 5C across 2D", Next.OBSERVATION, False),  # lies with the seat on the left
        (f"{PREFIX} 2D 3D 4D 3C 4C 5C across 3C", Next.OBSERVATION, False),  # in the observer's own hand
        (f"{PREFIX} 2D 3D 4D 3C 4C 5C across 2C 2C", Next.ACTION, False),  # a card twice: the fourth seat is next
        (f"{PREFIX} 2D 3D 4D 3C 4C 5C across 2C 2C 3C 3C", Next.ACTION, False),  # the higher card takes the trick
        (f"{PREFIX} 2D 3D 4D 3C 4C 5C across 2C 2C 3C AC", Next.OBSERVATION, False),
        (f"{PREFIX} 2D 3D 4D 3C 4C 5C across 2C left", Next.END, False),  # no card where one is due
        (f"{PREFIX} 2D 3D 4D 3C 4C 5C 6C", Next.END, False),  # a card where the leader is due
        (f"{PREFIX} 2D 3D 4D 3C 4C eos", Next.END, False),
        (f"{PREFIX} 2D 3D 4D 3C 4C 5C across 2C 2D", Next.ACTION, False),  # lies with the seat on the left
        (f"{PREFIX} 2D 3D 4D 3C 4C 5C across 2C 2H", Next.ACTION, True),  # if it holds hearts and the queen only
        (f"{PREFIX} 2D 3D 4D 3C 4C 5C across 2C 2H 3C 3H", Next.ACTION, False),  # the left holds diamonds
        (f"{RIGHT} 2D 3D 4D 3C 4C 5C across 2C 2H", Next.ACTION, False),  # holds the diamonds passed to it
        ("hold 2D 3D 4D 5D 6D 7D 8D 9D TD JD QD KD AS", Next.OBSERVATION, True),
        ("hold AS", Next.OBSERVATION, False),  # twelve more cards cannot follow
        ("hold 2D 3D 4D 5D 6D 7D 8D 9D TD JD QD KD left", Next.END, False),
        ("eos", Next.END, False),
        ("2C", Next.END, False),
        ("left", Next.END, False),
    ],
)
def test_what_comes_next_and_whether_it_could_have_happened(history: str, kind: Next, consistent: bool) -> None:
    game, views = view_after(history)
    assert Next(int(game.next(views)[0])) == kind
    assert bool(game.consistent(views)[0]) == consistent
    assert game.view_outcome(views)[0] == -1


def test_without_passing_only_hold_opens_a_history() -> None:
    for direction in ("hold", "pass left", "pass across", "pass right"):
        game, views = view_after(direction, pass_cards=False)
        assert game.consistent(views)[0] == (direction == "hold")


@pytest.mark.parametrize("options", SETTINGS)
def test_determinized_deals_are_all_those_that_agree_with_the_view_and_equally_likely(options) -> None:
    game, draws, total, freedom = HeartsGame(**options), 200, 0.0, 0
    histories, _ = histories_of(game, 60, 31)
    for row, tokens in enumerate(histories):
        length = plays_from(tokens) + 44
        expected = worlds(game, tokens, length)
        count = draws * len(expected)
        views = game.views(np.repeat(tokens[None], count, axis=0), np.full(count, length))
        states, seats = game.determinize(views, derive_many(row, count))
        assert (seats == 0).all()
        hands, times = np.unique(states["hands"][:, 1:], axis=0, return_counts=True)
        assert {tuple(hand) for hand in hands.tolist()} == expected
        assert (np.abs(times - draws) < 6 * np.sqrt(draws)).all()
        total, freedom = total + ((times - draws) ** 2 / draws).sum(), freedom + len(expected) - 1
    assert chi2.sf(total, freedom) > 1e-3


def test_every_seat_may_hold_any_card_before_the_first_lead() -> None:
    game, count = HeartsGame(), 2000
    histories, _ = histories_of(game, 8, 51)
    tokens = next(row for row in histories if plays_from(row) == 21)
    for length in (14, 15, 16, 17):
        views = game.views(np.repeat(tokens[None], count, axis=0), np.full(count, length))
        states, _ = game.determinize(views, derive_many(length, count))
        unseen = ALL_CARDS & ~sum(1 << int(card) for card in tokens[1:14])
        for seat in (1, 2, 3):
            assert int(np.bitwise_or.reduce(states["hands"][:, seat])) == unseen


def test_impossible_histories_have_no_deal() -> None:
    game, views = view_after(f"{PREFIX} 2C")
    with pytest.raises(ValueError, match="row 0: no deal agrees"):
        game.determinize(views, derive_many(1, 1))


def test_who_shot_the_moon_is_who_took_all_penalty_cards_whoever_has_the_jack() -> None:
    game = make_game("hearts", {"jd_bonus": True})
    states = game.deal(derive_many(4, 600))
    game.playout(states, derive_many(5, 600))
    taken = states["public"]["taken"].astype(np.int64)
    all_of_them = int(HEART_CARDS | QUEEN_SET)
    shot = (taken & all_of_them) == all_of_them
    moons, others = np.flatnonzero(shot.any(axis=1)), np.flatnonzero(~shot.any(axis=1))[:5]
    assert len(moons) > 1
    for deal in (*moons, *others):
        for seat in range(4):
            tokens, lengths = game.histories(states[deal : deal + 1], np.array([seat]))
            shooter = table_of(game, tokens[0, : lengths[0]]).shooter
            assert shooter == (int(shot[deal].argmax() - seat) % 4 if shot[deal].any() else -1)
