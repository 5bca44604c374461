"""Jobs on a head of ``ray start`` that asks for a token, submitted as people submit them."""

import secrets
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from ray.job_submission import JobStatus

from cluster.submit import follow, main
from tests.cluster.heads import PATIENCE, ROOT, Head, started

SLOW = pytest.mark.slow


@pytest.fixture(scope="module")
def head() -> Iterator[Head]:
    with started() as head:
        yield head


def hear_ctrl_c() -> None:
    """As a terminal starts a command; one that is in the background there ignores it, and so do all below."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@SLOW
def test_a_jobs_output_is_shown_once_and_its_exit_code_is_ours(head: Head, tmp_path: Path) -> None:
    (tmp_path / "hello.py").write_text("import os, sys\nfor i in range(40): print('line', i)\nprint(os.environ['WHO'])")
    environment = tmp_path / "env.yaml"
    environment.write_text("env_vars: {WHO: somebody}")
    options = ["--runtime-env", str(environment), "--working-dir", str(tmp_path), "--entrypoint-num-cpus", "0.5"]
    first = head.submit(*options, "--job-id", "hello", "--", "sh", "-c", "python hello.py; exit 7")
    assert first.returncode == 7, first
    assert [line for line in first.stdout.splitlines() if line.startswith("line")] == [f"line {i}" for i in range(40)]
    assert "somebody" in first.stdout and first.stderr.splitlines() == [
        "job hello",
        "job hello FAILED: Job entrypoint command failed with exit code 7",
    ]
    again = head.submit("--working-dir", str(tmp_path), "--job-id", "hello", "--", "true")
    assert again.returncode == 2 and again.stderr.count("\n") == 1 and "--job-id hello: the cluster has" in again.stderr


@SLOW
def test_where_output_is_no_text_a_line_says_so_and_the_exit_code_is_the_jobs(head: Head, tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(
        "import sys, time\nout = sys.stdout.buffer\nout.write('before \u2660\\n'.encode())\nout.flush()\n"
        "time.sleep(2)\nout.write(b'J\\xfcrgen\\n')\nout.flush()\nsys.exit(5)"
    )
    ended = head.submit("--working-dir", str(tmp_path), "--", sys.executable, "odd.py")
    assert ended.returncode == 5 and ended.stderr.count("\n") == 3
    assert "before \u2660\n" in ended.stdout and "may be missing" in ended.stderr


class Lost:
    """A client of a cluster that has lost the machine with a job's output."""

    def get_job_info(self, job: str) -> SimpleNamespace:
        return SimpleNamespace(status=JobStatus.FAILED, driver_node_id="0a", driver_exit_code=7, message="exit code 7")

    async def tail_job_logs(self, job: str) -> AsyncIterator[str]:
        yield "begun\n"
        raise RuntimeError("WebSocket connection closed unexpectedly")

    def get_job_logs(self, job: str) -> str:
        raise RuntimeError("No available agent")


def test_where_the_end_of_the_output_is_lost_a_line_says_so_and_the_exit_code_is_the_jobs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cluster.submit._POLL_SECONDS", 0.01)
    assert follow(Lost(), "lost") == 7  # type: ignore[arg-type]
    said = capsys.readouterr()
    assert said.out == "begun\n"
    assert said.err.startswith("the end of the output of job lost may be missing (No available agent)\n")
    assert said.err.endswith("job lost FAILED: exit code 7\n") and said.err.count("\n") == 2


JOB = """
import os, sys
import ray
from cluster.config import ClusterConfig
from cluster.actors.connection import actor_options, connect

@ray.remote
class Actor:
    def where(self):
        import cluster
        return cluster.__file__

with connect(ClusterConfig(mode="job")):
    path = ray.get(Actor.options(**actor_options(cpus=0.5)).remote().where.remote())
    print("code", "working_dir_files" in path)
sys.exit(3)
"""


@SLOW
def test_a_command_runs_as_a_job_with_its_code_and_joins_the_cluster(head: Head) -> None:
    ended = head.submit("--working-dir", str(ROOT), "--", sys.executable, "-c", JOB)
    assert ended.returncode == 3 and "code True" in ended.stdout, ended


@pytest.mark.chaos  # for its length
@SLOW
def test_a_job_that_is_killed_ends_as_a_shell_would_say(head: Head, tmp_path: Path) -> None:
    killed = head.submit("--working-dir", str(tmp_path), "--", "sh", "-c", "kill -9 $$")
    assert killed.returncode == 128 + signal.SIGKILL, killed


