"""Asked against available."""

from pathlib import Path

import pytest

from cluster.errors import UserError
from cluster.preflight import Node, Request, check_directory, preflight

TWO_SMALL = [Node("a", 4, 0, 8000), Node("b", 4, 1, 8000)]
EIGHT = [Node("a", 64, 8, 64_000)]
TWO_OF_TWO = [Node("a", 9, 2, 0), Node("b", 9, 2, 0)]
MARKED = [Node("a", 4, 1, 8000, labels={"role": "learner"}), Node("b", 4, 1, 8000, labels={"role": "players"})]
SHARES, LEARNER = Request("generators", 14, 1, 0.5), Request("learner", 1, 8, 1)
MARKED_LEARNER = Request("learner", 1, 1, 1, labels=(("role", "learner"),))
MARKED_PLAYERS = Request("generators", 2, 1, 0.5, labels=(("role", "players"),))
FITS = [
    ([Request("generator", 6, 1), Request("learner", 1, 2, gpus=1)], TWO_SMALL),
    ([], []),
    ([Request("generator", 10, 0.1)], [Node("a", 1, 0, 0)]),  # ten tenths of a CPU on one
    ([SHARES, LEARNER], EIGHT),  # shares fill GPUs, and whole ones are left to who asks for them
    ([Request("generators", 30, 0, 0.1)], [Node("a", 1, 2, 0), Node("b", 1, 1, 0)]),
    ([Request("learner", 2, 1, 2)], TWO_OF_TWO),  # a group over two machines
    ([MARKED_PLAYERS, MARKED_LEARNER], MARKED),
    ([Request("generators", 1, 2, 1), MARKED_LEARNER], MARKED),  # which leaves the learner its machine
]
REFUSED = [
    # an actor has its share of a single GPU
    (
        [Request("generators", 10, 1, 0.6)],
        EIGHT,
        r"no room for 2 generators; one GPU has room for 1 with cluster\.generator_gpus=0\.6, and 8 for 8: "
        r"take cluster\.generator_gpus=0\.5 for 10, or 8 of them; or lower",
    ),
    (
        [Request("evaluators", 20, 1, 0.4)],
        EIGHT,
        r"no room for 4 evaluators; .* take cluster\.evaluator_gpus=0\.333 for 20",
    ),
    ([Request("generators", 17, 1, 0.5)], EIGHT, "no room for 1 generators; lower the counts"),
    ([Request("evaluators", 5, 1)], [Node("a", 0, 0, 0)], "no room for 5 evaluators; lower"),
    ([SHARES, LEARNER, Request("evaluators", 1, 1, 0.1)], EIGHT, "no room for 1 evaluators; lower"),
    ([Request("learner", 1, 1, 3)], TWO_OF_TWO, "no room for 1 learner"),
    # machines with labels
    (
        [Request("generators", 5, 1, labels=MARKED_PLAYERS.labels)],
        MARKED,
        r"no room for 1 generators(.|\n)*generators role=players, each",
    ),
    (
        [MARKED_LEARNER],
        [Node("b", 4, 1, 8000)],
        r"no room for 1 learner; no machine is labelled role=learner \(cluster\.learner_labels\); lower",
    ),
    # CPUs in all, CPUs of one node, GPUs, memory, CPUs beside a GPU
    ([Request("generator", 9, 1)], TWO_SMALL, "no room for 1 generator; lower the counts"),
    ([Request("learner", 1, 5)], TWO_SMALL, "no room for 1 learner; lower the counts"),
    ([Request("learner", 2, 1, gpus=1)], TWO_SMALL, "no room for 1 learner; lower the counts"),
    ([Request("evaluator", 3, 1, memory_mb=6000)], TWO_SMALL, "no room for 1 evaluator; lower the counts"),
    ([Request("evaluator", 9, 1, gpus=0.1)], TWO_SMALL, "no room for 5 evaluator; lower the counts"),
]


@pytest.mark.parametrize(("requests", "machines"), FITS)
def test_what_fits_node_by_node_passes(requests: list[Request], machines: list[Node]) -> None:
    preflight(requests, machines)


@pytest.mark.parametrize(("requests", "machines", "words"), REFUSED)
def test_what_does_not_fit_is_refused_with_a_table(requests, machines, words) -> None:
    with pytest.raises(UserError, match=words) as refusal:
        preflight(requests, machines)
    if machines is TWO_SMALL:
        lines = str(refusal.value).splitlines()
        assert [line.split()[0] for line in lines[2:]] == [f"{requests[0].name},", "asked", "node", "node", "available"]
        assert lines[-1].split() == ["available", "2", "8", "1", "16000"]


def test_memory_of_a_gpu_that_is_known_holds_all_who_share_it() -> None:
    wide = Request("generators", 14, 1, 0.5, gpu_mb=30_000)
    learner, searches = Request("learner", 1, 8, 1, gpu_mb=9_000), Request("evaluators", 1, 1, 0, gpu_mb=99_000)
    preflight([wide, learner, searches], [Node("a", 64, 8, 64_000, gpu_mb=81_000)])
    preflight([wide], EIGHT)
    with pytest.raises(UserError) as refusal:
        preflight([wide, learner], [Node("a", 64, 8, 64_000, gpu_mb=48_000)])
    assert str(refusal.value) == (
        "GPU memory: 2 generators of about 30,000 MB on one GPU take 60,000 MB, and 95% of its 48,000 MB are planned "
        "with; give each a larger share (cluster.generator_gpus) and start fewer, lower engine.cache_mb with "
        "selfplay.games_per_table and evaluation.table_size, or take engine.cuda_graphs=false "
        "(cluster.check_resources=false tries it all the same)"
    )
    mixed = [Request("generators", 1, 1, 0.5, gpu_mb=30_000), Request("evaluators", 2, 1, 0.25, gpu_mb=20_000)]
    with pytest.raises(UserError, match=r"1 generators of about 30,000 MB and 2 evaluators of about 20,000 MB on one"):
        preflight(mixed, [Node("a", 4, 1, 0, gpu_mb=70_000)])


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
