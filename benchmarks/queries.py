"""The query engine against the bare matrix products of the same shapes: ``python -m benchmarks.queries [--full]``
(on a GPU also ``--device cuda [--cuda-graphs]``).

``batch_256``: 256 ArgmaxVal* decisions of Hearts in one pass, paper-size model, bfloat16: each four new tokens behind
its history and its legal actions. Ours is the rate of the trunk's matrix products over the whole time of a query,
heads, attention and bookkeeping included; theirs is a loop of ``torch.mm`` over those shapes and nothing else.
"""

import argparse
import time
from statistics import median

import numpy as np
import torch

from benchmarks.plain import PAPER, hearts_turns, network
from benchmarks.report import Case, report
from games.hearts.game import HeartsGame
from learner.config import EngineConfig
from learner.inference.engine import QueryEngine
from learner.observation_model import EMPTY

NEW_TOKENS = 4


def measure(device: str, repetitions: int, graphs: bool = False) -> Case:
    """Medians of alternating repetitions, after one of each to warm up."""
    game = HeartsGame()
    net, turns = network(game, PAPER), hearts_turns(256, seed=2)
    config = EngineConfig(device=device, precision="bf16", cuda_graphs=graphs)
    engine = QueryEngine(net, game.outcomes.utility(""), config)
    lengths = turns.lengths.astype(np.int64)
    before = np.maximum(lengths - NEW_TOKENS, 1)
    place = np.arange(turns.tokens.shape[1])
    old, new = place < before[:, None], (place >= before[:, None]) & (place < lengths[:, None])
    begun = engine.query(np.full(len(lengths), EMPTY), turns.tokens[old], before).handles

    def query() -> int:
        computed = engine.stats.tokens
        answer = engine.query(begun, turns.tokens[new], lengths - before, turns.legal)
        engine.release(answer.handles)
        engine.release(answer.action_handles)
        return engine.stats.tokens - computed

    tokens, outputs = query(), len(lengths) + int(turns.legal.sum())
    shapes = [
        (count, size_in, size_out)
        for layer in range(PAPER.n_layer)
        for count, size_in, size_out in _shapes(tokens if layer < PAPER.n_layer - 1 else outputs, tokens)
    ]
    multiply = _bare(shapes, device)
    flops = 2.0 * sum(m * k * n for m, k, n in shapes)
    our_seconds, their_seconds = [], []
    for _ in range(repetitions + 1):
        our_seconds.append(_timed(query, device))
        their_seconds.append(_timed(multiply, device))
    rates = [flops / median(seconds[1:]) / 1e12 for seconds in (our_seconds, their_seconds)]
    return Case("queries", "batch_256", rates[0], rates[1], "TFLOP/s")


def _shapes(behind: int, tokens: int) -> list[tuple[int, int, int]]:
    """Matrix products of a layer (rows, in, out): ``behind`` the attention the last layer computes fewer rows."""
    size, inner = PAPER.n_embd, PAPER.n_inner
    return [(tokens, size, 3 * size), (behind, size, size), (behind, size, inner), (behind, inner, size)]


def _bare(shapes: list[tuple[int, int, int]], device: str):  # type: ignore[no-untyped-def]
    pairs = [
        (torch.randn(m, k, dtype=torch.bfloat16, device=device), torch.randn(k, n, dtype=torch.bfloat16, device=device))
        for m, k, n in shapes
    ]

    def multiply() -> None:
        for left, right in pairs:
            torch.mm(left, right)

    return multiply


def _timed(work, device: str) -> float:  # type: ignore[no-untyped-def]
    if device == "cuda":
        torch.cuda.synchronize()
    began = time.perf_counter()
    work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="five times as many repetitions")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--cuda-graphs", action="store_true", help="engine.cuda_graphs=true")
    arguments = parser.parse_args()
    report([measure(arguments.device, 50 if arguments.full else 10, arguments.cuda_graphs)])


if __name__ == "__main__":
    main()
