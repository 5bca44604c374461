"""Asked against available."""

from pathlib import Path

import pytest

from cluster.errors import UserError
from cluster.preflight import Node, Request, check_directory, preflight

TWO_SMALL = [Node("a", 4, 0, 8000), Node("b", 4, 1, 8000)]


def test_what_fits_node_by_node_passes() -> None:
    preflight([Request("generator", 6, 1), Request("learner", 1, 2, gpus=1)], TWO_SMALL)
    preflight([], [])


def test_ten_tenths_of_a_cpu_fit_on_one() -> None:
    preflight([Request("generator", 10, 0.1)], [Node("a", 1, 0, 0)])


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (Request("generator", 9, 1), "no room for 1 generator"),
        (Request("learner", 1, 5), "no room for 1 learner"),
        (Request("learner", 2, 1, gpus=1), "no room for 1 learner"),
        (Request("evaluator", 3, 1, memory_mb=6000), "no room for 1 evaluator"),
    ],
    ids=["CPUs in all", "CPUs of one node", "GPUs", "memory"],
)
def test_what_does_not_fit_is_refused_with_a_table(request_: Request, words: str) -> None:
    with pytest.raises(UserError) as refusal:
        preflight([request_], TWO_SMALL)
    lines = str(refusal.value).splitlines()
    assert words in lines[0]
    assert [line.split()[0] for line in lines[2:]] == [f"{request_.name},", "asked", "node", "node", "available"]
    assert lines[-1].split() == ["available", "2", "8", "1", "16000"]


def test_a_relative_run_directory_is_refused_inside_a_job_only() -> None:
    check_directory("runs/x", in_job=False, free_mb=0)
    check_directory("/tmp/x", in_job=True, free_mb=0)
    check_directory("s3://bucket/run", in_job=True, free_mb=10**9)
    with pytest.raises(UserError, match=r"run\.dir=runs/x is relative"):
        check_directory("runs/x", in_job=True, free_mb=0)


def test_a_full_disk_and_a_file_in_the_way_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="MB are needed"):
        check_directory(str(tmp_path / "new/run"), in_job=False, free_mb=10**12)
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="is a file"):
        check_directory(str(tmp_path / "file/run"), in_job=False, free_mb=0)
