"""Find damaged files of a run, and what to remove so that its command makes them again: ``kibitz verify RUN``.

Reads every file that the loop may read: settings, shards (page checksums; seed, iteration and number must match the
path), checkpoints (digests of all files), tournaments and figures. Also checks a directory of ``kibitz generate``. A
file is made again from the seed, bit for bit on the same machine, so later files that depend on it can stay.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from omegaconf import OmegaConf

from cluster import cli
from cluster.errors import UserError, blaming_input, in_one_line
from cluster.files import copies, storage, uris
from cluster.files.digests import check_digests, read_digests
from cluster.files.scratch import scratch
from cluster.foreign import parse_json, printable
from cluster.reader import end_with_reader
from cluster.watching.progress import Progress
from games.game import Game
from games.registry import recorded_game
from games.rng import derive
from games.shards import ShardError, find_shards, read_shard, shard_info
from learner import kinds
from learner.model.checkpoint import TRAINING, WEIGHTS_FILE
from learner.training.resume import partial_path
from selfplay.config import GenerateConfig, TrainConfig
from selfplay.evaluation import stored
from selfplay.generate import planned
from selfplay.plan import ShardPlan, check_shard, plan_shards
from selfplay.recorded import SETTINGS_FILE, recorded_settings
from selfplay.run_directory import RunDirectory
from selfplay.shard_sizes import read_shard_size, sized
from selfplay.successes import read_successes

T = TypeVar("T")

_ADVICE = re.compile("; (?:remove|restore) ")
"""Start of the advice in messages, which is replaced here."""
_ROWS = 2**18
_FOREIGN = "belongs to nothing that this directory was made for"


@dataclass(frozen=True)
class Check:
    """Check of a file, or of a directory that is published whole."""

    path: str
    read: Callable[[], object]
    """Raises ``ValueError`` or ``OSError`` if it is damaged or misplaced."""
    remove: tuple[str, ...]
    """Paths to remove then, for the same command to make it again."""


@in_one_line
def main(arguments: list[str] | None = None) -> int:
    """Entry point; 0 where nothing is damaged, 1 where something is, 2 after one line on what is wrong."""
    parser = argparse.ArgumentParser(prog="kibitz verify", description="Say what of a run is damaged.")
    parser.add_argument("run", help="run directory, or directory of shards; local path or URI")
    parser.add_argument("--game", default="", help="a game of your own that it is of, as module:attribute")
    given = parser.parse_args(arguments)
    root = given.run.rstrip("/")
    with blaming_input():
        checks = list(checks_of(root, given.game))
    damaged = 0
    with Progress("checking", len(checks), "files") as progress:
        for number, check in enumerate(checks, 1):
            if found := damage(check):
                damaged += 1
                print(printable(found), flush=True)
            progress.update(number)
    print(f"{root}: {len(checks)} files checked, {damaged} damaged")
    if damaged:
        print("Remove what is named, and give the command of this directory again.")
    return int(damaged > 0)


def damage(check: Check) -> str:
    """The line about a damaged or misplaced file; empty for a good file."""
    try:
        check.read()
    except (ValueError, OSError, LookupError, AttributeError, TypeError, OverflowError) as error:  # damaged files' own
        text = str(error) if isinstance(error, ValueError | OSError) else repr(error)
        reason = _ADVICE.split(text.partition("\n")[0])[0].removeprefix(check.path).lstrip(": ")
        remove = [path for path in check.remove if path != check.path or storage.exists(path)]
        return f"{check.path}: {reason}; remove {' '.join(remove)}"
    return ""


def checks_of(root: str, own: str = "") -> Iterator[Check]:
    """All checks of a directory; only of its settings where their record is damaged, because its contents follow from
    them. ``own``: the user's name for the game, see ``recorded_game``. ``UserError`` for a directory without run or
    shards."""
    names = set(storage.list_names(root))
    is_run = bool({"iterations", "state.json", "provenance.json"} & names)
    if not is_run and not any(name.endswith(".parquet") for name in names):
        raise UserError(f"{root}: no run is there and no shards; name a run.dir or the out of kibitz generate")
    settings, schema = f"{root}/{SETTINGS_FILE}", TrainConfig if is_run else GenerateConfig
    try:
        recorded = recorded_settings(settings)
        config = None if recorded is None else cli.build(OmegaConf.create(recorded), schema)
    except UserError as error:
        if isinstance(missing := error.__cause__, kinds.UnusableKindError):  # a package that is missing is no damage
            raise UserError(f"{settings}: {missing}") from error
        yield _bad(settings, f"{error}")
        return
    if isinstance(config, TrainConfig):
        yield from _run(config, RunDirectory(root), own)
    elif is_run:
        raise UserError(f"{settings}: is missing; give the run's command with its settings, which writes it anew")
    else:
        yield from _shards(config if isinstance(config, GenerateConfig) else None, root, own)


# ---- a run -----------------------------------------------------------------------------------------------------------


def _run(config: TrainConfig, run: RunDirectory, own: str) -> Iterator[Check]:
    settings = f"{run.root}/{SETTINGS_FILE}"
    game = recorded_game(settings, config.game.name, config.game.options, own)
    yield Check(settings, lambda: None, ())  # it has been read
    yield from _if_there(f"{run.root}/state.json", lambda _: run.state())
    yield from _if_there(f"{run.root}/provenance.json", storage.read_json)
    yield from _if_there(f"{run.root}/metrics.jsonl", _read_lines, remove="that line")
    yield from _if_there(run.result("tournament.json"), stored)
    iterations = range(config.selfplay.iterations + 1)
    wanted = {run.iteration(i) for i in iterations}
    for name in storage.list_names(f"{run.root}/iterations"):
        if (path := f"{run.root}/iterations/{name}") not in wanted:
            yield _bad(path, _FOREIGN)
    for iteration in iterations:
        yield from _iteration(config, game, run, iteration)


def _iteration(config: TrainConfig, game: Game, run: RunDirectory, iteration: int) -> Iterator[Check]:
    metrics = run.metrics(iteration)
    finished = storage.exists(metrics)
    also = (metrics,) if finished else ()  # the loop takes an iteration with this file for done
    yield from _if_there(metrics, lambda path: dict(storage.read_json(path)))
    for path in (run.tournament(iteration), run.gate(iteration)):
        yield from _if_there(path, stored)
    successes = run.successes(iteration)
    own = iteration > 0 or not config.selfplay.first_network
    elsewhere = iteration == 0 and bool(config.selfplay.initial.shards)
    if game.scenarios and ((finished and own and not elsewhere) or storage.exists(successes)):
        yield Check(successes, partial(read_successes, successes), (successes, *also))
    seed, there = config.run.seed, storage.list_names(f"{run.iteration(iteration)}/shards")
    sizes = run.shard_size(iteration)
    if storage.exists(sizes):
        yield Check(sizes, partial(read_shard_size, sizes), (run.iteration(iteration),))
    try:
        selfplay = sized(config.selfplay, run, iteration)
    except UserError as error:
        if not storage.exists(sizes):
            yield _bad(sizes, str(error), remove=run.iteration(iteration))
        return
    plans = [] if elsewhere else plan_shards(selfplay, iteration, seed, game.cooperative, run.checkpoint)
    for plan in plans:
        if finished or plan.name in there:
            path = run.shard(iteration, plan.name)
            yield Check(path, partial(_read_shard, path, game, plan), (path, *also))
    for name in sorted(set(there) - {plan.name for plan in plans}):
        yield _bad(run.shard(iteration, name), _FOREIGN)
    checkpoint = run.checkpoint(iteration)
    training_seed = derive(seed, "train", iteration) % 2**63 if own else None
    if finished or storage.exists(checkpoint):
        yield Check(checkpoint, partial(_read_checkpoint, checkpoint, game, training_seed), (checkpoint, *also))
    for step in storage.list_names(partial_path(checkpoint)):
        path = f"{partial_path(checkpoint)}/{step}"
        if storage.is_published(path):
            yield Check(path, partial(_read_checkpoint, path, game, training_seed), (path,))


def _read_checkpoint(path: str, game: Game, seed: int | None) -> None:
    """``ValueError`` if a file of the checkpoint is damaged, or it was trained for another iteration or run; ``seed``:
    None for a network that was taken over, without the state of its training."""
    if not storage.exists(path):
        raise ValueError("is missing")
    with scratch("kibitz-verify-") if uris.is_remote(path) else nullcontext(Path()) as fetched:
        directory = Path(uris.resolve(path)[1])
        if uris.is_remote(path):
            directory = fetched / "checkpoint"
            copies.fetch(path, directory)
        try:
            check_digests(directory, [name for name in read_digests(directory) if name != WEIGHTS_FILE])
            kinds.of_checkpoint(directory).load(directory, game)  # checks the weights too
            state = storage.read_json(directory / f"{TRAINING}/state.json") if seed is not None else {}
        except (ValueError, OSError) as error:
            raise ValueError(str(error).replace(f"{directory}/", "").replace(str(directory), path)) from error
        if seed is not None and state["settings"]["seed"] != seed:
            raise ValueError("was trained with another seed than this iteration's")


def _read_lines(path: str) -> None:
    for number, line in enumerate(storage.read_bytes(path).splitlines(), 1):
        try:
            parse_json(line)
        except ValueError as error:
            raise ValueError(f"line {number} is not JSON ({error})") from error


# ---- shards ----------------------------------------------------------------------------------------------------------


def _shards(config: GenerateConfig | None, root: str, own: str) -> Iterator[Check]:
    """The shards of a directory; without recorded settings each is checked by itself."""
    plans = {plan.name: plan for plan in planned(config)} if config else {}
    recorded = recorded_game(f"{root}/{SETTINGS_FILE}", config.game.name, config.game.options, own) if config else None
    for path in find_shards(root):
        name = path.rpartition("/")[2]
        if config and name not in plans:
            yield _bad(path, _FOREIGN)
            continue
        game = recorded or _game_of(path, own)
        yield Check(path, partial(_read_shard, path, game, plans.get(name)), (path,))


def _game_of(path: str, own: str) -> Game | None:
    """The game of a shard, None if unnamed; ``ValueError`` for an unknown game, which is no damage."""
    try:
        info = shard_info(path)
    except ShardError:
        return None
    return recorded_game(path, info.game, info.options, own)


def _read_shard(path: str, game: Game | None, plan: ShardPlan | None) -> None:
    """``ValueError`` if the shard is damaged, or not the shard of ``plan``; ``game``: None if unnamed."""
    if not storage.exists(path):
        raise ValueError("is missing")
    if plan is not None:
        check_shard(plan, path)
    count = shard_info(path).num_sequences
    if game is not None:  # so many rows at once, as a small file may have very many
        for first in range(0, count or 1, _ROWS):
            read_shard(path, game, range(first, min(first + _ROWS, count)))


# ---- any file --------------------------------------------------------------------------------------------------------


def _if_there(path: str, read: Callable[[str], Any], remove: str = "") -> Iterator[Check]:
    if storage.exists(path):
        yield Check(path, partial(read, path), (remove or path,))


def _bad(path: str, reason: str, remove: str = "") -> Check:
    """A check that fails for a known reason."""

    def read() -> None:
        raise ValueError(reason)

    return Check(path, read, (remove or path,))


if __name__ == "__main__":
    end_with_reader()
    sys.exit(main())
