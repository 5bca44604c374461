"""Features of Skat: on positions by hand, and over random deals against plain Python that reads the state."""

import numpy as np

from games.game import Next
from games.rng import derive_many
from games.skat.cards import GAMES, VOCABULARY
from games.skat.game import SkatGame
from games.skat.rules import PLAY
from tests.games.skat.test_rules import TOKEN, do, given_hands
from tests.games.skat.test_views import STRONG

GAME = SkatGame()
TRUMPS = "CJ SJ HJ DJ CA CT CK CQ C9 C8 C7"
"""Of clubs."""


def test_features_say_where_cards_and_points_are() -> None:
    states = given_hands(*STRONG)
    plays = "CJ C7 CQ SJ C8 SK HJ C9 S9 DJ DA"
    do(states, f"pass pass 18 hand clubs schneider {plays}")
    views = GAME.views(*GAME.histories(states, np.array([2])))
    told = {name: feature.encode(views)[0] for name, feature in GAME.features.items()}

    def named(feature: str) -> set[str]:
        return {VOCABULARY.name(card) for card in np.flatnonzero(told[feature][:32])}

    assert named("hand") == set(STRONG[2].split()) - {"CQ", "SK", "S9"}
    assert named("gone") == set(plays.split()) and named("trick") == {"DJ", "DA"}
    assert named("trumps") == set(TRUMPS.split())
    assert np.flatnonzero(told["trick"][32:]).tolist() == [1, 3 + 4]  # the next seat wins it; trump was led
    assert np.flatnonzero(told["contract"]).tolist() == [0, 63 + 1, 63 + 4 + 3, 63 + 10]
    assert told["points"][0, :120].sum() == 13 and told["points"][0, 120] == 3 and not told["points"][1].any()
    assert told["voids"].tolist() == [[0, 0, 0, 1, 0], [0, 0, 0, 1, 1]]  # clubs are all trumps
    assert not told["laid"].any() and not told["open"].any()


# ---- choices -------------------------------------------------------------------------------------------------------


def choices(seat: int, doings: str, card: str) -> list[int]:
    """What ``choices`` tells a seat of a card of ``STRONG``, once this was done."""
    states = given_hands(*STRONG)
    do(states, doings)
    views = GAME.views(*GAME.histories(states, np.array([seat])))
    numbers = GAME.features["choices"].encode(views)[0]
    assert set(np.flatnonzero(numbers.any(axis=1))) <= set(np.flatnonzero(GAME.features["hand"].encode(views)[0]))
    return numbers[TOKEN[card]].tolist()


def test_choices_tell_what_every_card_in_hand_means() -> None:
    """The first eight numbers are of the card and its suit, the others of the trick."""
    none = [0] * 8
    # Before a game is named jacks are trumps, and no others.
    assert choices(1, "", "HT") == [10, 0, 1, 0, 0, 5, 0, 0, *none]
    assert choices(0, "pass pass", "HJ") == [2, 1, 2, 1, 0, 0, 0, 2, *none]
    assert choices(0, "pass pass 18 pickup", "H8") == [0, 0, 0, 1, 5, 0, 2, 0, *none]
    # In clubs forehand leads.
    clubs = "pass pass 18 hand clubs plain"
    assert choices(0, clubs, "CJ") == [2, 1, 0, 6, 0, 4, 0, 0, 0, 1, 1, 0, 1, 2, 0, 0]
    assert choices(0, clubs, "D7") == [0, 0, 0, 0, 6, 0, 2, 0, 0, 1, 1, 0, 0, 2, 2, 0]
    assert choices(1, clubs, "C9") == [0] * 16  # it is not to act
    # Rearhand cannot follow the fourth trump, on which middlehand threw the ace of diamonds.
    fourth = f"{clubs} CJ C7 CQ SJ C8 SK HJ C9 S9 DJ DA"
    assert choices(2, fourth, "DT") == [10, 0, 0, 2, 0, 3, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0]
    assert choices(2, fourth, "SQ") == [3, 0, 0, 0, 2, 2, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0]
    # In spades rearhand has no clubs left but may ruff; middlehand must follow, and no club is out any more.
    spades = "pass pass 18 hand spades plain CA C7 CQ CT C8 DQ CK"
    assert choices(1, spades, "C9") == [0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 1, 1, 0, 1]
    assert choices(2, f"{spades} C9", "S9") == [0, 1, 2, 0, 6, 2, 2, 0, 0, 1, 1, 0, 1, 0, 0, 0]
    # In null the ten is below the jack.
    assert choices(0, "pass pass 18 hand null plain", "CT") == [10, 0, 3, 0, 1, 3, 0, 0, 0, 1, 1, 1, 0, 2, 2, 0]


