"""What it costs to tell a network the rules: ``python -m benchmarks.told [--full]``.

A network with all settings of docs/learner.md ("Inputs from the rules") against the same one without, same size, same
CPU, turn and turn about: ``training``, tokens a second; ``search``, GO-MCTS with 32 searches side by side (paper 001,
section 9.3), the network that is not told with ``mask_impossible``, which samples from the same tokens; ``self_play``,
ArgmaxVal* over whole tables. Another network would search another tree: the one that is not told is asked the same
queries, and its answers are replaced by those of the one that is. Fresh weights of the demo's size; with ``--full`` the
paper's too.
"""

import argparse
import tempfile
from collections import deque
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.plain import PAPER, hearts_turns, network
from benchmarks.report import Case, report
from benchmarks.training import DEMO, GAME, Ours, random_hands
from benchmarks.trunks import compare, engine_of, searches, self_play
from learner.config import EngineConfig, TransformerConfig
from learner.observation_model import Answer, ObservationModel
from search.go_mcts.config import GoMctsConfig

ENGINE = EngineConfig(device="cpu", precision="auto")
STEPS, ROUNDS = 20, 7


def told(model: TransformerConfig) -> TransformerConfig:
    """With everything."""
    return replace(model, token_types=True, mask_tokens=True, mask_outcomes=True, features=["all"])


def training(model: TransformerConfig, name: str, shard: str, out: Path) -> Case:
    """Tokens a second, medians over rounds."""
    both = {"told": told(model), "not": model}
    ours, theirs = (Ours(each, "auto", shard, out / f"{name}-{which}", "cpu") for which, each in both.items())
    rates = [(ours.rate(STEPS), theirs.rate(STEPS)) for _ in range(ROUNDS + 1)][1:]
    ours_rates, theirs_rates = zip(*rates, strict=True)
    return Case("told", f"{name}_training", median(ours_rates), median(theirs_rates), "tokens/s")


class Recorded:
    """The model that is told; keeps what it answers."""

    def __init__(self, model: ObservationModel, answers: deque[Answer]) -> None:
        self._model, self._answers = model, answers
        self.release, self.outcomes = model.release, model.outcomes

    @property
    def slots_left(self) -> int:
        """See ``ObservationModel``."""
        return self._model.slots_left

    def query(self, *asked: Any, **more: Any) -> Answer:
        """See ``ObservationModel``."""
        self._answers.append(self._model.query(*asked, **more))
        return self._answers[-1]


class Overruled(Recorded):
    """The model that is not told; does all the work, and then says what the other one has answered."""

    def query(self, *asked: Any, **more: Any) -> Answer:
        """See ``ObservationModel``."""
        own, answer = self._model.query(*asked, **more), self._answers.popleft()
        if not (np.array_equal(own.handles, answer.handles) and own.action_next.shape == answer.action_next.shape):
            raise AssertionError("the two were not asked the same")
        return answer


def measure(model: TransformerConfig, name: str, scale: int) -> list[Case]:
    """Decisions a second."""
    turns, every = hearts_turns(32, seed=1), [np.arange(32)] * (scale + 1)

    def both() -> list[ObservationModel]:
        engines, answers = [engine_of(network(GAME, size), ENGINE) for size in (told(model), model)], deque[Answer]()
        return [Recorded(engines[0], answers), Overruled(engines[1], answers)]

    configs = [GoMctsConfig(), GoMctsConfig(mask_impossible=True)]
    search = [searches(net, config, every, turns) for net, config in zip(both(), configs, strict=True)]
    tables = [self_play(256, net) for net in both()]
    return [
        compare("told", f"{name}_search", scale, search),
        compare("told", f"{name}_self_play", 2 * scale, tables),
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="more repetitions, and the paper's network too")
    full = parser.parse_args().full
    sizes = {"demo": DEMO} | ({"paper": PAPER} if full else {})
    with tempfile.TemporaryDirectory() as directory:
        shard = random_hands(Path(directory) / "shard.parquet", 2000)
        cases = [training(size, name, shard, Path(directory)) for name, size in sizes.items()]
    report([*cases, *(case for name, size in sizes.items() for case in measure(size, name, 4 if full else 2))])


if __name__ == "__main__":
    main()
