"""Training tokens a second: ``python -m benchmarks.training [--full] [--device cuda]``.

Ours is ``learner.training.loop.train`` as the demo preset runs it, which is not the paper's arithmetic: bfloat16, and
the outcome head at eight positions of a sequence. Theirs is the plain loop over the same sequences in the same process,
turn and turn about: the transformers model, float32, the outcome loss at every position. Networks ``paper_model``
(Table 4, dropout and all) and ``demo_model`` (``model=demo``), random hands of Hearts, batches of 64.
"""

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median

import torch
import torch.nn.functional as F

from benchmarks.plain import PAPER, network
from benchmarks.report import Case, report
from games.config import GameConfig
from games.hearts.game import HeartsGame
from learner.config import EngineConfig, LearnerConfig, LossConfig, TransformerConfig
from learner.model.architecture import architecture
from learner.model.pretrained import pretrained_model
from learner.model.rule_inputs import Rules
from learner.network_kind import TrainingSetup
from learner.training.batch import Batch
from learner.training.batches import Recipe, make_batch
from learner.training.data import TrainingData, load_data
from learner.training.loop import train
from learner.training.objective import epoch_order
from learner.training.policies.policy import PLAYED
from learner.training.sending import Sent
from learner.training.sequences import SequenceObjective
from learner.transformer import KIND
from search.config import SearchConfig
from selfplay.config import GamesConfig, InitialConfig
from selfplay.generator import Generator, GeneratorSettings
from selfplay.plan import Seating, ShardPlan

GAME = HeartsGame()
DEMO = TransformerConfig(
    n_layer=2, n_head=2, n_embd=128, n_inner=512, embd_pdrop=0.0, resid_pdrop=0.0, initializer_range=0.06
)
BATCH = 64


class Ours:
    """``learner.training.loop.train``: every call trains a network of its own."""

    def __init__(self, model: TransformerConfig, precision: str, shard: str, out: Path, device: str) -> None:
        self._model, self._precision, self._shard = model, precision, shard
        self._out, self._device, self._runs = out, device, 0

    def rate(self, steps: int) -> float:
        """Tokens a second of ``steps`` steps, behind two to warm up."""
        self._runs += 1
        config = LearnerConfig(
            batch_size=BATCH,
            max_steps=steps + 2,
            log_every_steps=2,
            checkpoint_every_steps=0,
            loss=LossConfig(outcome_positions=8),
            precision=self._precision,
            device=self._device,
        )
        rates: list[float] = []
        out = self._out / str(self._runs)
        objective = SequenceObjective(TrainingSetup(KIND, GAME, self._model, config, [self._shard]))
        train(objective, out, on_progress=lambda line: rates.append(line["tokens_per_second"]))
        return median(rates[1:])


class Theirs:
    """The plain loop over one network."""

    def __init__(self, model: TransformerConfig, data: TrainingData, device: str) -> None:
        self._net = pretrained_model(network(GAME, model)).train()
        self._net.to(torch.device(device))  # type: ignore[arg-type]
        self._optimizer = torch.optim.AdamW(self._net.parameters(), lr=1e-4)
        self._data, self._device, self._done = data, device, 0
        self._rules = Rules(GAME, architecture(GAME, model))
        self._order = epoch_order(data.training, 0, 0)

    def rate(self, steps: int) -> float:
        """Tokens a second of ``steps`` steps."""
        began, tokens = _now(self._device), 0
        for _ in range(steps):
            rows = self._order[self._done * BATCH :][:BATCH]
            batch = Sent(make_batch(self._data, rows, Recipe(self._rules)), torch.device(self._device))
            tokens += self._step(batch.arrived())
            self._done = (self._done + 1) % (len(self._order) // BATCH)
        return tokens / (_now(self._device) - began)

    def _step(self, batch: Batch) -> int:
        inputs, targets = batch.tokens[:, :-1], batch.tokens[:, 1:]
        valid = torch.arange(inputs.shape[1], device=inputs.device) < (batch.lengths - 1)[:, None]
        out = self._net(inputs)
        observation = F.cross_entropy(out.logits[valid], targets[valid])
        outcomes = batch.outcome[:, None].expand(inputs.shape)
        outcome = F.cross_entropy(out.outcome_logits[valid], outcomes[valid])
        self._optimizer.zero_grad()
        (0.9 * observation + 0.1 * outcome).backward()
        torch.nn.utils.clip_grad_norm_(self._net.parameters(), 1.0)
        self._optimizer.step()
        return len(batch.prefixes)


def compared(name: str, ours: Ours, theirs: Theirs, steps: int, rounds: int) -> Case:
    """Medians over rounds in which both take their turn, behind a short one to warm up."""
    ours.rate(2), theirs.rate(1)
    rates = [(ours.rate(steps), theirs.rate(max(steps // 2, 2))) for _ in range(rounds)]
    ours_rates, theirs_rates = zip(*rates, strict=True)
    return Case("training", name, median(ours_rates), median(theirs_rates), "tokens/s")


def random_hands(path: Path, count: int) -> str:
    """A shard with all four seats of so many hands of random players; its path."""
    settings = GeneratorSettings(
        GameConfig("hearts"), SearchConfig(), EngineConfig(device="cpu"), GamesConfig(games_per_table=512)
    )
    Generator(settings).generate(ShardPlan(0, 0, count, Seating.INITIAL, InitialConfig(), (), 1), str(path))
    return str(path)


def _now(device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="four times as many rounds")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    rounds, device = (12 if arguments.full else 3), arguments.device
    cases = []
    with tempfile.TemporaryDirectory() as scratch:
        shard = random_hands(Path(scratch) / "shard.parquet", 2000)
        data = load_data(GAME, [shard], PLAYED)
        for name, model, steps in (("paper_model", PAPER, 4), ("demo_model", DEMO, 16)):
            ours = Ours(model, "bf16", shard, Path(scratch) / name, device)
            cases.append(compared(name, ours, Theirs(model, data, device), steps, rounds))
    report(cases)


if __name__ == "__main__":
    main()
