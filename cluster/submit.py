"""Submit a command as a Ray job, show its output while it runs, and end with its exit code.

::

    kibitz submit --address http://HEAD:8265 -- python -m selfplay cluster=job experiment=hearts_paper run.dir=/shared/a

``ray job submit`` does the same but ends with 1 whatever the command's exit code was. A cluster that asks for a token
wants ``RAY_AUTH_MODE=token`` and ``RAY_AUTH_TOKEN`` here as on the head.
"""

import argparse
import asyncio
import json
import logging
import os
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from ray.exceptions import AuthenticationError
from ray.job_submission import JobDetails, JobStatus, JobSubmissionClient
from ray.runtime_env import RuntimeEnv

from cluster.actors.connection import TOKEN_HINT, probe
from cluster.errors import UserError, in_one_line
from cluster.reader import end_with_reader

_LOCAL = "http://127.0.0.1:8265"
_PORTS = {"http": 80, "https": 443}
_POLL_SECONDS = 1.0
_SAY_WAITING_SECONDS = 10.0
_PATIENCE_SECONDS = 60.0
"""How long the cluster may be out of reach before we stop waiting for the job's output."""
_STOP_SECONDS = 20.0
"""Time for a stopped job to end; a job that waits for room ends when it would begin."""
_CHATTY = ("ray.dashboard.modules.dashboard_sdk", "ray.dashboard.modules.job.sdk", "ray._private.runtime_env.packaging")
"""Loggers of Ray that report every step."""


def connect(address: str) -> JobSubmissionClient:
    """A client of the cluster whose dashboard is at ``address``, e.g. ``http://HEAD:8265``.

    Raises:
        UserError: nothing answers there, it is no Ray dashboard, or it refuses the token.
    """
    hint = "give the URL of the cluster's dashboard, such as http://HEAD:8265"
    url = urlsplit(address)
    if url.scheme not in _PORTS or not url.hostname:
        raise UserError(f"--address {address}: {hint}")
    try:
        port = url.port or _PORTS[url.scheme]
    except ValueError as error:
        raise UserError(f"--address {address}: {error}; {hint}") from error
    probe(url.hostname, port, f"--address {address}", hint)
    os.environ["RAY_API_SERVER_ADDRESS"] = address  # Ray's client prefers RAY_ADDRESS to its argument
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    with _explained(address):
        return JobSubmissionClient(address)


def runtime_env(file: str | None, working_dir: str | None) -> dict[str, Any]:
    """The job's runtime environment: a YAML file's content, if one is given, and the directory to copy to the cluster,
    by default the current one.

    Raises:
        UserError: the file or the directory cannot be read, or the file has keys that Ray does not know.
    """
    found: Any = {}
    if file is not None:
        try:
            found = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise UserError(f"--runtime-env {file}: cannot be read ({_one_line(error)})") from error
        if not isinstance(found, dict):
            raise UserError(f"--runtime-env {file}: wants keys and values, such as env_vars: {{NAME: VALUE}}")
        if unknown := found.keys() - RuntimeEnv.known_fields:
            known = ", ".join(sorted(key for key in RuntimeEnv.known_fields if not key.startswith("_")))
            raise UserError(f"--runtime-env {file}: unknown key {min(map(str, unknown))!r}; there are {known}")
    directory = str(working_dir or found.get("working_dir", "."))
    if "://" not in directory and not Path(directory).exists():
        raise UserError(f"--working-dir {directory}: no such directory")
    return {**found, "working_dir": directory}


def submit(client: JobSubmissionClient, address: str, command: Sequence[str], **options: Any) -> str:
    """Start ``command`` as a job; returns the job's id.

    Args:
        client: made by ``connect``.
        address: the cluster's name in messages.
        command: program and arguments.
        options: keyword arguments of ``JobSubmissionClient.submit_job``.

    Raises:
        UserError: the cluster refuses it: another job has the id, or the working directory is too large.
    """
    with _explained(address):
        try:
            return str(client.submit_job(entrypoint=shlex.join(command), **options))
        except RuntimeError as error:
            if "status code 413" in str(error):
                raise UserError(
                    f"--working-dir {options['runtime_env']['working_dir']}: more than the 100 MiB that the cluster "
                    "takes; name large files and directories in .rayignore"
                ) from error
            if "already exists" in str(error):
                raise UserError(
                    f"--job-id {options['submission_id']}: the cluster has a job of this name; take another, or leave "
                    "it out for a new one"
                ) from error
            raise


def follow(client: JobSubmissionClient, job: str, patience_seconds: float = _PATIENCE_SECONDS) -> int:
    """Copy a job's output to standard output until the job has ended; returns its exit code.

    Ctrl-C stops the job (130). A job that another user stopped or that died without an exit code (its machine was lost,
    say) gives 1. So does a cluster that stays out of reach.
    """
    output = _Output(client, job, patience_seconds)
    try:
        ended = asyncio.run(output.show())
    except KeyboardInterrupt:
        print(f"stopping job {job}", file=sys.stderr)
        try:
            client.stop_job(job)
            asyncio.run(asyncio.wait_for(output.show(), _STOP_SECONDS))
        except Exception as error:  # Ray's client may raise anything; the user gets a message
            why = _one_line(error) if str(error) else f"stopped, and not ended within {_STOP_SECONDS:.0f} s"
            print(f"job {job} may go on running ({why})", file=sys.stderr)
        return 130
    except TimeoutError as error:
        print(f"error: {error}; job {job} may go on running", file=sys.stderr)
        return 1
    if ended.status == JobStatus.SUCCEEDED:
        return 0
    reason = str(ended.message).partition(", last available logs")[0].partition("\n")[0]
    print(f"job {job} {ended.status.value}: {reason}", file=sys.stderr)
    code = ended.driver_exit_code or 1
    return code if code > 0 else 128 - code


