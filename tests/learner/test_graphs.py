"""CUDA graphs as far as they can be seen without a GPU: passes of a whole population have few shapes, and what is
replayed answers as what runs anew."""

from functools import cache
from unittest.mock import MagicMock

import numpy as np
import pytest
import torch

from cluster.errors import UserError, needing_memory
from games.hearts.game import HeartsGame
from learner.config import EngineConfig
from learner.inference import cuda_graphs
from learner.inference.cuda_graphs import Graphs, filled_up, shape_of
from learner.inference.engine import QueryEngine
from learner.inference.stacked_trunk import laid_out
from learner.inference.torch_trunk import TorchTrunk
from search.players.argmax_val import ArgmaxVal
from search.players.config import ArgmaxValConfig, ImitationConfig
from search.players.imitation import Imitation
from search.players.table import play_table
from selfplay.config import InitialConfig
from selfplay.meter import Meter, MeteredModel
from selfplay.plan import Network, Seating, ShardPlan, seats
from tests.learner.material import CPU, tiny_net
from tests.learner.test_trunk import SLOTS, UTILITY, a_pass, network

GAME = HeartsGame()
DEALS, TABLE, NETWORKS = 1000, 512, 10
"""As in the last iteration of ``hearts_paper``, with fewer deals: most shapes are met at once."""


class Stub:
    """A trunk that computes nothing, and runs its passes as those of a GPU: through ``Graphs``."""

    def __init__(self) -> None:
        self.graphs, self._rng = Graphs(None), np.random.default_rng(0)

    def start(self, plan, valued, look_ahead, inputs=None):
        return self.passed(filled_up(shape_of(plan, valued, look_ahead)), plan, valued)

    def passed(self, shape, plan, valued):
        self.graphs(shape, None, None)
        next_token = np.full((len(plan.lengths), GAME.vocabulary.size), 1 / GAME.vocabulary.size, np.float32)
        return lambda: (next_token, self._rng.random(len(valued), np.float32))


class StubOfSeveral(Stub):
    """The same for a pass over rows of several networks."""

    def start(self, plan, valued, network):
        shape, _ = laid_out(plan, valued, network, True, spare=0)
        return self.passed(shape, plan, valued)


def stub_engine(pool=None):
    config = EngineConfig(device="cpu", cache_mb=64)
    engine = QueryEngine(tiny_net(GAME), np.zeros(GAME.outcomes.num_labels), config, pool=pool)
    engine.network = Stub()
    return engine


@pytest.fixture
def captured(monkeypatch):
    """Shapes that were captured."""
    shapes = []

    class Captured:
        def __init__(self, forward, shape, given, inputs):
            shapes.append(shape)

        def replay(self, given, inputs):
            return given

    monkeypatch.setattr(cuda_graphs, "_Captured", Captured)
    return shapes


def play_population(engines, deals, table):
    """Deals of the last iteration of ``hearts_paper``."""
    earlier = [Imitation(engine, ImitationConfig()) for engine in engines]
    networks = (Network("", ""),) * NETWORKS
    plan = ShardPlan(NETWORKS, 0, deals, Seating.POPULATION, InitialConfig(), networks, run_seed=1)
    seating, _ = seats(plan, plan.seat_bits(GAME.num_players))
    players = [ArgmaxVal(engines[-1], ArgmaxValConfig()), *earlier]
    meter = Meter()
    for player in players:
        player.histories.model = MeteredModel(player.histories.model, meter)
    play_table(GAME, players, seating, plan.deal_seeds(), table, secret=2)
    return meter


def test_a_population_asks_passes_of_few_shapes_each_of_which_is_captured_once(captured):
    engines = [stub_engine() for _ in range(NETWORKS)]
    play_population(engines, DEALS, TABLE)
    kept = [len(engine.network.graphs._captured) for engine in engines]
    assert max(kept) <= 32
    assert len(captured) == sum(kept) < 150, "a shape is captured again"


def in_one_pool():
    """Ten engines whose pool answers for several in one pass, and the pool."""
    first = stub_engine()
    pool = first.pool
    engines = [first, *(stub_engine(pool) for _ in range(NETWORKS - 1))]
    stack = StubOfSeveral()
    pool.together, pool._stack = True, (stack, {id(engine.network): n for n, engine in enumerate(engines)})
    return engines, pool


