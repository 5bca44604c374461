"""Commands whose output nobody reads any more, cannot be written, or would vanish; and other ends."""

import ast
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.reader import IN_JOB, end_with_reader
from games.hearts.game import HeartsGame
from tests.learner.material import shard_of
from tests.marks import slow
from tests.selfplay.commands import ROOT, here

ENDED = 141
"""As a shell says it of a program that a broken pipe has ended."""
CONSOLE = "cluster.console"
HELPFUL = slow("selfplay", "selfplay.report", "search.arena.tournament", "games.show", "learner.export")


def commands() -> dict[str, str]:
    """Module that ``python -m`` runs -> its source."""
    packages = ("games", "learner", "search", "selfplay", "cluster")
    sources = {path: path.read_text() for package in packages for path in (ROOT / package).rglob("*.py")}
    named = {".".join(path.relative_to(ROOT).with_suffix("").parts): source for path, source in sources.items()}
    return {
        name.removesuffix(".__main__"): source
        for name, source in named.items()
        if re.search(r'^if __name__ == "__main__"', source, re.M)
    }


def unread(what: str, *arguments: str, stream: str = "stdout", buffered: bool = False) -> tuple[int, str]:
    """Exit code of ``python -m MODULE ARGUMENTS``, or of a script, one of whose outputs nobody reads; and what is on
    the other."""
    read, write = os.pipe()
    os.close(read)
    run = [sys.executable, *([] if buffered else ["-u"]), "-c" if "\n" in what else "-m", what, *arguments]
    other = subprocess.PIPE
    outputs = {"stdout": write, "stderr": other} if stream == "stdout" else {"stdout": other, "stderr": write}
    env = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    process = subprocess.run(run, cwd=ROOT, env=env, text=True, check=False, **outputs)
    os.close(write)
    return process.returncode, process.stderr if stream == "stdout" else process.stdout


def test_every_command_watches_for_its_reader_before_anything_else() -> None:
    for module, source in commands().items():
        body = ast.parse(source).body
        (block,) = (node for node in body if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test))
        first = ast.unparse(block.body[0])
        assert first == "end_with_reader()" or "cli.run(" in ast.unparse(block) or module == CONSOLE, (module, first)


@pytest.mark.parametrize("module", [CONSOLE, "learner", *HELPFUL])
def test_a_command_whose_help_nobody_reads_ends_silently(module: str) -> None:
    assert unread(module, "--help") == (ENDED, "")


def test_a_command_whose_errors_nobody_reads_ends_silently() -> None:
    assert unread(CONSOLE, "nonsense", stream="stderr") == (ENDED, "")


def test_what_is_left_to_print_at_the_end_makes_no_noise_either() -> None:
    code, said = unread(CONSOLE, "--version", buffered=True)
    assert code in (0, ENDED) and said == ""


