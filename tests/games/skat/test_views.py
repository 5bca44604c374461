"""What one seat knows of a Skat deal, against every world that it could be in."""

import random

import numpy as np
import pytest
from scipy.stats import chisquare

from games.rng import derive_many
from games.skat.cards import ALL_CARDS, EOS, FIRST_SEAT, GAMES, OUVERT, VOCABULARY
from games.skat.game import SkatGame
from games.skat.replay import new_state, replay
from games.skat.rules import DISCARD, SCORINGS
from tests.games.material import Deal, decisions, played, subsets
from tests.games.skat.test_rules import TOKEN, dealt, do, given_hands

GAME = SkatGame()


# ---- every world behind a history ----------------------------------------------------------------------------------


def legal_of(states: np.ndarray) -> np.ndarray:
    return np.flatnonzero(GAME.legal(states)[0])


def worlds(deal: Deal, seat: int, prefix: np.ndarray) -> list[np.ndarray]:
    """Every state in which this seat has seen ``prefix`` after the same public doings. Nothing of the views is used:
    each division of the cards it does not know is played through."""
    state = deal.states[0]
    public, soloist = state["public"], int(state["public"]["soloist"])
    shown = [int(cards) for cards in public["shown"]]
    own = seat == soloist
    aside_known = int(state["laid"]) if own else 0
    unknown = ALL_CARDS & ~(int(state["hands"][seat]) | aside_known | sum(shown))
    left, right = (seat + 1) % 3, (seat + 2) % 3
    found = []
    for at_left in subsets(unknown, 10 - shown[left].bit_count()):
        for at_right in subsets(unknown & ~at_left, 10 - shown[right].bit_count()):
            hands = np.zeros(3, np.int64)
            hands[seat] = int(state["dealt"][seat])
            hands[left], hands[right] = at_left | shown[left], at_right | shown[right]
            tokens = np.array(deal.tokens)
            if not own and public["picked_up"]:  # any two of the twelve can have been the talon: say it stays aside
                aside = ALL_CARDS & ~int(hands.sum())
                first = deal.tokens.index(TOKEN["pickup"]) + 1
                tokens[first : first + 2] = [card for card in range(32) if aside >> card & 1]
            world = np.array([new_state()])
            legal = replay(world[0], hands, np.array(deal.seats), tokens) == -1
            if legal and (world[0]["tokens"][seat, : len(prefix)] == prefix).all():
                found.append(world)
    return found


