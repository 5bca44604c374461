"""The run directory: the whole state of a run; nothing else is needed to resume.

docs/operations.md lists its files. A directory may be a URI that ``pyarrow.fs`` knows (``s3://bucket/run``).
"""

from datetime import UTC, datetime
from typing import Any

from cluster.errors import UserError
from cluster.files import storage
from cluster.foreign import check_format
from cluster.provenance import Provenance, provenance
from learner.config import FREE_ENGINE_KEYS, FREE_LEARNER_KEYS
from selfplay.config import TrainConfig
from selfplay.recorded import FORMAT, SETTINGS_FILE, check_recorded, plain, record_settings, recorded_settings

_FREE_TO_CHANGE = frozenset(
    [
        *("cluster", "evaluation", "run.dir", "selfplay.iterations", "tracker"),
        "game.options.boards_digest",  # beside the option that it is of; shards have it too
        *("selfplay.games_per_table", "search.given", *(f"engine.{key}" for key in FREE_ENGINE_KEYS)),
        *(f"{learner}.{key}" for learner in ("learner", "initial_learner") for key in FREE_LEARNER_KEYS),
    ]
)
"""Keys that may differ between the commands of one run: they change its networks by rounding errors at most, but for
``cluster.generators`` with ``selfplay.games_per_shard=0`` (``selfplay.shard_sizes``)."""


class RunDirectory:
    """Names and small files of one run directory."""

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/")
        self.logs = f"{self.root}/logs"
        """Directory of the log files, of the driver and of each actor."""

    def iteration(self, iteration: int) -> str:
        """Directory of one iteration."""
        return f"{self.root}/iterations/{iteration:03d}"

    def shard(self, iteration: int, name: str) -> str:
        """Path of a shard by its file name."""
        return f"{self.iteration(iteration)}/shards/{name}"

    def checkpoint(self, iteration: int) -> str:
        """Directory of an iteration's network."""
        return f"{self.iteration(iteration)}/checkpoint"

    def metrics(self, iteration: int) -> str:
        """Figures of generating and training an iteration."""
        return f"{self.iteration(iteration)}/metrics.json"

    def shard_size(self, iteration: int) -> str:
        """Deals of an iteration's shards, where ``selfplay.games_per_shard`` leaves them open."""
        return f"{self.iteration(iteration)}/shards.json"

    def successes(self, iteration: int) -> str:
        """Deals of each kind that an iteration played, and how many succeeded, for games with kinds of deal."""
        return f"{self.iteration(iteration)}/successes.json"

    def tournament(self, iteration: int) -> str:
        """An iteration's tournaments against the baselines."""
        return f"{self.iteration(iteration)}/tournament.json"

    def gate(self, iteration: int) -> str:
        """An iteration's tournament against the best earlier network (``selfplay.gate``)."""
        return f"{self.iteration(iteration)}/gate.json"

    def result(self, name: str) -> str:
        """A file among the results."""
        return f"{self.root}/results/{name}"

    def trained(self, iteration: int) -> bool:
        """Whether an iteration has its network."""
        return storage.exists(self.metrics(iteration)) and storage.is_published(self.checkpoint(iteration))

    def finished(self, iterations: int) -> bool:
        """Whether a command with at least so many iterations has finished, and its networks exist."""
        state = self.state()
        came_to_its_end = state.get("stage") == "finished" and state.get("iteration", -1) >= iterations
        return came_to_its_end and all(self.trained(iteration) for iteration in range(iterations + 1))

    # ---- config and state

    def check(self, config: TrainConfig) -> None:
        """Check that an existing run was started with these settings.

        Raises:
            UserError: it was not; names the first key that differs.
        """
        path = f"{self.root}/{SETTINGS_FILE}"
        theirs = recorded_settings(path)
        if theirs is None:
            return
        iterations, before = config.selfplay.iterations, theirs.get("selfplay", {}).get("iterations", 0)
        if iterations < before:
            raise UserError(
                f"{path}: this run has selfplay.iterations={before}, the command says {iterations}; "
                f"a run can be made longer, not shorter"
            )
        to = "resume it, or another run.dir"
        check_recorded(path, theirs, plain(config), _FREE_TO_CHANGE, "this run was started", to)

    def begin(self, config: TrainConfig) -> None:
        """Write ``config.yaml``; replaces an earlier command's, which ``check`` has compared."""
        record_settings(f"{self.root}/{SETTINGS_FILE}", config)
        self.record_code(provenance())

    def record_code(self, code: Provenance) -> None:
        """Record the code of this command: an entry in ``provenance.json`` and, for a changed checkout, its changes in
        a ``code*.diff``. The records of earlier commands stay."""
        path = f"{self.root}/provenance.json"
        commands = storage.read_json(path) if storage.exists(path) else []
        diff = f"code{f'.{len(commands)}' if commands else ''}.diff" if code.diff else ""
        if diff:
            storage.write_bytes_atomic(f"{self.root}/{diff}", code.diff.encode())
        began = datetime.now(UTC).isoformat(timespec="seconds")
        now: dict[str, Any] = {"began": began, "version": code.version, "revision": code.revision}
        now |= {"diff": diff, "untracked": list(code.untracked)}
        storage.write_json_atomic(path, [*commands, now])

    def state(self) -> dict[str, Any]:
        """``iteration`` and ``stage`` at work; empty before the first stage. ``UserError`` for a damaged file."""
        path = f"{self.root}/state.json"
        if not storage.exists(path):
            return {}
        try:
            state = dict(storage.read_json(path))
            check_format(state.pop("format", None), FORMAT)
            if not isinstance(state["iteration"], int) or not isinstance(state["stage"], str):
                raise ValueError(f"iteration {state['iteration']!r}, stage {state['stage']!r}")
        except UserError:
            raise
        except (ValueError, TypeError, KeyError) as error:
            raise UserError(f"{path}: is damaged ({error}); remove it") from error
        return state

    def write_state(self, iteration: int, stage: str) -> None:
        """Record the iteration and stage at work."""
        storage.write_json_atomic(f"{self.root}/state.json", {"format": FORMAT, "iteration": iteration, "stage": stage})