POINTS = {"A": 11, "T": 10, "K": 4, "Q": 3, "J": 2}


def suit_of(game: str, card: str) -> str:
    return "trump" if game != "null" and (card[1] == "J" or card[0] == game[0].upper()) else card[0]


def rank_of(game: str, card: str) -> int:
    """Among cards of one suit."""
    if game == "null":
        return "789TJQKA".index(card[1])
    return 7 + "DHSC".index(card[0]) if card[1] == "J" else "789QKTA".index(card[1])


def split(game: str, cards: set[str], card: str) -> list[int]:
    """How many of these are of a card's suit and above it, and below."""
    ranks = [rank_of(game, other) for other in cards - {card} if suit_of(game, other) == suit_of(game, card)]
    return [sum(rank > rank_of(game, card) for rank in ranks), sum(rank < rank_of(game, card) for rank in ranks)]


def kinds(cards: set[str], ranks: str) -> int:
    return sum(card[1] in ranks for card in cards)


def named(cards: int) -> set[str]:
    return {VOCABULARY.name(card) for card in range(32) if int(cards) >> card & 1}


def check(state: np.ndarray, seat: int, numbers: np.ndarray) -> None:
    """The numbers of every card in a seat's hand against the true state. Who holds a card can hold it, so what others
    can hold is at least, and what they cannot at most, what the true hands say."""
    public, hand = state["public"], named(state["hands"][seat])
    if public["turn"] != seat:
        assert not numbers.any()
        return
    game = GAMES[public["game"]] if public["game"] >= 0 else "grand"
    own_laid = state["laid"] if seat == public["soloist"] else 0
    out = named((1 << 32) - 1) - hand - named(own_laid) - named(public["shown"].sum())
    others = [named(state["hands"][(seat + step) % 3]) for step in (1, 2)]
    assert not numbers[[card for card in range(32) if VOCABULARY.name(card) not in hand]].any()
    for card in hand:
        row, suit = numbers[TOKEN[card]], suit_of(game, card)
        in_suit = {other for other in out if suit_of(game, other) == suit}
        expected = [POINTS.get(card[1], 0), suit == "trump", *split(game, hand, card), *split(game, out, card)]
        assert row[:7].tolist() == [*expected, kinds(in_suit, "AT")]
        lacking = [not held & in_suit for held in others]
        assert (0 if in_suit else 2) <= row[7] <= sum(lacking)
        if public["phase"] != PLAY:
            assert not row[8:].any()
            continue
        to_come = others[: 2 - int(public["num_played"]) % 3]
        check_trick(state, seat, card, row[8:14].tolist(), len(to_come))
        assert sum(split(game, held, card)[0] > 0 for held in to_come) <= row[14] <= len(to_come)
        assert row[15] <= sum(lacking[: len(to_come)])


def check_trick(state: np.ndarray, seat: int, card: str, numbers: list[int], to_come: int) -> None:
    """What is told of the trick, which ends with ``card`` for now, against its cards in the order of play."""
    public, length = state["public"], int(state["lengths"][seat])
    game, before = GAMES[public["game"]], 2 - to_come
    cards = [*map(VOCABULARY.name, state["tokens"][seat, length - before : length].tolist()), card]
    suits = [suit_of(game, other) for other in cards]
    counting = [other for other in cards if suit_of(game, other) == ("trump" if "trump" in suits else suits[0])]
    best = max(counting, key=lambda other: rank_of(game, other))
    winner, soloist = (seat - before + cards.index(best)) % 3, public["soloist"]
    expected = [before > 0 and suits[-1] == suits[0], best == card, (winner == soloist) == (seat == soloist)]
    assert numbers == [*expected, kinds(set(cards), "AT"), kinds(set(cards), "KQJ"), to_come]


def test_choices_are_what_plain_python_reads_off_the_state() -> None:
    """Random deals, for every seat at every third step."""
    count, step, compared, rng = 60, 0, 0, np.random.default_rng(8)
    states = GAME.deal(derive_many(8, count))
    while (GAME.to_move(states) >= 0).any():
        for seat in range(3 if step % 3 == 0 else 0):
            views = GAME.views(*GAME.histories(states, np.full(count, seat)))
            numbers = GAME.features["choices"].encode(views)
            for row in np.flatnonzero(GAME.next(views) != Next.END):
                check(states[row], seat, numbers[row])
                compared += 1
        legal = GAME.legal(states)
        GAME.play(states, np.argmax(legal * rng.random(legal.shape), axis=1))
        step += 1
    assert compared > 1000
