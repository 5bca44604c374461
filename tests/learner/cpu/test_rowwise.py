"""The compiled loops over rows of activations against torch's own operations."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from learner.inference.cpu.products import Product
from learner.inference.cpu.rowwise import exponentials, highest, narrow, widen
from learner.model.threads import bounds_of


def test_bfloat16_is_rounded_as_torch_rounds_it():
    numbers = torch.cat([torch.randn(5000) * 10.0**power for power in (-30, -3, 0, 5, 30)])
    numbers[:4] = torch.tensor([0.0, -0.0, 1.00390625, 1.01171875])  # ties to even, down and up
    rounded = np.empty(len(numbers), np.uint16)
    narrow(numbers.numpy(), rounded)
    assert torch.equal(torch.from_numpy(rounded).view(torch.bfloat16), numbers.bfloat16())
    back = np.empty(len(numbers), np.float32)
    widen(rounded, back)
    assert np.array_equal(back, numbers.bfloat16().float().numpy())


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, width=32), min_size=1, max_size=70))
def test_the_highest_is_that_of_numpy(numbers):
    row = np.array(numbers, np.float32)
    assert highest(row) == row.max()


def test_exponentials():
    numbers = np.linspace(-95.0, 88.0, 4001, dtype=np.float32)
    got = numbers.copy()
    exponentials(got, 4001, np.float32(0.0))
    above = numbers > -69.0  # below they stay at about 1e-30
    np.testing.assert_allclose(got[above], np.exp(numbers[above].astype(np.float64)), rtol=2e-5)
    assert got[~above].max() < 2e-30 and got.min() > 1e-37  # none is denormal, which is slow
    few = np.array([1.0, 3.0, 2.0], np.float32)
    assert exponentials(few, 3, np.float32(3.0)) == pytest.approx(1 + np.exp(-1) + np.exp(-2))


@pytest.mark.parametrize("gelu", ["", "none", "tanh"])
@pytest.mark.parametrize("rows", [1, 7, 200])
def test_a_product_of_bfloat16_is_torchs_up_to_rounding(rows, gelu):
    torch.manual_seed(rows)
    weight, bias, x = torch.randn(32, 48) / 6, torch.randn(48), torch.randn(rows, 32).bfloat16()
    exact = x.float() @ weight.bfloat16().float() + bias.bfloat16().float()
    exact = F.gelu(exact, approximate=gelu) if gelu else exact
    torch.testing.assert_close(Product(weight, bias, torch.bfloat16, gelu)(x).float(), exact, atol=0.02, rtol=0.02)
    torch.testing.assert_close(
        Product(weight, bias, torch.float32, gelu)(x.float()),
        F.gelu(x.float() @ weight + bias, approximate=gelu) if gelu else x.float() @ weight + bias,
    )


def test_a_build_of_torch_without_packed_products(monkeypatch):
    monkeypatch.setattr("learner.inference.cpu.products._packed", lambda weight: None)
    weight, bias, x = torch.randn(32, 48) / 6, torch.randn(48), torch.randn(5, 32).bfloat16()
    packed_less = Product(weight, bias, torch.bfloat16, gelu="tanh")(x)
    torch.testing.assert_close(
        packed_less.float(), F.gelu(x.float() @ weight + bias, approximate="tanh"), atol=0.05, rtol=0.05
    )


@pytest.mark.parametrize(("threads", "count", "parts"), [(1, 100, 1), (2, 7, 1), (2, 8, 2), (3, 100, 3), (3, 0, 1)])
def test_rows_are_cut_for_as_many_threads_as_are_worth_it(threads, count, parts, monkeypatch):
    monkeypatch.setattr("learner.model.threads.num_threads", lambda: threads)
    bounds = bounds_of(count)
    assert len(bounds) == parts + 1 and bounds[0] == 0 and bounds[-1] == count and (np.diff(bounds) >= 0).all()


def test_rows_are_cut_only_where_they_may_be(monkeypatch):
    monkeypatch.setattr("learner.model.threads.num_threads", lambda: 4)
    assert bounds_of(20, np.array([1, 9, 20])).tolist() == [0, 9, 20, 20, 20]
