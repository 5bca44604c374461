"""What AlphaHearts Zero's search costs on one core: ``python -m benchmarks.alphahearts [--full]``.

Decisions with a choice all over deals of ``hearts_no_pass``, by ``alphahearts:worlds=10:iterations=200``: all decisions
of a table side by side, and a decision alone. Theirs is paper 002's algorithm written plainly
(``search.alphahearts.plain``) over the same compiled rules: in one of the worlds of every decision, an iteration at a
time and one call of the network for each action that leaves a choice. Its rate is that of ten worlds one after the
other.

The network is ``fc``, three hidden layers of 256, untrained: what an answer costs does not depend on what was learned.
Ours asks it by ``QEngine`` as players do: batches of a table in bfloat16 where the processor has instructions for it,
the few states of a decision alone in compiled loops. The plain search calls the torch module in float32, which is
faster there. Time is processor time of this process; of the plain search a tenth of the iterations is measured.
"""

import argparse
import time
from tempfile import TemporaryDirectory

import numpy as np
import torch

from benchmarks.report import Case, report
from games.hearts.game import HeartsGame
from games.rng import derive_many, mix
from learner.config import EngineConfig, QNetworkConfig
from learner.model.checkpoint import save_weights
from learner.q_network.architecture import q_architecture, state_features
from learner.q_network.engine import QEngine
from learner.q_network.kind import KIND as Q_KIND
from learner.q_network.network import QNet, initialise
from learner.state_model import StateModel
from search.alphahearts.config import AlphaHeartsConfig
from search.alphahearts.plain import PlainAlphaHearts
from search.alphahearts.player import AlphaHearts
from search.players.player import Turns
from search.players.random_player import choose_uniformly
from search.players.table import turns_at
from search.uct.search import unit_utility

GAME = HeartsGame(pass_cards=False, no_pts_on_first_trick=False, must_break_hearts=False, free_first_lead=True)
CONFIG, SAMPLE = AlphaHeartsConfig(), 20
"""``SAMPLE``: iterations of a plain search that are measured."""


class PlainNetwork:
    """``StateModel`` that calls the torch module."""

    def __init__(self, net: QNet) -> None:
        self._net = net

    @torch.inference_mode()
    def values(self, states: np.ndarray, seats: np.ndarray) -> np.ndarray:
        """See ``StateModel``."""
        return np.asarray(self._net(torch.from_numpy(state_features(GAME).encode(states, seats))).numpy())


def engine_of(net: QNet) -> QEngine:
    """What players ask: ``net`` as read from a checkpoint."""
    with TemporaryDirectory() as directory:
        save_weights(f"{directory}/fc", net, GAME)
        engine: QEngine = Q_KIND.engine(f"{directory}/fc", GAME, EngineConfig("cpu", "auto"), "")
        return engine


def decisions(count: int) -> tuple[np.ndarray, Turns]:
    """True states and turns, one of each of so many random deals, 0 to 47 cards played, with a choice."""
    states, ready = GAME.deal(derive_many(1, count)), np.arange(count) * 48 // count
    for ply in range(52):
        legal = GAME.legal(states)
        going_on = np.flatnonzero((ready > ply) | (legal.sum(axis=1) < 2))
        played = states[going_on]
        GAME.play(played, choose_uniformly(legal[going_on], mix(derive_many(2, count)[going_on], ply)))
        states[going_on] = played
    states = states[GAME.to_move(states) >= 0]
    rows = np.arange(len(states))
    return states, turns_at(GAME, states, rows, GAME.to_move(states).astype(np.int64), derive_many(3, len(rows)), 1)


def plain_seconds(model: StateModel, states: np.ndarray) -> float:
    """Processor seconds of a decision."""
    utility, began = unit_utility(GAME, CONFIG.utility), time.process_time()
    for row in range(len(states)):
        PlainAlphaHearts(GAME, model, states[row : row + 1], row, utility, CONFIG.exploration).search(SAMPLE)
    return (time.process_time() - began) / len(states) * CONFIG.worlds * CONFIG.iterations / SAMPLE


def our_seconds(model: StateModel, turns: Turns) -> float:
    """Processor seconds of a decision of these, side by side."""
    player = AlphaHearts(model, CONFIG)
    player.start(GAME, len(turns.game))
    began = time.process_time()
    player.act(turns)
    return (time.process_time() - began) / len(turns.game)


def cases(count: int) -> list[Case]:
    """Decisions a second at a table of ``count``, and alone."""
    torch.set_num_threads(1)
    states, turns = decisions(count)
    net = QNet(q_architecture(GAME, QNetworkConfig()))
    initialise(net, 1)
    engine, plain = engine_of(net), PlainNetwork(net)
    few = np.linspace(0, len(states) - 1, 6).astype(int)
    our_seconds(engine, turns.take(few[-1:]))  # to warm up
    plain_seconds(plain, states[few[-1:]])
    table, theirs = our_seconds(engine, turns), plain_seconds(plain, states[few])
    alone = float(np.mean([our_seconds(engine, turns.take(few[i : i + 1])) for i in range(len(few))]))
    name = f"alphahearts:worlds={CONFIG.worlds}:iterations={CONFIG.iterations}"
    return [
        Case("alphahearts", f"{name}, {len(states)} decisions side by side", 1 / table, 1 / theirs, "decisions/s"),
        Case("alphahearts", f"{name}, one decision alone", 1 / alone, 1 / theirs, "decisions/s"),
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="a table of 400 deals instead of 100")
    report(cases(400 if parser.parse_args().full else 100))


if __name__ == "__main__":
    main()
