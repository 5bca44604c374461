"""``kibitz verify``: what is damaged is named, and once what it says is removed the same command mends the run."""

import json
import random
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.errors import UserError
from cluster.files import digests
from games.config import GameConfig
from games.hearts.game import HeartsGame
from games.shards import write_shard
from learner.model.checkpoint import WEIGHTS_FILE
from selfplay.config import GateConfig, GenerateConfig, InitialConfig, MatchConfig, RunConfig, TrainConfig
from selfplay.generate import planned
from selfplay.generator import Generator
from selfplay.recorded import record_settings
from selfplay.verify import main
from tests.learner.material import random_games
from tests.selfplay.damages import KINDS, damaged, unit
from tests.selfplay.material import MADE, contents, remove, run, settings, tiny_config
from tests.selfplay.test_damage import flip

GAME = HeartsGame()


def verified(capsys: pytest.CaptureFixture[str], root: Path | str) -> tuple[int, list[str]]:
    """Exit code and lines of ``kibitz verify``."""
    code = main([str(root)])
    return code, capsys.readouterr().out.splitlines()


def removed(lines: list[str]) -> set[Path]:
    """Do what the lines say."""
    paths = {Path(path) for line in lines for path in line.partition("; remove ")[2].split()}
    remove(*paths)
    return paths


def results(root: Path) -> list[object]:
    """What the tournaments of a run have found."""
    files = sorted(root.glob("**/tournament.json"))
    return [result["columns"] for path in files for result in json.loads(path.read_text())]


def test_nothing_is_wrong_with_a_run_that_was_left_alone_and_large_files_are_hashed_once(finished, capsys, monkeypatch):
    hashed, digest_of = Counter[str](), digests.digest_of

    def counted(file: Path) -> str:
        hashed[file.name] += 1
        return digest_of(file)

    monkeypatch.setattr(digests, "digest_of", counted)
    code, (line,) = verified(capsys, finished)
    assert code == 0 and re.fullmatch(rf"{finished}: \d+ files checked, 0 damaged", line)
    assert hashed[WEIGHTS_FILE] == hashed["optimizer.safetensors"] == len(list(finished.glob("iterations/*")))


def test_what_is_damaged_is_made_again_and_the_run_equals_an_undisturbed_one(finished, copy, capsys) -> None:
    one = copy / "iterations/001"
    flip(copy / "iterations/000/shards/00001.parquet")
    flip(one / "checkpoint" / WEIGHTS_FILE, -100)
    flip(copy / "iterations/002/checkpoint/training/optimizer.safetensors", -100)
    shutil.copy(one / "shards/00000.parquet", one / "shards/00001.parquet")
    (one / "shards/00002.parquet").unlink()
    (one / "shards/00007.parquet").write_bytes((one / "shards/00000.parquet").read_bytes())
    (one / "tournament.json").write_text("[{}]")
    (copy / "results/tournament.json").write_text("[")
    (copy / "state.json").write_bytes(b"\xff")
    (copy / "iterations/009").mkdir()
    code, lines = verified(capsys, copy)
    assert code == 1 and f"{copy}: 25 files checked, 10 damaged" in lines
    said = {Path(line.partition(": ")[0]).relative_to(copy).as_posix(): line for line in lines[:10]}
    for name, reason in {
        "state.json": "is not JSON",
        "results/tournament.json": "is not JSON",
        "iterations/009": "belongs to nothing",
        "iterations/000/shards/00001.parquet": "CRC checksum verification failed",
        "iterations/001/tournament.json": "holds no tournaments",
        "iterations/001/shards/00001.parquet": "its shard is 0, and 1 belongs there",
        "iterations/001/shards/00002.parquet": "is missing",
        "iterations/001/shards/00007.parquet": "belongs to nothing",
        "iterations/001/checkpoint": f"{WEIGHTS_FILE}: is damaged",
        "iterations/002/checkpoint": "training/optimizer.safetensors: is damaged",
    }.items():
        assert reason in said[name], said[name]
    assert one / "metrics.json" in removed(lines)
    workers = run(tiny_config(str(copy)))
    assert len(workers.generated) == 3 and len(workers.trained) == 3
    files = (*MADE, "**/optimizer.safetensors")
    assert contents(copy, *files) == contents(finished, *files) and results(copy) == results(finished)
    assert verified(capsys, copy)[0] == 0


def test_another_iterations_network_in_a_networks_place_is_found(copy, capsys) -> None:
    shutil.rmtree(copy / "iterations/001/checkpoint")
    shutil.copytree(copy / "iterations/002/checkpoint", copy / "iterations/001/checkpoint")
    code, (line, *_) = verified(capsys, copy)
    assert code == 1 and "was trained with another seed" in line


@pytest.fixture(scope="module")
def crew(tmp_path_factory: pytest.TempPathFactory) -> TrainConfig:
    """A finished run with a file of every kind: deals of several kinds, gates, tournaments."""
    config = tiny_config(str(tmp_path_factory.mktemp("crew") / "run"))
    config.game, initial = GameConfig("crew", {"missions": "1-3"}), InitialConfig(["crew_rules"])
    config.selfplay = replace(config.selfplay, iterations=1, gate=GateConfig(2), initial=initial)
    config.evaluation.final = [MatchConfig(["argmax_val", "random"], deals=2)]
    run(config)
    return config


