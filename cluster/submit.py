"""Submit a command as a Ray job, show its output, and end with its exit code.

::

    python -m cluster.submit --address http://HEAD:8265 -- python -m selfplay experiment=hearts_paper run.dir=/shared/a

``ray job submit`` does the same but ends with 1 whatever the command's exit code was. The cluster asks for a token:
set ``RAY_AUTH_MODE=token`` and ``RAY_AUTH_TOKEN`` here as on the head.
"""

import argparse
import shlex
import sys
import time
from collections.abc import Sequence

from ray.job_submission import JobStatus, JobSubmissionClient

_POLL_SECONDS = 0.5


def submit(address: str, command: Sequence[str], working_dir: str = ".", job_id: str | None = None) -> int:
    """Run ``command`` as a job, its output copied to standard output; returns its exit code.

    Ctrl-C stops the job. A job that died without an exit code (its machine was lost, say) returns 1.

    Args:
        address: the dashboard's URL, e.g. ``http://HEAD:8265``.
        command: program and arguments.
        working_dir: directory to copy to the cluster, without what ``.gitignore`` and ``.rayignore`` name; at most
            100 MiB. It is the job's working directory.
        job_id: name of the job; a second submission under the same name is refused. None for a new name.
    """
    client = JobSubmissionClient(address)
    job = client.submit_job(
        entrypoint=shlex.join(command), runtime_env={"working_dir": working_dir}, submission_id=job_id
    )
    print(f"job {job}", file=sys.stderr)
    shown = 0
    status = JobStatus.PENDING
    try:
        while not status.is_terminal():
            time.sleep(_POLL_SECONDS)
            status = client.get_job_status(job)
            text = client.get_job_logs(job)
            print(text[shown:], end="", flush=True)
            shown = len(text)
    except KeyboardInterrupt:
        client.stop_job(job)
        return 130
    ended = client.get_job_info(job)
    if status != JobStatus.SUCCEEDED:
        print(f"job {job} {status}: {ended.message}", file=sys.stderr)
    return ended.driver_exit_code if ended.driver_exit_code is not None else int(status != JobStatus.SUCCEEDED)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m cluster.submit", description=__doc__.splitlines()[0])
    parser.add_argument("--address", default="http://127.0.0.1:8265", help="URL of the cluster's dashboard")
    parser.add_argument("--working-dir", default=".", help="directory to copy to the cluster")
    parser.add_argument("--job-id", help="name of the job")
    parser.add_argument("command", nargs="+", help="after --: the command to run")
    chosen = parser.parse_args(arguments)
    try:
        return submit(chosen.address, chosen.command, chosen.working_dir, chosen.job_id)
    except (ConnectionError, RuntimeError, ValueError) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
