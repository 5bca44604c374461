"""What the networks of paper 004 cost: ``python -m benchmarks.skat_policies [--full]``.

A card, the paper's 2.5 ms against Kermit's 650 (section VI): one decision alone with a choice, from deals of
``skat_rules``, by the network of its role and by ``pimc:worlds=160:evaluator=solver``, one thread. Untrained networks:
what an answer costs does not depend on what was learned.

A training of all 18: ours is ``learner.training.loop.train`` with ``precision=auto`` (bfloat16 where the processor has
matrix instructions for it) on features kept as bits. Theirs is the plain torch loop: features unpacked to float32 in
memory, ``nn.Sequential``, ``torch.optim.Adam``, one network after the other. Batches of 256.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.report import Case, report
from games.config import GameConfig
from games.registry import make_game
from games.rng import derive_many
from games.skat import rules
from learner.bits import unpacked
from learner.config import EngineConfig, LearnerConfig
from learner.model.checkpoint import save_weights
from learner.network_kind import TrainingSetup
from learner.skat_policies.architecture import NETWORKS, VALUE_SCALE, VALUES, skat_policies_architecture
from learner.skat_policies.config import SkatPoliciesConfig
from learner.skat_policies.data import PolicyData, load_policies
from learner.skat_policies.kind import KIND
from learner.skat_policies.network import SkatPolicies, initialise, inputs_of
from learner.skat_policies.objective import SkatPoliciesObjective
from learner.training.loop import train
from search.config import SearchConfig
from search.pimc.config import PimcConfig
from search.pimc.player import Pimc
from search.players.player import Player, Turns
from search.players.table import turns_at
from search.roster.kinds import support_of
from search.scripted.skat.config import SkatRulesConfig
from search.scripted.skat.rules.player import SkatRules
from search.skat_policies.config import SkatPoliciesPlayerConfig
from search.skat_policies.player import SkatPolicies as SkatPoliciesPlayer
from selfplay.config import GamesConfig, InitialConfig
from selfplay.generator import Generator, GeneratorSettings
from selfplay.plan import Seating, ShardPlan

GAME, MODEL, BATCH = make_game("skat"), SkatPoliciesConfig(), 256
GAMES = 12_000
"""Fewer hold out no discards of null."""


# ---- a card ----------------------------------------------------------------------------------------------------------


def card_turns(count: int) -> Turns:
    """Decisions of card play with a choice, each of a deal of its own, 0 to 26 cards played."""
    states, player = GAME.deal(derive_many(1, 4 * count)), SkatRules(SkatRulesConfig())
    player.start(GAME, len(states))
    ready = np.arange(len(states)) % 27
    while True:
        public = states["public"]
        waits = (public["phase"] == rules.PLAY) & (public["num_played"] >= ready) & (GAME.legal(states).sum(axis=1) > 1)
        going_on = np.flatnonzero(~waits & (public["turn"] >= 0))
        if not len(going_on):
            break
        played = states[going_on]
        turns = turns_at(GAME, played, going_on, GAME.to_move(played).astype(np.int64), derive_many(2, len(played)), 1)
        GAME.play(played, player.act(turns))
        states[going_on] = played
    states = states[states["public"]["turn"] >= 0][:count]
    rows = np.arange(len(states))
    return turns_at(GAME, states, rows, GAME.to_move(states).astype(np.int64), derive_many(3, len(rows)), 1)


def seconds_alone(player: Player, turns: Turns) -> float:
    """Processor seconds of one decision, each asked alone; the mean."""
    player.start(GAME, len(turns.game))
    began = time.process_time()
    for row in range(len(turns.game)):
        player.act(turns.take(np.array([row])))
    return (time.process_time() - began) / len(turns.game)


def cards(count: int) -> Case:
    """A card by a network and by PIMC."""
    turns, support = card_turns(count), support_of(GAME)
    net = SkatPolicies(skat_policies_architecture(GAME, MODEL))
    initialise(net, 1)
    with tempfile.TemporaryDirectory() as directory:
        save_weights(f"{directory}/net", net, GAME)
        engine = KIND.engine(f"{directory}/net", GAME, EngineConfig("cpu", "fp32"), "")
    ours = SkatPoliciesPlayer(engine, SkatPoliciesPlayerConfig(), support)
    theirs = Pimc(None, PimcConfig(worlds=160, evaluator="solver"), support)
    for player in (ours, theirs):
        seconds_alone(player, turns.take(np.arange(2)))  # to compile
    name = f"one card alone, {len(turns.game)} decisions, one thread"
    own, pimc = (1000 * seconds_alone(player, turns) for player in (ours, theirs))
    return Case("skat_policies", name, own, pimc, "ms", less_is_better=True)


# ---- a training ------------------------------------------------------------------------------------------------------


def population(path: Path) -> str:
    """A shard of games by ``skat_rules`` of several degrees of boldness, and random players; its path."""
    players = [*(f"skat_rules:aggression={a}:noise=0.05" for a in (0.2, 0.5, 0.8)), "random"]
    settings = GeneratorSettings(GameConfig("skat"), SearchConfig(), EngineConfig("cpu"), GamesConfig())
    plan = ShardPlan(0, 0, GAMES, Seating.INITIAL, InitialConfig(players, [0.3, 0.3, 0.3, 0.1]), (), 1)
    Generator(settings).generate(plan, str(path))
    return str(path)


def our_rate(shard: str, out: Path, steps: int) -> float:
    """Samples a second of ``steps`` steps of ours, behind two to warm up."""
    learner = LearnerConfig(
        batch_size=BATCH,
        max_steps=steps + 2,
        num_epochs=1000,
        log_every_steps=2,
        learning_rate=1e-3,
        schedule="constant",
        weight_decay=0.0,
        grad_clip=0.0,
        device="cpu",
        checkpoint_every_steps=0,
        precision="auto",
    )
    rates: list[float] = []
    objective = SkatPoliciesObjective(TrainingSetup(KIND, GAME, MODEL, learner, [shard]))
    train(objective, out, on_progress=lambda line: rates.append(line["decisions_per_second"]))
    return median(rates[1:])


class Plain:
    """A plain loop over one network."""

    def __init__(self, data: PolicyData, network: int) -> None:
        point, rows = NETWORKS[network], data.of(network, data.training)
        sizes = [point.bits + point.numbers, *MODEL.hidden]
        layers: list[nn.Module] = []
        for index, (a, b) in enumerate(pairwise(sizes)):
            layers += [nn.Linear(a, b), nn.ReLU(), *([nn.Dropout(MODEL.dropout)] if 1 <= index <= 3 else [])]
        self._net = nn.Sequential(*layers, nn.Linear(sizes[-1], point.actions))
        self._optimizer = torch.optim.Adam(self._net.parameters(), lr=1e-3)
        bits = unpacked(torch.from_numpy(data.bits[rows]), 8 * data.bits.shape[1])
        self._inputs = inputs_of(point, bits, torch.from_numpy(data.numbers[rows]))
        self._target = torch.from_numpy(data.target[rows].astype(np.int64))
        self._value = torch.from_numpy(data.value[rows]) / VALUE_SCALE
        self._values = network in VALUES

    def step(self) -> None:
        """One batch."""
        rows = torch.randint(len(self._inputs), (BATCH,))
        out, target = self._net(self._inputs[rows]), self._target[rows]
        if self._values:
            loss = F.mse_loss(out.gather(1, target[:, None])[:, 0], self._value[rows])
        else:
            loss = F.cross_entropy(out, target)
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()


def plain_rate(nets: Sequence[Plain], steps: int) -> float:
    """Samples a second of ``steps`` batches of every network."""
    began = time.perf_counter()
    for net in nets:
        for _ in range(steps):
            net.step()
    return steps * len(nets) * BATCH / (time.perf_counter() - began)


def training(steps: int, rounds: int) -> Case:
    """Medians over rounds in which both take their turn."""
    with tempfile.TemporaryDirectory() as directory:
        shard = population(Path(directory) / "00000.parquet")
        data = load_policies(GAME, [shard], LearnerConfig(batch_size=BATCH), MODEL.value_label)
        nets = [Plain(data, network) for network in range(len(NETWORKS))]
        plain_rate(nets, 1)
        rates = [(our_rate(shard, Path(directory) / str(i), steps), plain_rate(nets, steps)) for i in range(rounds)]
    ours, theirs = zip(*rates, strict=True)
    name = f"training all 18, batches of {BATCH}, {torch.get_num_threads()} threads"
    return Case("skat_policies", name, median(ours), median(theirs), "decisions/s")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="more decisions and steps")
    full, threads = parser.parse_args().full, torch.get_num_threads()
    torch.set_num_threads(1)
    card = cards(100 if full else 30)
    torch.set_num_threads(threads)
    report([card, training(*((20, 3) if full else (6, 2)))])


if __name__ == "__main__":
    main()