def test_a_shard_is_shown_as_far_as_it_is_read(tmp_path: Path) -> None:
    shard = shard_of(HeartsGame(), tmp_path, 200)
    show = [sys.executable, "-m", "games.show", str(shard), "--rows", "0:800"]
    with subprocess.Popen(show, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == ENDED


def test_work_under_way_is_ended_in_order(tmp_path: Path) -> None:
    script = """
import sys, time
from pathlib import Path
from cluster.reader import end_with_reader
from cluster.watching import progress
end_with_reader()
progress._PLAIN_SECONDS = 0.1
try:
    with progress.Progress("playing", 1, ""):
        while True:
            time.sleep(0.05)
finally:
    Path(sys.argv[1]).touch()
"""
    assert unread(script, str(tmp_path / "actors-ended"), stream="stderr") == (ENDED, "")
    assert (tmp_path / "actors-ended").exists()


def test_the_broken_pipe_of_another_is_an_exception_as_ever() -> None:
    script = """
import socket
from cluster.reader import end_with_reader
end_with_reader()
here, there = socket.socketpair()
there.close()
try:
    here.send(b"hello")
except BrokenPipeError:
    print("went on")
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "went on\n", "")


ENDS = """
import ctypes, sys
from cluster.reader import end_with_reader
end_with_reader()
try:
    if sys.argv[1] == "interrupted":
        raise KeyboardInterrupt
    if sys.argv[1] == "crash":
        ctypes.string_at(0)
    for _ in range(int(sys.argv[1])):
        print("J\\u00fcrgen \\u2660")
finally:
    print("unwound", file=sys.stderr)
"""


def ended(how: str, output: str = os.devnull, **env: str) -> tuple[int, list[str]]:
    """Exit code and standard error of the script."""
    with Path(output).open("wb") as stdout:
        run = [sys.executable, "-c", ENDS, how]
        env = {**os.environ, "PYTHONUNBUFFERED": "", **env}
        done = subprocess.run(run, cwd=ROOT, env=env, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stderr.splitlines()


def test_ctrl_c_is_a_word_and_130_in_every_command() -> None:
    assert ended("interrupted") == (130, ["unwound", "interrupted"])


def test_what_an_encoding_lacks_is_replaced_and_nothing_is_lost(tmp_path: Path) -> None:
    for encoding, shown in (("latin-1", b"J\xfcrgen ?\n"), ("ascii", b"J?rgen ?\n"), ("utf-8", "Jürgen ♠\n".encode())):
        assert ended("2", str(tmp_path / "out"), PYTHONIOENCODING=encoding) == (0, ["unwound"])
        assert (tmp_path / "out").read_bytes() == shown * 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize(
    ("lines", "unbuffered"), [(1, ""), (9999, ""), (1, "1")], ids=["at the end", "before", "at once"]
)
def test_a_full_output_is_one_line_and_no_success(lines: int, unbuffered: str) -> None:
    code, said = ended(str(lines), "/dev/full", PYTHONUNBUFFERED=unbuffered)
    assert code != 0
    assert sorted(said) == ["error: standard output cannot be written (No space left on device)", "unwound"]


def test_a_crash_says_where() -> None:
    code, said = ended("crash")
    assert code == -signal.SIGSEGV and any("in string_at" in line for line in said)


def test_windows_is_refused_in_a_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delattr(signal, "SIGPIPE")
    with pytest.raises(SystemExit, match="2"):
        end_with_reader()
    assert capsys.readouterr().err == "error: Kibitz runs on Linux and macOS; on Windows use WSL\n"


PLAYED = "game=hearts players=[random,hearts_rules]"
WRITES = [
    "selfplay experiment=hearts_demo run.dir=x",
    "selfplay.curves a",
    "learner game=hearts data=x out=x",
    f"search.arena.tournament -m {PLAYED} seed=1,2 out=x",
    "search.arena.values game=hearts checkpoint=kibitz:hearts out=x.json",
    "search.apps.review shards --out x",
    *slow(
        "selfplay.generate game=hearts games=4 out=x",
        "selfplay.label game=hearts data=x player=hearts_rules out=x",
        "selfplay.doctor experiment=hearts_demo run.dir=x",
        "learner.export kibitz:hearts x",
        "learner.publish kibitz:hearts x",
        f"search.arena.tournament {PLAYED} out=x.json",
        f"search.arena.tournament {PLAYED} keep=x.parquet",
        f"search.arena.rating {PLAYED} out=x",
        "search.arena.openings game=hearts checkpoint=kibitz:alphahearts out=x",
        "search.apps.play hearts out=x",
        "search.apps.serve hearts out=x",
        "search.scripted.skat.records convert games.sgf --out x",
    ),
]


@pytest.mark.parametrize("command", WRITES)
def test_a_result_that_would_vanish_with_its_job_is_refused(command, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv(IN_JOB, "{}")
    monkeypatch.chdir(tmp_path)
    refused = here(*command.split())
    assert refused.returncode == 2 and "is relative to the job's copy of the code" in refused.stderr, refused
    assert list(tmp_path.iterdir()) == []