def test_successes_of_all_deals_are_counted_and_nothing_is_damaged(crew, capsys) -> None:
    counts = [
        json.loads(path.read_text())["successes"] for path in sorted(Path(crew.run.dir).glob("**/successes.json"))
    ]
    assert [sum(games for games, _ in each.values()) for each in counts] == [24, 20]
    assert verified(capsys, crew.run.dir)[0] == 0


def test_a_damaged_shard_is_named_before_successes_by_kind_of_deal_are_counted(crew, tmp_path) -> None:
    config = replace(crew, run=RunConfig(dir=str(shutil.copytree(crew.run.dir, tmp_path / "run")), seed=crew.run.seed))
    shard = tmp_path / "run/iterations/000/shards/00001.parquet"
    shard.write_bytes(shard.read_bytes()[:-100])
    (tmp_path / "run/iterations/000/metrics.json").unlink()
    with pytest.raises(UserError, match=f"^{shard}: .* remove the file, and the same command makes it anew$"):
        run(config)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_damage_to_every_kind_of_file_is_named_and_to_no_other(kind, crew, capsys) -> None:
    root = Path(crew.run.dir)
    file = max(root.glob(KINDS[kind]))
    before = file.read_bytes()
    for flipped in (True, False):
        file.write_bytes(damaged(file, flipped, random.Random(kind)))
        code, lines = verified(capsys, root)
        assert code == 1 and [line for line in lines if line.startswith(f"{unit(file)}: ")] == lines[:-2], lines
        file.write_bytes(before)


def test_successes_by_kind_of_deal_that_are_damaged_are_counted_again(crew, capsys) -> None:
    file = Path(crew.run.dir) / "iterations/001/successes.json"
    before = file.read_bytes()
    for content in (b"{}", b'{"successes": {"mission 1": 3}}', None):
        file.unlink() if content is None else file.write_bytes(content)
        code, (line, *_) = verified(capsys, crew.run.dir)
        assert code == 1 and line.startswith(f"{file}: ") and removed([line])
        assert run(crew).generated == [] and file.read_bytes() == before


@pytest.mark.parametrize("bad", [b'{"step": 1, "ti\n', b'{"step": 1, "va\xecues": {}}\n'])
def test_damaged_settings_and_logs_are_named(bad: bytes, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (copy / "metrics.jsonl").open("ab") as file:
        file.write(bad)
    code, (line, *_) = verified(capsys, copy)
    assert code == 1 and re.search(r"metrics\.jsonl: line \d+ is not JSON .*; remove that line$", line)
    for content in ("run: [", "run: {dir: x}\nnobody: 1", ""):
        (copy / "config.yaml").write_text(content)
        code, lines = verified(capsys, copy)
        assert code == 1 and lines[0].endswith(f"; remove {copy}/config.yaml") and "1 files checked" in lines[1]


def test_a_kind_of_network_whose_package_is_missing_is_no_damage(copy, capsys) -> None:
    settings = (copy / "config.yaml").read_text()
    (copy / "config.yaml").write_text(settings.replace("kind: transformer", "kind: rnn"))
    assert main([str(copy)]) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"error: {copy}/config.yaml: model.kind=rnn: there is no such kind of network;")
    assert "install the package that brings 'rnn'" in said.err and said.err.count("\n") == 1 and said.out == ""


def test_shards_of_the_generator_are_checked_and_mended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = GenerateConfig(game=tiny_config("").game, out=str(tmp_path), games=20, games_per_shard=8, seed=4)
    record_settings(f"{tmp_path}/config.yaml", config)
    generator = Generator(settings(games_per_table=8))
    for plan in planned(config):
        generator.generate(plan, f"{tmp_path}/{plan.name}")
    assert verified(capsys, tmp_path) == (0, [f"{tmp_path}: 3 files checked, 0 damaged"])
    before = (tmp_path / "00001.parquet").read_bytes()
    flip(tmp_path / "00001.parquet")
    write_shard(tmp_path / "00003.parquet", random_games(GAME, 8), GAME, {})
    code, lines = verified(capsys, tmp_path)
    assert code == 1 and removed(lines) == {tmp_path / "00001.parquet", tmp_path / "00003.parquet"}
    generator.generate(planned(config)[1], f"{tmp_path}/00001.parquet")
    assert (tmp_path / "00001.parquet").read_bytes() == before
    (tmp_path / "config.yaml").unlink()
    assert verified(capsys, tmp_path)[0] == 0, "each shard by itself"


@pytest.mark.parametrize("name", ["nowhere", "empty", "file", "s3:/bucket/run"])
def test_where_no_run_is_ends_in_one_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    assert main([name if ":" in name else f"{tmp_path}/{name}"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and name in said and said.count("\n") == 1