@pytest.mark.parametrize(("beside", "table"), [(False, 128), (True, 256)], ids=["whole tables", "halves"])
def test_a_population_in_one_pool_is_asked_in_one_wide_pass_a_step(captured, beside, table):
    engines, pool = in_one_pool()
    pool.beside = beside
    meter = play_population(engines, 500, table)
    assert meter.rows == pool.stats.rows and meter.batches == pool.stats.passes
    assert pool.stats.rows / pool.stats.passes > 80, "nine, where each network is asked alone"
    assert len(captured) == len(set(captured)) <= 32
    assert pool.tree.left == pool.tree.limit, "handles are left"


def test_a_pass_that_is_replayed_answers_as_one_that_runs(monkeypatch):
    recorded = []

    def stand_in(run, device):
        """A graph whose replay runs the work again, into the same result."""
        result = run()
        recorded.append(run)
        return lambda: result.copy_(run()), result

    monkeypatch.setattr(cuda_graphs, "recorded", stand_in)
    rng, shapes = np.random.default_rng(1), set()
    plain, graphs = (TorchTrunk(network(3), UTILITY, SLOTS, CPU, torch.float32, graphs=True) for _ in range(2))
    graphs._run = Graphs(graphs._forward)
    for rows, longest in ((5, 3), (40, 6), (7, 4), (1, 1), (90, 1)) * 2:
        plan = a_pass(rng, rows, longest, 0.2 if rows > 1 else 0.0, plain, graphs)
        for valued in (np.arange(0, rows, 2), np.zeros(0, np.int64)):
            shapes.add(filled_up(shape_of(plan, valued, False)))
            for one, other in zip(*(trunk.start(plan, valued, False)() for trunk in (graphs, plain)), strict=True):
                np.testing.assert_array_equal(one, other)
    assert len(graphs._run._captured) == len(recorded) >= len(shapes) > 4


# ---- what is asked of CUDA


@pytest.fixture
def cuda(monkeypatch):
    """torch as ``cuda_graphs`` sees it: everything is noted, nothing done."""
    found = MagicMock()
    found.cuda.OutOfMemoryError = torch.cuda.OutOfMemoryError
    monkeypatch.setattr(cuda_graphs, "torch", found)
    monkeypatch.setattr(cuda_graphs, "_shared", cache(cuda_graphs._Shared))
    return found


def test_graphs_share_memory_and_a_stream_and_each_capture_begins_and_ends_without_workspaces(cuda):
    for _ in range(2):
        cuda_graphs.recorded(lambda: None, "cuda:0")
    cuda.cuda.graph_pool_handle.assert_called_once()
    cuda.cuda.Stream.assert_called_once()
    captures = [capture.kwargs for capture in cuda.cuda.graph.call_args_list]
    shared = {"pool": cuda.cuda.graph_pool_handle(), "stream": cuda.cuda.Stream()}
    assert captures == 3 * [shared | {"capture_error_mode": "thread_local"}]
    names = {"cuda.graph": "capture", "cuda.graph().__exit__": "end", "_C._cuda_clearCublasWorkspaces": "clear"}
    called = [names[name] for name, *_ in cuda.mock_calls if name in names]
    assert called == ["capture", "end", *2 * ["clear", "capture", "end", "clear"]]


@pytest.mark.parametrize("ends_badly", [False, True])
def test_memory_that_runs_out_in_a_capture_ends_in_a_line_with_the_setting(ends_badly, cuda):
    warmed = []

    def run():
        if warmed:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 MiB")
        warmed.append(True)

    if ends_badly:  # what torch says of a capture that broke off
        cuda.cuda.graph().__exit__.side_effect = [False, RuntimeError("operation failed due to a previous error")]
    line = r"playing: out of memory \(.* in the capture of a graph; .* learner.cuda_graphs=false takes less\); lower x"
    with pytest.raises(UserError, match=line), needing_memory("playing", "x"):
        cuda_graphs.recorded(run, "cuda:0")
