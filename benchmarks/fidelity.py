"""Are the decisions those of the plain algorithms? ``python -m benchmarks.fidelity [--full]``.

The fast players against the plain ones on transformers' GPT2Model (``benchmarks.plain``), turn by turn on fixed turns
of Hearts: how many decisions are the same, and how far apart the values of the chosen actions are (mean and largest, in
units of the utility).

* ``argmax_val_fp32``, ``go_mcts_fp32``: exact. The plain arithmetic up to the order of float32 sums: all decisions are
  to be the same.
* ``argmax_val_bf16``, ``go_mcts_bf16``: not exact. Products rounded to three digits; how often that decides otherwise
  is what is measured. One sample that falls the other way changes a tree, so GO-MCTS differs more often.

``argmax_val_*`` have the paper-size model and 1,000 turns (100 without ``--full``); ``go_mcts_*`` have the paper's
search parameters with 20 runs, a model of two layers and 1,000 turns (30 without ``--full``).
"""

import argparse
import json

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.plain import PAPER, PlainModel, hearts_turns, history_of, network, plain_argmax_val
from benchmarks.report import machine
from games.hearts.game import HeartsGame
from learner.config import EngineConfig, TransformerConfig
from learner.inference.engine import QueryEngine
from search.go_mcts.config import GoMctsConfig
from search.go_mcts.plain import PlainGoMcts
from search.go_mcts.player import GoMcts
from search.players.argmax_val import ArgmaxVal
from search.players.config import ArgmaxValConfig
from search.players.player import Turns

GAME = HeartsGame()
UTILITY = GAME.outcomes.utility("")
SMALL = TransformerConfig(n_layer=2, n_head=2, n_embd=64, initializer_range=0.1)
SEARCH = GoMctsConfig(num_runs=20, mask_impossible=True)


def argmax_val_decisions(turns: Turns, precision: str) -> np.ndarray:
    """Ours, all in one batch."""
    player = ArgmaxVal(QueryEngine(network(GAME, PAPER), UTILITY, EngineConfig(precision=precision)), ArgmaxValConfig())
    player.start(GAME, len(turns.game))
    return player.act(turns)


def go_mcts_decisions(turns: Turns, precision: str) -> np.ndarray:
    """Ours, all side by side."""
    player = GoMcts(QueryEngine(network(GAME, SMALL), UTILITY, EngineConfig(precision=precision)), SEARCH)
    player.start(GAME, len(turns.game))
    return player.act(turns)


def differences(
    name: str, ours: np.ndarray, theirs: np.ndarray, turns: Turns, model: PlainModel
) -> dict[str, float | int | str]:
    """One line of the report; values of both choices by the plain model."""
    other = np.flatnonzero(ours != theirs).tolist()
    gaps = [
        abs(model((*history_of(turns, row), int(ours[row])))[1] - model((*history_of(turns, row), int(theirs[row])))[1])
        for row in other
    ]
    return {
        "benchmark": "fidelity",
        "case": name,
        "turns": len(ours),
        "same": 1 - len(other) / len(ours),
        "mean_value_difference": float(np.sum(gaps) / len(ours)),
        "largest_value_difference": float(max(gaps, default=0.0)),
        "machine": machine(),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="1,000 turns of each: half an hour")
    full = parser.parse_args().full
    lines = []
    turns, model = hearts_turns(1000 if full else 100, seed=4), PlainModel(network(GAME, PAPER), UTILITY)
    plain = [
        plain_argmax_val(model, history_of(turns, row), np.flatnonzero(turns.legal[row]), ArgmaxValConfig().threshold)
        for row in range(len(turns.game))
    ]
    for precision in ("fp32", "bf16"):
        ours = argmax_val_decisions(turns, precision)
        lines.append(differences(f"argmax_val_{precision}", ours, np.array(plain), turns, model))
    turns, model = hearts_turns(1000 if full else 30, seed=5), PlainModel(network(GAME, SMALL), UTILITY)
    searches = [PlainGoMcts(GAME, model, SEARCH, int(seed)) for seed in turns.seeds]
    plain = [search.search(history_of(turns, row)) for row, search in enumerate(searches)]
    for precision in ("fp32", "bf16"):
        ours = go_mcts_decisions(turns, precision)
        lines.append(differences(f"go_mcts_{precision}", ours, np.array(plain), turns, model))
    table = Table(title=machine(), title_justify="left")
    for heading in ("case", "turns", "same", "mean_value_difference", "largest_value_difference"):
        table.add_column(heading)
    for line in lines:
        table.add_row(*(f"{line[key]:.4g}" if key != "case" else str(line[key]) for key in list(line)[1:6]))
    Console().print(table)
    print(json.dumps(lines))


if __name__ == "__main__":
    main()
