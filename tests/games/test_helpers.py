"""What a game's author is told to use does what it says for all sizes."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from games.batches import Loops, results, rows
from games.bits import count, count_legal, highest, holds, is_legal, lowest, mark, mark_legal, nth, nth_legal
from games.compiled import blank, options_of
from games.compiling import kernel
from games.dividing import deal_out, divide, draw, fits
from games.histories import write, write_all, write_cards
from games.outcomes import OutcomeTable
from games.rng import below, derive, derive_many, mix, next_state, output, uniform
from games.vocabulary import Vocabulary

SEEDS = st.integers(0, (1 << 64) - 1).map(np.uint64)
SETS = st.integers(0, (1 << 62) - 1)
ANY = st.integers(-(1 << 63), (1 << 63) - 1)


def members(cards: int) -> list[int]:
    return [card for card in range(62) if int(cards) >> card & 1]


@st.composite
def deals(draw) -> tuple[int, int, int]:
    """Number of hands, cards and cards of each hand."""
    num_hands, num_cards = draw(st.integers(0, 8)), draw(st.integers(0, 62))
    return num_hands, num_cards, draw(st.integers(0, num_cards // num_hands if num_hands else 9))


@given(deals(), SEEDS)
def test_any_number_of_hands_gets_its_cards_and_the_rest_is_left(deal: tuple[int, int, int], seed: np.uint64) -> None:
    num_hands, num_cards, size = deal
    hands = np.zeros(num_hands, np.int64)
    left, _ = deal_out(hands, num_cards, size, seed)
    assert [len(members(hand)) for hand in hands] == [size] * num_hands
    assert sorted(card for hand in [*hands, left] for card in members(hand)) == list(range(num_cards))


def test_every_deal_is_equally_likely_with_four_hands_and_cards_left() -> None:
    seen: Counter[tuple[int, ...]] = Counter()
    for seed in derive_many(1, 12_000):
        hands = np.zeros(4, np.int64)
        deal_out(hands, 5, 1, seed)
        seen[tuple(hands)] += 1
    assert len(seen) == 120 and all(60 < times < 140 for times in seen.values())  # 100 each, four standard deviations


def test_more_cards_than_there_are_can_be_neither_dealt_nor_drawn() -> None:
    with pytest.raises(ValueError, match="more cards than there are"):
        deal_out(np.zeros(4, np.int64), 19, 5, np.uint64(1))
    with pytest.raises(ValueError, match="holds fewer"):
        draw(0b111, 4, np.uint64(1))


@st.composite
def divisions(draw) -> tuple[list[int], list[int]]:
    """For every card the places that take it, as bits, and the room of every place."""
    num_places = draw(st.integers(1, 4))
    takes = draw(st.lists(st.integers(0, (1 << num_places) - 1), max_size=6))
    room = draw(st.lists(st.integers(-1, 6), min_size=num_places - 1, max_size=num_places - 1))
    last = len(takes) - sum(room) if draw(st.integers(0, 9)) else draw(st.integers(-1, 6))
    return takes, [*room, last]


@given(divisions(), st.integers(0, 56), SEEDS)
def test_a_division_gives_each_place_cards_that_it_takes_or_is_refused(division, shift, seed):
    takes, room = division
    shift, places = min(shift, 62 - len(takes)), range(len(room))
    cards = ((1 << len(takes)) - 1) << shift
    at = np.array([sum(1 << card for card, of in enumerate(takes) if of >> place & 1) << shift for place in places])
    possible = any(
        [shares.count(place) for place in places] == room
        and all(takes[card] >> place & 1 for card, place in enumerate(shares))
        for shares in product(places, repeat=len(takes))
    )
    if min(room) >= 0 and sum(room) == len(takes):
        assert fits(cards, at, np.array(room)) == possible
    if not possible:
        with pytest.raises(ValueError, match="divide: "):
            divide(cards, at, np.array(room), seed)
        return
    drawn, _ = divide(cards, at, np.array(room), seed)
    assert [len(members(part)) for part in drawn] == room
    assert sorted(card for part in drawn for card in members(part)) == members(cards)
    assert all(part & ~here == 0 for part, here in zip(drawn, at, strict=True))


def test_every_division_is_equally_likely() -> None:
    at, room = np.array([0b0111, 0b1111, 0b1110]), np.array([1, 2, 1])
    seen = Counter(tuple(divide(0b1111, at, room, seed)[0].tolist()) for seed in derive_many(3, 3500))
    wanted = [
        shares
        for shares in product(range(3), repeat=4)
        if [shares.count(place) for place in range(3)] == [1, 2, 1]
        and all(int(at[place]) >> card & 1 for card, place in enumerate(shares))
    ]
    assert len(seen) == len(wanted) == 7 and all(390 < times < 610 for times in seen.values())  # 500 each


@given(SETS, st.data(), SEEDS)
def test_a_drawn_set_has_its_size_and_only_cards_that_were_there(cards, data, seed):
    size = data.draw(st.integers(0, len(members(cards))))
    drawn, _ = draw(cards, size, seed)
    assert drawn & ~cards == 0 and len(members(drawn)) == size


def test_every_subset_is_drawn_equally_often() -> None:
    seen = Counter(int(draw(0b11010010, 2, seed)[0]) for seed in derive_many(2, 3000))
    assert sorted(seen) == sorted(1 << low | 1 << high for low, high in combinations((1, 4, 6, 7), 2))
    assert all(400 < times < 600 for times in seen.values())  # 500 each, five standard deviations


@given(SETS, ANY)
def test_sets_of_cards_are_their_binary_digits(cards: int, token: int) -> None:
    row, there = np.zeros(62, np.bool_), members(cards)
    mark(cards, row)
    assert np.flatnonzero(row).tolist() == there and count(cards) == len(there)
    assert [nth(cards, n) for n in range(len(there))] == there and (not there or lowest(cards) == there[0])
    assert members(highest(cards)) == there[-1:]
    assert all(holds(cards, card) == (card in there) for card in [token, *range(-3, 66)])


@given(st.integers(0, 9), SETS, st.integers(0, 70), st.integers(0, 12), ANY)
def test_legal_tokens_in_two_parts_are_counted_marked_and_found(first, cards, behind, more, token):
    low = max([first + card + 1 for card in members(cards)], default=0) + behind  # the parts share no token
    legal, wanted = (
        (first, cards, low, low + more),
        [*(first + card for card in members(cards)), *range(low, low + more)],
    )
    row = np.zeros(200, np.bool_)
    mark_legal(legal, row)
    assert np.flatnonzero(row).tolist() == wanted and count_legal(legal) == len(wanted)
    assert [nth_legal(legal, n) for n in range(len(wanted))] == wanted
    assert all(is_legal(legal, other) == (other in wanted) for other in [token, *range(-3, 200)])


@given(st.integers(1, 6), st.lists(st.tuples(st.integers(-1, 5), SETS), max_size=6))
def test_histories_grow_by_what_is_written(seats: int, written: list[tuple[int, int]]) -> None:
    state = np.zeros(1, [("lengths", np.int64, (seats,)), ("tokens", np.uint8, (seats, 400))])
    wanted: list[list[int]] = [[] for _ in range(seats)]
    for seat, cards in written:
        if seat < 0:
            write_all(state[0], 99)
            wanted = [[*seen, 99] for seen in wanted]
        else:
            write(state[0], seat % seats, seat)
            write_cards(state[0], seat % seats, cards)
            wanted[seat % seats] += [seat, *members(cards)]
    histories = zip(state["tokens"][0], state["lengths"][0], strict=True)
    assert [tokens[:length].tolist() for tokens, length in histories] == wanted


@kernel
def _double(row):
    return 2 * row["public"]["turn"]


@kernel
def _add(row, other):
    row["public"]["turn"] += other


@kernel
def _hand(state):
    return state["hand"]


@kernel
def _discard(state, card):
    state["hand"] &= ~(np.int64(1) << card)
    state["order"][state["public"]["turn"]] = card
    state["public"]["turn"] = -1 if state["hand"] == 0 else state["public"]["turn"] + 1


_play_out = Loops(
    deal=_add, legal=_hand, act=_discard, next_of=_hand, own_legal=_hand, advance=_add, consistent=_hand,
    can_stand=_hand, determinize=_add,
).play_out  # fmt: skip
_doubles, _sums = results(_double), rows(_add)
_PUBLIC = np.dtype([("turn", np.int64)])
_STATE = np.dtype([("public", _PUBLIC), ("hand", np.int64), ("order", np.int64, 62), ("tokens", np.uint8, 5)])


@given(st.lists(st.integers(-99, 99), max_size=9))
def test_loops_go_over_batches_of_any_size(turns: list[int]) -> None:
    batch = blank(_STATE, np.array([(7,)], _PUBLIC), 9, len(turns))
    assert (batch["public"]["turn"] == 7).all() and (batch["tokens"] == 9).all() and len(batch) == len(turns)
    _sums(batch, np.array(turns, np.int64))
    doubled = np.empty(len(turns), np.int64)
    _doubles(batch, doubled)
    assert doubled.tolist() == [2 * (7 + turn) for turn in turns]


@given(SETS.filter(bool), SEEDS)
def test_a_playout_plays_legal_actions_to_the_end(hand: int, seed: np.uint64) -> None:
    state = np.zeros(1, _STATE)
    state["hand"] = hand
    _play_out(state, np.array([seed]))
    assert sorted(state["order"][0, : len(members(hand))]) == members(hand) and state["hand"][0] == 0


def test_options_have_the_first_of_their_values_where_none_is_given() -> None:
    values = {"trump": (False, True), "size": (4, 5)}
    assert options_of("toy", {}, values) == {"trump": False, "size": 4}
    assert options_of("toy", {"size": 5}, values) == {"trump": False, "size": 5}
    with pytest.raises(ValueError, match="toy option size=6: choose one of 4, 5"):
        options_of("toy", {"size": 6}, values)


# ---- vocabulary, outcome table and seeds


def test_derived_seeds_differ_by_path_and_by_type_of_its_parts() -> None:
    paths = [(), (1,), (2,), ("1",), (1, 2), (12,), ("a", 1), ("a1",), (1, "a")]
    seeds = {derive(7, *path) for path in paths} | {derive(8)}
    assert len(seeds) == len(paths) + 1
    assert all(0 <= seed < 1 << 64 for seed in seeds)
    assert derive(1, "shard", 2, 3) == 4576622797837174129  # in every process


def test_derive_many_continues_where_the_last_block_ended() -> None:
    whole = derive_many(5, 100)
    np.testing.assert_array_equal(whole, np.concatenate([derive_many(5, 60), derive_many(5, 40, first=60)]))
    assert len(np.unique(whole)) == 100


def test_mix_works_elementwise_without_overflow_warnings() -> None:
    seeds = derive_many(3, 10)
    mixed = mix(seeds, 4)
    assert mixed.dtype == np.uint64
    assert [int(mix(seed, 4)) for seed in seeds] == mixed.tolist()
    assert len({*mixed.tolist(), *mix(seeds, 5).tolist()}) == 20


@given(st.integers(0, (1 << 64) - 1), st.integers(1, 1 << 30))
def test_draws_stay_in_their_range(bits: int, limit: int) -> None:
    assert 0 <= below(np.uint64(bits), limit) < limit
    assert 0.0 <= uniform(np.uint64(bits)) < 1.0


def test_draws_from_one_counter_are_spread_evenly() -> None:
    counter, drawn = np.uint64(1), np.zeros(10, np.int64)
    for _ in range(10_000):
        with np.errstate(over="ignore"):
            counter = np.uint64(next_state(counter))
            drawn[below(np.uint64(output(counter)), 10)] += 1
    assert (np.abs(drawn - 1000) < 150).all()  # five standard deviations


def test_vocabulary_counts_its_groups_through_and_ends_with_eos() -> None:
    vocabulary = Vocabulary({"Cards": ["A", "B", "C"], "Seats": ["left", "right"]})
    assert vocabulary.names == ("A", "B", "C", "left", "right", "eos")
    assert (vocabulary.size, vocabulary.eos, vocabulary.first("Seats")) == (6, 5, 3)
    assert vocabulary.dtype == np.uint8
    assert Vocabulary({"Many": [str(i) for i in range(256)]}).dtype == np.uint16


def test_vocabulary_refuses_names_given_twice_and_names_what_it_lacks() -> None:
    with pytest.raises(ValueError, match="twice: A"):
        Vocabulary({"Cards": ["A", "B"], "Seats": ["A"]})
    with pytest.raises(KeyError, match="Cards"):
        Vocabulary({"Cards": ["A"]}).first("Seats")


def test_fingerprint_changes_with_names_order_and_groups() -> None:
    groups = [{"G": ["A", "B"]}, {"G": ["B", "A"]}, {"G": ["A"], "H": ["B"]}, {"H": ["A", "B"]}]
    assert len({Vocabulary(group).fingerprint for group in groups}) == 4
    assert Vocabulary({"G": ["A", "B"]}).fingerprint == Vocabulary({"G": ("A", "B")}).fingerprint


def test_outcome_table_takes_its_first_utility_unless_told() -> None:
    points, own = np.array([[1, 0], [0, 1]]), np.array([1, 0])
    table = OutcomeTable(points, {"own": own, "other": 1 - own})
    assert table.num_labels == 2
    np.testing.assert_array_equal(table.utility(), [1, 0])
    np.testing.assert_array_equal(table.utility("other"), [0, 1])
    with pytest.raises(ValueError, match="own, other"):
        table.utility("mine")
    with pytest.raises(ValueError, match="'short'"):
        OutcomeTable(points, {"short": np.zeros(1)})
