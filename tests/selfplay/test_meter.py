"""What is told of a shard's queries."""

import numpy as np

from games.hearts.game import HeartsGame
from selfplay.meter import Meter, MeteredModel
from tests.search.models import FunctionModel


def test_only_queries_with_candidates_count_for_the_mass_on_illegal_tokens() -> None:
    size = HeartsGame().vocabulary.size
    even = np.full(size, 1 / size, np.float32)
    meter = Meter()
    model = MeteredModel(FunctionModel(lambda history: (even, 0.0)), meter)
    candidates = np.zeros((3, size), bool)
    candidates[1, :10] = True
    model.query(np.full(3, -1), np.array([58, 56, 57]), np.ones(3, np.int64), candidates)
    assert (meter.batches, meter.rows, meter.judged) == (1, 3, 1)
    np.testing.assert_allclose(meter.illegal_mass, 1 - 10 / size, rtol=1e-5)