class _Output:
    """The output of a job, as far as it has been shown."""

    def __init__(self, client: JobSubmissionClient, job: str, patience_seconds: float) -> None:
        self._client, self._job, self._patience = client, job, patience_seconds
        self._shown = 0

    async def show(self) -> JobDetails:
        """Show new output until the job has ended. ``TimeoutError`` if the cluster stays out of reach."""
        began, said = time.monotonic(), False
        while True:
            job = await self._details()
            if job.status != JobStatus.PENDING:
                await self._tail()
                job = await self._details()
                if job.status.is_terminal():
                    self._rest()
                    return job
            elif not said and time.monotonic() - began > _SAY_WAITING_SECONDS:
                said = True
                print(f"job {self._job} waits: {_one_line(job.message)}", file=sys.stderr)
            await asyncio.sleep(_POLL_SECONDS)

    async def _details(self) -> JobDetails:
        """The cluster's record of the job; retries until it answers."""
        began = time.monotonic()
        while True:
            try:
                return self._client.get_job_info(self._job)
            except Exception as error:  # Ray's client may raise anything while the cluster is away
                if time.monotonic() - began > self._patience:
                    raise TimeoutError(f"the cluster has not answered for {self._patience:.0f} s") from error
            await asyncio.sleep(_POLL_SECONDS)

    async def _tail(self) -> None:
        """Show output while it is made, until the job ends or the connection breaks."""
        position = 0  # every stream starts from the beginning
        with suppress(Exception):  # of any library; another stream goes on from here
            async for text in self._client.tail_job_logs(self._job):
                position = self._print(text, position)

    def _rest(self) -> None:
        """Show what the streams have missed of the output of a job that has ended, or say that it cannot be had."""
        try:
            self._print(self._client.get_job_logs(self._job), 0)
        except Exception as error:  # its machine is gone, or Ray cannot decode the output
            why = ([line.strip() for line in str(error).splitlines() if line.strip(" .")] or [type(error).__name__])[-1]
            print(f"the end of the output of job {self._job} may be missing ({why})", file=sys.stderr)

    def _print(self, text: str, position: int) -> int:
        """Print what is new of the text at a position; returns the position behind it. In characters."""
        new = text[max(self._shown - position, 0) :]
        position += len(text)
        self._shown = max(self._shown, position)
        print(new, end="", flush=True)
        return position


@contextmanager
def _explained(address: str) -> Iterator[None]:
    """Turn exceptions of Ray's client into ``UserError``."""
    try:
        yield
    except UserError:
        raise
    except AuthenticationError as error:
        raise UserError(f"{address} refuses us ({_one_line(error.message)}); {TOKEN_HINT}") from error
    except (OSError, RuntimeError, ValueError, TypeError, KeyError) as error:
        raise UserError(f"{address}: {_one_line(error)}") from error


def _one_line(message: object) -> str:
    """The first paragraph of a message, in one line."""
    return " ".join(str(message).strip().partition("\n\n")[0].split()) or type(message).__name__


def _resources(text: str) -> dict[str, float]:
    """Custom resources from JSON, for argparse."""
    try:
        return {str(name): float(amount) for name, amount in json.loads(text).items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no JSON of names and amounts, such as '{{\"disk\": 1}}'"
        ) from error


def _parser() -> argparse.ArgumentParser:
    default = os.environ.get("RAY_API_SERVER_ADDRESS") or os.environ.get("RAY_ADDRESS") or _LOCAL
    parser = argparse.ArgumentParser(prog="kibitz submit", description=__doc__.splitlines()[0])
    parser.add_argument("--address", default=default, help="URL of the cluster's dashboard (%(default)s)")
    parser.add_argument("--working-dir", help="directory to copy to the cluster (the current one), at most 100 MiB")
    parser.add_argument("--runtime-env", metavar="FILE.yaml", help="Ray's runtime environment for the job")
    parser.add_argument("--job-id", help="name of the job, one that the cluster has not seen")
    parser.add_argument("--no-wait", action="store_true", help="print the job's id and do not wait for its end")
    parser.add_argument("--entrypoint-num-cpus", type=float, metavar="N", help="CPUs reserved for the command itself")
    parser.add_argument("--entrypoint-num-gpus", type=float, metavar="N", help="GPUs, likewise")
    parser.add_argument("--entrypoint-memory", type=int, metavar="BYTES", help="memory, likewise")
    parser.add_argument("--entrypoint-resources", type=_resources, metavar="JSON", help="custom resources, likewise")
    parser.add_argument("command", nargs="+", help="after --: the command to run")
    return parser


@in_one_line
def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: the job's own, 2 for bad input, 130 after Ctrl-C."""
    chosen = _parser().parse_args(arguments)
    given = {key: value for key, value in vars(chosen).items() if key.startswith("entrypoint_") and value is not None}
    environment = runtime_env(chosen.runtime_env, chosen.working_dir)
    client = connect(chosen.address)
    job = submit(client, chosen.address, chosen.command, runtime_env=environment, submission_id=chosen.job_id, **given)
    if chosen.no_wait:
        print(job)
        print(f"its output: ray job logs --follow --address {chosen.address} {job}", file=sys.stderr)
        return 0
    print(f"job {job}", file=sys.stderr)
    return follow(client, job)


if __name__ == "__main__":
    end_with_reader()
    sys.exit(main())
