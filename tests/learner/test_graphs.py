"""CUDA graphs as far as they can be seen without a GPU: passes of a whole population have few shapes, and what is
replayed answers as what runs anew."""

import numpy as np
import torch

from games.hearts.game import HeartsGame
from learner.config import EngineConfig
from learner.inference import cuda_graphs
from learner.inference.cuda_graphs import Graphs, filled_up, shape_of
from learner.inference.engine import QueryEngine
from learner.inference.torch_trunk import TorchTrunk
from search.players.argmax_val import ArgmaxVal
from search.players.config import ArgmaxValConfig, ImitationConfig
from search.players.imitation import Imitation
from search.players.table import play_table
from selfplay.config import InitialConfig
from selfplay.plan import Network, Seating, ShardPlan, seats
from tests.learner.material import CPU, tiny_net
from tests.learner.test_trunk import SLOTS, UTILITY, a_pass, network

GAME = HeartsGame()
DEALS, TABLE, NETWORKS = 300, 128, 10
"""Of the last iteration of ``hearts_paper``, with fewer deals: most shapes are met at once."""


class Stub:
    """A trunk that computes nothing, and runs its passes as those of a GPU: through ``Graphs``."""

    def __init__(self) -> None:
        self.graphs, self._rng = Graphs(None), np.random.default_rng(0)

    def __call__(self, plan, valued, look_ahead, inputs):
        self.graphs(filled_up(shape_of(plan, valued, look_ahead)), None, None)
        next_token = np.full((len(plan.lengths), GAME.vocabulary.size), 1 / GAME.vocabulary.size, np.float32)
        return next_token, self._rng.random(len(valued), np.float32)


def stub_engine():
    engine = QueryEngine(tiny_net(GAME), np.zeros(GAME.outcomes.num_labels), EngineConfig(device="cpu", cache_mb=64))
    engine._trunk = Stub()
    return engine


def test_a_population_asks_passes_of_few_shapes_each_of_which_is_captured_once(monkeypatch):
    captured = []

    class Captured:
        def __init__(self, forward, shape, given, inputs):
            captured.append(shape)

        def replay(self, given, inputs):
            return given

    monkeypatch.setattr(cuda_graphs, "_Captured", Captured)
    engines = [stub_engine() for _ in range(NETWORKS)]
    earlier = [Imitation(engine, ImitationConfig()) for engine in engines]
    networks = (Network("", ""),) * NETWORKS
    plan = ShardPlan(NETWORKS, 0, DEALS, Seating.POPULATION, InitialConfig(), networks, run_seed=1)
    seating, _ = seats(plan, plan.seat_bits(GAME.num_players))
    players = [ArgmaxVal(engines[-1], ArgmaxValConfig()), *earlier]
    play_table(GAME, players, seating, plan.deal_seeds(), TABLE, secret=2)
    kept = [len(engine._trunk.graphs._captured) for engine in engines]
    assert max(kept) <= 32
    assert len(captured) == sum(kept) < 150, "a shape is captured again"


def test_a_pass_that_is_replayed_answers_as_one_that_runs(monkeypatch):
    recorded = []

    def stand_in(run, device):
        """A graph whose replay runs the work again, into the same result."""
        result = run()
        recorded.append(run)
        return lambda: result.copy_(run()), result

    monkeypatch.setattr(cuda_graphs, "_recorded", stand_in)
    rng, shapes = np.random.default_rng(1), set()
    plain, graphs = (TorchTrunk(network(3), UTILITY, SLOTS, CPU, torch.float32, graphs=True) for _ in range(2))
    graphs._graphs = Graphs(graphs._forward)
    for rows, longest in ((5, 3), (40, 6), (7, 4), (1, 1), (90, 1)) * 2:
        plan = a_pass(rng, rows, longest, 0.2 if rows > 1 else 0.0, plain, graphs)
        for valued in (np.arange(0, rows, 2), np.zeros(0, np.int64)):
            shapes.add(filled_up(shape_of(plan, valued, False)))
            for one, other in zip(graphs(plan, valued, False), plain(plan, valued, False), strict=True):
                np.testing.assert_array_equal(one, other)
    assert len(graphs._graphs._captured) == len(recorded) >= len(shapes) > 4
