"""What it costs to tell a network the rules: ``python -m benchmarks.told [--full]``.

A network with all settings of docs/learner.md ("Told the rules") against the same one without, same size, same CPU,
turn and turn about: ``training``, tokens a second; ``search``, GO-MCTS with 32 searches side by side (paper 001,
section 9.3), the network that is not told with ``mask_impossible``, which samples from the same tokens; ``self_play``,
ArgmaxVal* over whole tables. Fresh weights of the demo's size; with ``--full`` the paper's too.
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.plain import PAPER, hearts_turns, network
from benchmarks.report import Case, report
from benchmarks.training import DEMO, GAME, Ours, random_hands
from benchmarks.trunks import compare, searches, self_play
from learner.config import EngineConfig, ModelConfig
from search.config import GoMctsConfig

ENGINE = EngineConfig(device="cpu", precision="auto")
STEPS, ROUNDS = 20, 5


def told(model: ModelConfig) -> ModelConfig:
    """With everything."""
    return replace(model, token_types=True, mask_tokens=True, mask_outcomes=True, features=["all"])


def training(model: ModelConfig, name: str, shard: str, out: Path) -> Case:
    """Tokens a second, medians over rounds."""
    both = {"told": told(model), "not": model}
    ours, theirs = (Ours(each, "auto", shard, out / f"{name}-{which}", "cpu") for which, each in both.items())
    rates = [(ours.rate(STEPS), theirs.rate(STEPS)) for _ in range(ROUNDS + 1)][1:]
    ours_rates, theirs_rates = zip(*rates, strict=True)
    return Case("told", f"{name}_training", median(ours_rates), median(theirs_rates), "tokens/s")


def measure(model: ModelConfig, name: str, scale: int) -> list[Case]:
    """Decisions a second."""
    turns, every = hearts_turns(32, seed=1), [np.arange(32)] * (scale + 1)
    nets = [network(GAME, told(model)), network(GAME, model)]
    configs = [GoMctsConfig(), GoMctsConfig(mask_impossible=True)]
    search = [searches(net, ENGINE, config, every, turns) for net, config in zip(nets, configs, strict=True)]
    tables = [self_play(net, ENGINE, 256) for net in nets]
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
