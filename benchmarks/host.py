"""What a core decides beside a device that costs it nothing: ``python -m benchmarks.host [--full]``.

Hearts, with a trunk that computes nothing: rules, bookkeeping, features and searches remain. Decisions (turns with a
choice) a second of processor time, so that other work on the machine counts little, where answers come at once:

* ``argmax_val_told``: whole tables of 1,024 deals, everybody ArgmaxVal* with a network that is told all that the rules
  know, against one that is told nothing;
* ``argmax_val_ten``: ten networks at every table, told nothing, against one;
* ``go_mcts``: 128 searches side by side, the paper's parameters (section 9.3), against ``search.go_mcts.plain``.

Then, where each pass keeps the trunk busy for a millisecond (``*_1_ms``), decisions a second, less the time in which
other processes had the core, against their bound: as if host and trunk worked at the same time, and took as long as the
slower one.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import numpy as np

from benchmarks.plain import History, hearts_turns, history_of, network
from benchmarks.report import Case, report
from benchmarks.told import told
from benchmarks.trunks import CONFIG, GAME, Work, engine_of, searches, self_play
from learner.config import EngineConfig, TransformerConfig
from learner.inference.engine import QueryEngine
from learner.inference.packing import Pass
from learner.inference.trunk import Trunk
from learner.model.rule_inputs import NO_INPUTS, RuleInputs
from search.go_mcts.plain import PlainGoMcts
from search.go_mcts.player import GoMcts
from search.players.asking import deciding, together

NETWORK = TransformerConfig(n_layer=1, n_head=1, n_embd=16)
"""As its trunk is replaced, the size only says how many tokens the cache holds: half a million."""
TURNS = hearts_turns(128, seed=1)
_OVER = object()


class Stub:
    """A trunk whose answers were drawn beforehand; each pass keeps it busy for so many seconds."""

    def __init__(self, seconds: float = 0.0) -> None:
        rng, count = np.random.default_rng(1), 2**14
        self.next_token = rng.dirichlet(np.ones(GAME.vocabulary.size), count).astype(np.float32)
        self.values = rng.random(count, np.float32)
        self._seconds, self._answered, self._free, self.busy = seconds, 0, 0.0, 0.0

    def start(
        self, plan: Pass, valued: np.ndarray, look_ahead: bool, inputs: RuleInputs = NO_INPUTS
    ) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
        """See ``learner.inference.trunk.Trunk``: passes come one after the other, beside the host."""
        self._free = ends = max(self._free, time.monotonic()) + self._seconds
        self.busy += self._seconds
        count = len(plan.answered)
        first = self._answered % (len(self.values) - count)
        self._answered += count
        asked = count if look_ahead else len(plan.lengths)

        def answer() -> tuple[np.ndarray, np.ndarray]:
            if self._seconds:
                time.sleep(max(0.0, ends - time.monotonic()))
            return self.next_token[first : first + asked], self.values[first : first + len(valued)]

        return answer

    def plain(self, history: History) -> tuple[np.ndarray, float]:
        """The same for ``search.go_mcts.plain``."""
        at = hash(history) % len(self.values)
        return self.next_token[at], float(self.values[at])


def engines(trunk: Stub, config: TransformerConfig = NETWORK, networks: int = 1) -> list[QueryEngine]:
    """Engines in one pool that ask this trunk, as those of a GPU do."""
    made = [engine_of(network(GAME, config), EngineConfig(device="cpu", cache_mb=64))]
    pool = made[0].pool
    made += [engine_of(network(GAME, config), pool.config, pool) for _ in range(networks - 1)]
    pool.beside, pool.together = True, not config.features
    for each in made:
        each.network = cast(Trunk, trunk)
    return made


def tables(trunk: Stub, networks: int = 1, config: TransformerConfig = NETWORK) -> Work:
    """Whole tables of so many networks."""
    return self_play(1024, *engines(trunk, config, networks))


def go_mcts(trunk: Stub, repetitions: int) -> Work:
    """All turns side by side."""
    return searches(engines(trunk)[0], CONFIG, [np.arange(len(TURNS.game))] * (repetitions + 1), TURNS)


def in_halves(trunk: Stub, count: int = 256) -> Work:
    """So many turns, in two halves that take turns as those of a table do."""
    player, turns = GoMcts(engines(trunk)[0], CONFIG), hearts_turns(count, seed=1)
    player.start(GAME, count)
    rows = np.array_split(np.arange(count), 2)

    def work(repetition: int) -> int:
        halves = [together([deciding(player, turns.take(half))], time.perf_counter) for half in rows]
        while halves:
            halves = [half for half in halves if next(half, _OVER) is not _OVER]
        player.forget(turns.game)
        return count

    return work


def plain_go_mcts(trunk: Stub) -> Work:
    """Repetition ``n`` is the plain version on turn ``n``."""

    def work(repetition: int) -> int:
        search = PlainGoMcts(GAME, trunk.plain, CONFIG, int(TURNS.seeds[repetition]))
        search.search(history_of(TURNS, repetition))
        return 1

    return work


def rate(work: Work, repetitions: int) -> float:
    """Decisions a second of processor time, without a first repetition."""
    work(0)
    began = time.process_time()
    decisions = sum(work(repetition) for repetition in range(1, repetitions + 1))
    return decisions / (time.process_time() - began)


def waited() -> float:
    """Seconds in which this thread could have run and others did, as far as the machine tells."""
    tells = Path("/proc/thread-self/schedstat")
    return int(tells.read_text().split()[1]) / 1e9 if tells.exists() else 0.0


def beside(case: str, trunk: Stub, work: Work) -> Case:
    """Decisions a second with a trunk that takes its time, and their bound, without a first repetition."""
    work(0)
    trunk.busy, host, took = 0.0, time.process_time(), time.perf_counter() - waited()
    decisions = work(1)
    host, took = time.process_time() - host, time.perf_counter() - waited() - took
    return Case("host", case, decisions / took, decisions / max(host, trunk.busy), "decisions/s")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="four times as many decisions")
    scale = 4 if parser.parse_args().full else 1
    one, slow = rate(tables(Stub()), scale), Stub(0.001)
    pairs = {
        "argmax_val_told": (rate(tables(Stub(), config=told(NETWORK)), scale), one),
        "argmax_val_ten": (rate(tables(Stub(), networks=10), scale), one),
        "go_mcts": (rate(go_mcts(Stub(), scale), scale), rate(plain_go_mcts(Stub()), 4 * scale)),
    }
    works = {"argmax_val": tables(slow), "argmax_val_ten": tables(slow, networks=10), "go_mcts": in_halves(slow)}
    cases = [Case("host", case, *both, "decisions/s") for case, both in pairs.items()]
    report(cases + [beside(f"{case}_1_ms", slow, work) for case, work in works.items()])


if __name__ == "__main__":
    main()