@SLOW
def test_no_wait_prints_the_id_and_ctrl_c_stops_the_job(head: Head, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time\nprint('begun', flush=True)\ntime.sleep(300)")
    started = head.submit("--no-wait", "--working-dir", str(tmp_path), "--", sys.executable, "-c", "print('later')")
    assert started.returncode == 0 and started.stdout.startswith("raysubmit_") and started.stdout.count("\n") == 1
    command = [sys.executable, "-m", "cluster.submit", "--address", head.url, "--working-dir", str(tmp_path)]
    with subprocess.Popen(
        [*command, "--", sys.executable, "slow.py"],
        cwd=ROOT, env=head.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=hear_ctrl_c,
    ) as slow:  # fmt: skip
        assert slow.stdout is not None
        for line in slow.stdout:
            if "begun" in line:
                break
        slow.send_signal(signal.SIGINT)
        _, said = slow.communicate(timeout=PATIENCE)
    assert slow.returncode == 130 and "stopping job" in said and "STOPPED" not in said and "go on" not in said


@SLOW
@pytest.mark.parametrize(
    ("token", "words"),
    [("wrong", "refuses us (Authentication failed"), ("", "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN")],
)
def test_a_wrong_token_is_one_line(head: Head, token: str, words: str, tmp_path: Path) -> None:
    refused = head.submit("--working-dir", str(tmp_path), "--", "true", RAY_AUTH_TOKEN=token, HOME=str(tmp_path))
    assert refused.returncode == 2 and refused.stdout == "" and refused.stderr.count("\n") == 1
    assert words in refused.stderr


@SLOW
@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"RAY_AUTH_TOKEN": "wrong"}, "Authentication token is missing or incorrect; set RAY_AUTH_MODE=token"),
        ({"RAY_AUTH_MODE": "disabled"}, "Authentication token is missing or incorrect; set RAY_AUTH_MODE=token"),
        (None, "give the head's host:port"),  # it is the dashboard's
    ],
)
def test_joining_without_the_right_token_or_port_is_one_line_at_once(
    head: Head, env: dict[str, str] | None, words: str
) -> None:
    where = head.url.removeprefix("http://") if env is None else head.gcs
    script = f"from cluster.actors.connection import *; connect(ClusterConfig('existing', '{where}')).__enter__()"
    environment = {**head.env, **(env or {})}
    refused = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True)
    *_, last = refused.stderr.splitlines()
    assert refused.returncode == 1 and f"UserError: cluster.address={where}: " in last and words in last


class Link:
    """A way to the dashboard that can be cut."""

    def __init__(self, port: int) -> None:
        self._upstream = port
        self._open: list[socket.socket] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """End all connections; new ones are taken."""
        for end in self._open:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def _accept(self) -> None:
        while True:
            here, _ = self._server.accept()
            there = socket.create_connection(("127.0.0.1", self._upstream))
            self._open += [here, there]
            for source, target in ((here, there), (there, here)):
                threading.Thread(target=self._pass_on, args=(source, target), daemon=True).start()

    @staticmethod
    def _pass_on(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


@pytest.mark.chaos
def test_output_goes_on_where_a_cut_connection_broke_it_off(head: Head, tmp_path: Path) -> None:
    (tmp_path / "talk.py").write_text(
        "import time\nfor i in range(20):\n    print('line', i, flush=True)\n    time.sleep(0.3)"
    )
    link = Link(int(head.url.rpartition(":")[2]))
    command = [sys.executable, "-m", "cluster.submit", "--address", link.url, "--working-dir", str(tmp_path)]
    with subprocess.Popen([*command, "--", sys.executable, "talk.py"], cwd=ROOT, env=head.env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as talk:  # fmt: skip
        assert talk.stdout is not None
        lines = []
        for line in talk.stdout:
            lines += [line.strip()] if line.startswith("line") else []
            if line.strip() == "line 3":
                link.cut()
    assert talk.returncode == 0 and lines == [f"line {i}" for i in range(20)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--address", "head:8265"], "give the URL of the cluster's dashboard"),
        (["--address", "http://127.0.0.1:9"], "nothing answers there"),
        (["--address", "http://127.0.0.1:99999"], "Port out of range"),
        (["--working-dir", "nowhere"], "--working-dir nowhere: no such directory"),
        (["--runtime-env", "none.yaml"], "--runtime-env none.yaml: cannot be read"),
        (["--runtime-env", "list.yaml"], "--runtime-env list.yaml: wants keys and values"),
        (["--runtime-env", "misspelt.yaml"], "unknown key 'env_varz'; there are"),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_bad_input_is_one_line(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("misspelt.yaml").write_text("env_varz: {A: b}")
    Path("list.yaml").write_text("[env_vars]")
    assert main([*arguments, "--", "true"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1 and words in said


@SLOW
def test_what_only_the_cluster_refuses_is_one_line_too(head: Head, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("env_vars: {A: 3}")
    (tmp_path / "noise").write_bytes(secrets.token_bytes(110 * 2**20))
    for arguments, words in (
        (["--runtime-env", str(tmp_path / "wrong.yaml"), "--working-dir", str(ROOT)], "must be of type Dict[str, str]"),
        (["--working-dir", str(tmp_path)], "more than the 100 MiB"),
    ):
        refused = head.submit(*arguments, "--", "true")
        (error,) = (line for line in refused.stderr.splitlines() if "WARNING" not in line)
        assert refused.returncode == 2 and words in error
