"""Training tokens a second: ``python -m benchmarks.training [--full] [--device cuda]``.

Ours is ``learner.train`` as the presets run it: the lean network, the outcome head at eight positions of a sequence,
the precision that pays at that size. Theirs is the plain loop over the same sequences in the same process: the
transformers model, float32, the outcome loss at every position. Networks ``paper_model`` (Table 4, dropout and all,
bfloat16) and ``demo_model`` (``model=demo``, float32), random hands of Hearts, batches of 64.
"""

import argparse
import tempfile
import time
from pathlib import Path

import torch
import torch.nn.functional as F

from benchmarks.plain import PAPER, network
from benchmarks.report import Case, report
from games.hearts.game import HeartsGame
from learner.config import LearnerConfig, ModelConfig
from learner.data import TrainingData, epoch_order, load_data, make_batch
from learner.train import train
from tests.learner.material import shard_of, transformers_model

GAME = HeartsGame()
DEMO = ModelConfig(
    n_layer=2, n_head=2, n_embd=128, n_inner=512, embd_pdrop=0.0, resid_pdrop=0.0, initializer_range=0.06
)
BATCH = 64


def ours(model: ModelConfig, precision: str, shard: str, out: Path, steps: int, device: str) -> float:
    """Tokens a second of the second half of ``2 * steps`` steps."""
    config = LearnerConfig(
        batch_size=BATCH,
        max_steps=2 * steps,
        log_every_steps=steps,
        checkpoint_every_steps=0,
        outcome_positions=8,
        precision=precision,
        device=device,
    )
    rates: list[float] = []
    train(GAME, model, config, [shard], out, on_progress=lambda metrics: rates.append(metrics["tokens_per_second"]))
    return rates[-1]


def theirs(model: ModelConfig, data: TrainingData, steps: int, device: str) -> float:
    """Tokens a second of the plain loop, after one step to warm up."""
    net = transformers_model(network(GAME, model)).train()
    net.to(torch.device(device))  # type: ignore[arg-type]
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    order = epoch_order(data, 0, 0)
    tokens, began = 0, 0.0
    for step in range(steps + 1):
        if step == 1:
            tokens, began = 0, _now(device)
        batch = make_batch(data, order[step * BATCH : (step + 1) * BATCH])
        inputs, targets = batch.tokens[:, :-1], batch.tokens[:, 1:]
        valid = torch.arange(inputs.shape[1], device=inputs.device) < (batch.lengths - 1)[:, None]
        out = net(inputs)
        observation = F.cross_entropy(out.logits[valid], targets[valid])
        outcomes = batch.outcome[:, None].expand(inputs.shape)
        outcome = F.cross_entropy(out.outcome_logits[valid], outcomes[valid])
        optimizer.zero_grad()
        (0.9 * observation + 0.1 * outcome).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        tokens += batch.num_prefixes
    return tokens / (_now(device) - began)


def _now(device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="four times as many steps")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    scale, device = (4 if arguments.full else 1), arguments.device
    cases = []
    with tempfile.TemporaryDirectory() as scratch:
        shard = shard_of(GAME, Path(scratch), 2000, seed=1)
        data = load_data(GAME, [shard], 0, BATCH, 1, torch.device(device))
        for name, model, precision, steps in (
            ("paper_model", PAPER, "bf16", 4 * scale),
            ("demo_model", DEMO, "fp32", 15 * scale),
        ):
            our_rate = ours(model, precision, shard, Path(scratch) / name, steps, device)
            cases.append(Case("training", name, our_rate, theirs(model, data, steps, device), "tokens/s"))
    report(cases)


if __name__ == "__main__":
    main()
