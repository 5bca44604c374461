"""Vocabulary, outcome table and seeds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from games.outcomes import OutcomeTable
from games.rng import below, derive, derive_many, mix, next_state, output, uniform
from games.vocabulary import Vocabulary


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