def check_against_worlds(deal: Deal) -> int:
    """Every seat's possible next tokens at the end of its history, and within what was turned over, are those of the
    worlds it cannot tell apart; returns how many there were."""
    told = 0
    for seat in range(3):
        state = deal.states[0]
        length, tokens, public = int(state["lengths"][seat]), state["tokens"][seat], state["public"]
        over, known = public["turn"] < 0, seat == public["soloist"] or public["modifier"] == OUVERT
        turned = (2 if known else 12 - public["num_played"] // 3) if over else 0
        for end in range(length - over - turned, length - over + 1):
            behind = worlds(deal, seat, tokens[:end])
            expected = set()
            for world in behind:
                if world[0]["lengths"][seat] > end:
                    expected.add(int(world[0]["tokens"][seat, end]))
                else:
                    expected |= set(legal_of(world).tolist())
            views = GAME.views(tokens[None], np.array([end]))
            assert GAME.consistent(views)[0] and behind
            possible = set(np.flatnonzero(GAME.view_possible(views)[0]).tolist())
            assert possible == expected - {EOS}, f"seat {seat} at {end} of {length}"
            told += len(behind)
    return told


TRUMPS = "CJ SJ HJ DJ CA CT CK CQ C9 C8 C7"
"""Of clubs."""
AUCTIONS = ("pass pass 18", "18 pass pass", "pass 18 pass")


@pytest.mark.parametrize("count", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("choice", ["pickup", "plain", "ouvert"])
@pytest.mark.parametrize("game", GAMES)
def test_late_in_a_deal_exactly_what_some_world_allows_is_possible(game: str, choice: str, count: int) -> None:
    """With five cards or fewer in a hand, every division of the others' can be tried."""
    rng = random.Random(f"{game} {choice}")
    checked = 0
    for attempt in range(60):
        deck = rng.sample(range(32), 32)
        deal = Deal(GAME, dealt([sum(1 << card for card in deck[n : n + 10]) for n in (0, 10, 20)]))
        for name in AUCTIONS[attempt % 3].split():
            deal.do(TOKEN[name])
        deal.do(TOKEN["pickup" if choice == "pickup" else "hand"])
        while deal.states[0]["public"]["phase"] == DISCARD:
            deal.do(rng.choice(legal_of(deal.states)))
        deal.do(TOKEN[game])
        if choice != "pickup" or game == "null":
            deal.do(TOKEN["plain" if choice == "pickup" else choice])
        stop = rng.randint(19, 29)
        while not deal.over and deal.states[0]["public"]["num_played"] < stop:
            deal.do(rng.choice(legal_of(deal.states)))
        if deal.states[0]["public"]["num_played"] >= 19 and not deal.over:
            checked += 1
            check_against_worlds(deal)
        if checked == count:
            break
    assert checked or choice == "ouvert" or game == "null"  # those end early in most deals


STRONG = ("CJ SJ HJ DJ CA CT CK D7 H7 S7", "C7 C8 C9 DA D8 D9 HA HT SA ST", "CQ DQ DK DT HQ HK H9 SQ SK S9")
"""Seven sure tricks of forehand's, then three lost ones; H8 and S8 lie in the talon."""


@pytest.mark.parametrize("modifier", ["schwarz", "ouvert"])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_turned_over_is_exactly_what_some_world_turns_over(modifier: str, seed: int) -> None:
    rng = random.Random(seed)
    deal = Deal(GAME, given_hands(*STRONG))
    for name in f"pass pass 18 hand clubs {modifier}".split():
        deal.do(TOKEN[name])
    while not deal.over:
        legal = legal_of(deal.states).tolist()
        trumps = [card for card in legal if card in map(TOKEN.get, STRONG[0].split()[:7])]
        soloists = deal.states[0]["public"]["turn"] == 0
        deal.do(trumps[-1] if soloists and trumps else rng.choice(legal))
    assert deal.states[0]["public"]["num_played"] == 24
    assert check_against_worlds(deal) > 0


def test_a_card_that_cannot_be_is_noticed_at_once_and_carried_on() -> None:
    states = given_hands(*STRONG)
    do(states, "pass pass 18 hand clubs plain CJ C7 CQ")
    tokens, lengths = GAME.histories(states, np.array([0]))
    for names, possible in (
        ("SJ", True),
        ("C8", False),  # not in forehand's hand
        ("SJ DA D8", True),  # C8 and C9, the trumps left, may lie in the talon
        ("SJ DA D8 HJ C8", False),  # middlehand did not follow before
    ):
        history, count = tokens.copy(), len(names.split())
        history[0, lengths[0] : lengths[0] + count] = [TOKEN[name] for name in names.split()]
        views = GAME.views(history, lengths + count)
        assert GAME.consistent(views)[0] == possible
        assert GAME.next(views)[0] == (1 if names == "SJ DA D8" else 0)


def test_calls_that_the_rules_forbid_end_a_history() -> None:
    deal = [FIRST_SEAT, *range(10)]
    for calls in (["hold"], ["20", "18"], ["20", "hold", "20"], ["pass", "pass", "20"], ["pickup"]):
        tokens = np.array([deal + [TOKEN[name] for name in calls]])
        views = GAME.views(tokens, np.array([tokens.shape[1]]))
        assert GAME.next(views)[0] == 2 and not GAME.consistent(views)[0]


def test_outcomes_that_cannot_come_are_ruled_out() -> None:
    states, left = given_hands(*STRONG), []
    for calls in ("", "18", "pass pass"):
        do(states, calls)
        possible = GAME.view_outcomes(GAME.views(*GAME.histories(states, np.array([1]))))[0]
        left.append(possible.sum())
    assert left == [412, 411, 137] and (np.abs(GAME.outcomes.points[possible, 0]) >= 18).all()


@pytest.mark.parametrize("count", [20, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("scoring", SCORINGS)
def test_what_some_world_ends_with_is_never_ruled_out(scoring: str, count: int) -> None:
    """At every decision of random deals, in worlds drawn for the seat and played on at random."""
    game, ruled_out = SkatGame(scoring=scoring), 0
    for _, _, views in decisions(game, count, 5):
        possible = game.view_outcomes(views)
        ruled_out += (~possible).sum()
        for seed in range(3):
            worlds, seats = game.determinize(views, derive_many(seed, len(views)))
            game.playout(worlds, derive_many(seed + 3, len(views)))
            ends = game.outcome(worlds)[np.arange(len(views)), seats]
            assert possible[np.arange(len(views)), ends].all()
    assert ruled_out > 0


def labels_left(line: str, seat: int, *hands: str) -> set[tuple[int, bool]]:
    """``(value, won)`` of what a seat takes for possible after these actions."""
    states = given_hands(*(hands or STRONG))
    do(states, line)
    possible = GAME.view_outcomes(GAME.views(*GAME.histories(states, np.array([seat]))))[0]
    soloist = int(states["public"]["soloist"][0])
    points = np.roll(GAME.outcomes.points, seat, axis=1)[possible, soloist].astype(int)
    return {(point - 50, True) if point > 0 else ((-point - 50) // 2, False) for point in points.tolist()}


def test_the_value_of_a_contract_rules_out_what_its_matadors_and_points_exclude() -> None:
    # Four jacks, ace and ten of clubs: with six; or seven, eight, as king and queen may lie in the talon. Hand, and
    # schneider or schwarz for either side: 8 to 12 times the base value.
    hands = ("CJ SJ HJ DJ CA CT SA HA DA C7", "CK CQ C9 C8 SK SQ HK HQ DK DQ", "ST S9 S8 S7 HT H9 H8 H7 DT D9")
    own = labels_left("pass pass 18 hand clubs plain", 0, *hands)
    assert own == {(12 * level, won) for level in range(8, 13) for won in (True, False)}
    # A defender that holds the jack of clubs: the soloist plays without one or more.
    hands = ("SJ HJ DJ CA CT CK SA HA DA C7", "CJ CQ C9 C8 SK SQ HK HQ DK DQ", "ST S9 S8 S7 HT H9 H8 H7 DT D9")
    seen = labels_left("pass pass 18 hand clubs plain", 1, *hands)
    assert min(value for value, _ in seen) == 36 and max(value for value, _ in seen) == 12 * (11 + 2 + 2)
    assert labels_left("pass pass 18 hand null ouvert", 2, *hands) == {(59, True), (59, False)}


# ---- worlds drawn from a history -----------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", ["pickup", "plain", "ouvert"])
@pytest.mark.parametrize("observer", range(3))
def test_every_world_is_drawn_and_all_are_equally_likely(choice: str, observer: int) -> None:
    """Against the enumeration of all worlds, late in a deal that forehand plays; another soloist's talon, which may be
    any two of its cards, is left out of the count."""
    rng = random.Random(2)
    deal = Deal(GAME, given_hands(*STRONG))
    for name in ["pass", "pass", "18", "pickup" if choice == "pickup" else "hand"]:
        deal.do(TOKEN[name])
    while deal.states[0]["public"]["phase"] == DISCARD:
        deal.do(TOKEN["H8" if not deal.states[0]["laid"] else "S8"])
    for name in ["clubs"] if choice == "pickup" else ["clubs", choice]:
        deal.do(TOKEN[name])
    trumps = [TOKEN[name] for name in STRONG[0].split()[:7]]
    while deal.states[0]["public"]["num_played"] < 22:
        legal = legal_of(deal.states).tolist()
        own = [card for card in legal if card in trumps]
        deal.do(own[-1] if own and deal.states[0]["public"]["turn"] == 0 else rng.choice(legal))
    tokens, lengths = GAME.histories(deal.states, np.array([observer]))
    expected = {world[0]["hands"].tobytes() for world in worlds(deal, observer, tokens[0, : lengths[0]])}
    count = 400 * len(expected)
    views = np.repeat(GAME.views(tokens, lengths), count)
    states, seats = GAME.determinize(views, derive_many(11, count))
    drawn, times = np.unique(states["hands"], axis=0, return_counts=True)
    assert {row.tobytes() for row in drawn} == expected and (seats == observer).all()
    assert times.max() < 400 + 5.5 * 20 and times.min() > 400 - 5.5 * 20  # standard deviations of a count
    assert chisquare(times).pvalue > 1e-3


def test_a_history_that_cannot_be_has_no_world() -> None:
    tokens = np.array([[FIRST_SEAT, *range(9), 3]])
    with pytest.raises(ValueError, match="row 0: no deal agrees with this history"):
        GAME.determinize(GAME.views(tokens, np.array([11])), np.array([1], np.uint64))


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


def test_choices_describe_every_card_that_may_be_discarded_or_played() -> None:
    states = given_hands(*STRONG)
    do(states, "18 hold 20 pass pass pickup")
    told = choices_of(states, seat=1)  # D8 D9 DA HT HA ST SA C7 C8 C9, and H8 S8 from the talon
    assert told["HT"] == [10, 0, 3, 0, 4, 1, 1, 0, 0, 0, 0, 0]
    assert told["D9"] == [0, 0, 3, 3, 1, 1, 0, 0, 0, 0, 0, 0]  # DQ, DK, DT above; D7 below
    assert len(told) == 12
    do(states, "D8")
    assert choices_of(states, seat=1)["D9"] == [0, 0, 2, 3, 1, 1, 0, 1, 0, 0, 0, 0]
    do(states, "HT clubs CJ C7")
    told = choices_of(states, seat=2)
    unseen_trumps = {"HJ", "SJ", "DJ", *TRUMPS.split()} - set(STRONG[2].split()) - {"CJ", "C7"}
    queen = [3, 1, len(set(STRONG[2].split()) & {*TRUMPS.split()})]
    above = len(unseen_trumps & {"CJ", "SJ", "HJ", "DJ", "CA", "CT", "CK"})
    held = [int(card in STRONG[2].split()) for card in ("CA", "CT")]
    assert told["CQ"] == [*queen, above, len(unseen_trumps) - above, *held, 0, 0, 0, 2 + 0 + 3, 1]
    states = given_hands(*STRONG)
    do(states, "18 hold 20 pass pass pickup D8 HT clubs CJ C7 CQ")
    assert choices_of(states, seat=1) == {}  # forehand has won and leads


def test_games_say_what_a_hand_holds_for_each_of_them() -> None:
    states = given_hands(*STRONG)
    do(states, "18 hold 20 pass pass")
    told = games_of(states, seat=1)  # C7 C8 C9 DA D8 D9 HA HT SA ST: clubs without eight
    assert told["clubs"] == [3, 8, 0, 1, 3, 2, 0]
    assert told["grand"] == [0, 4, 0, 1, 3, 2, 0]
    assert told["null"] == [0, 0, 0, 1, 3, 2, 0]  # null counts for 23
    do(states, "pickup D8 D9")
    assert games_of(states, seat=1)["clubs"] == [3, 8, 0, 1, 3, 2, 0]
    do(states, "clubs")
    assert not any(map(any, games_of(states, seat=1).values()))
    states = given_hands(*STRONG)
    do(states, "24 hold 27")  # middlehand gives 27 and forehand, with four, is asked
    assert games_of(states, seat=0)["diamonds"] == [5, 4, 1, 1, 1, 1, 0]
    assert games_of(states, seat=0)["null"][3] == 0  # 23 falls short


def games_of(states: np.ndarray, seat: int) -> dict[str, list[int]]:
    told = GAME.features["games"].encode(GAME.views(*GAME.histories(states, np.array([seat]))))[0]
    return dict(zip(GAMES, told.tolist(), strict=True))


def choices_of(states: np.ndarray, seat: int) -> dict[str, list[int]]:
    """The numbers of every card that has some."""
    told = GAME.features["choices"].encode(GAME.views(*GAME.histories(states, np.array([seat]))))[0]
    return {VOCABULARY.name(card): told[card].tolist() for card in np.flatnonzero(told.any(axis=1))}


# ---- for people ----------------------------------------------------------------------------------------------------


def test_a_deal_is_written_as_people_write_it() -> None:
    states = given_hands(*STRONG)
    do(states, "18 hold 20 pass pass pickup D8 HT clubs CJ C7 CQ")
    tokens, lengths = GAME.histories(states, np.array([1]))
    assert GAME.describe(tokens[0]).splitlines() == [
        "middlehand",
        "dealt ♦ 8 9 A ♥ T A ♠ T A ♣ 7 8 9",
        "calls: 18 hold 20 pass pass",
        "pickup",
        "talon H8 S8",
        "discards D8 HT",
        "game: clubs",
        " 1   forehand: CJ* C7 CQ",
    ]
    assert GAME.describe(tokens[0, :0]) == "(nothing seen)"
    assert GAME.describe(np.append(tokens[0, : lengths[0]], TOKEN["hold"])).splitlines()[-1] == "hold"


def test_any_history_can_be_written() -> None:
    states = played(GAME, 30, 5)
    for seat in range(3):
        for state, tokens in zip(states, GAME.histories(states, np.full(30, seat))[0], strict=True):
            text, public = GAME.describe(tokens), state["public"]
            assert text.count("*") == public["tricks"].sum()
            assert ("turned over" in text) == (0 < public["num_played"] < 30 and public["game"] != GAMES.index("null"))
