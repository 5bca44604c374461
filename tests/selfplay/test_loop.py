"""The loop over a run directory, with the plain workers in this process."""

import io
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from rich.console import Console

from cluster.errors import UserError
from cluster.provenance import Provenance
from cluster.watching.metrics import METRICS
from cluster.watching.progress import OnProgress
from games.hearts.game import HeartsGame
from games.shards import read_shards
from learner.model.checkpoint import read_players
from learner.task import TrainingTask
from learner.training.data import load_data
from learner.training.policies.policy import PLAYED
from search.arena.kept import parts_of
from search.arena.tournament.evaluator import DealsTask
from search.arena.tournament.matches import Matches
from selfplay.config import GateConfig, MatchConfig, TrainConfig
from selfplay.evaluation import Evaluation
from selfplay.recorded import check_recorded
from selfplay.report.contents import read_run
from selfplay.report.terminal import learning_curve, report
from selfplay.run_directory import RunDirectory
from tests.learner.material import changed
from tests.selfplay.material import InProcess, run, tiny_config


def contents(root: Path, pattern: str) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.glob(pattern)) if path.is_file()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("run") / "finished"
    run(tiny_config(str(root)))
    return root


def test_a_run_leaves_shards_checkpoints_metrics_and_tournaments_of_every_iteration(finished: Path) -> None:
    for iteration, shards in ((0, 3), (1, 3), (2, 3)):
        directory = finished / "iterations" / f"{iteration:03d}"
        assert len(list((directory / "shards").glob("*.parquet"))) == shards
        assert (directory / "checkpoint" / "model.safetensors").is_file()
        assert read_players(directory / "checkpoint")["argmax_val"] == {"threshold": 0.05, "policy_weight": 0.0}
        assert json.loads((directory / "metrics.json").read_text())["train/step"] > 0
        (record,) = json.loads((directory / "tournament.json").read_text())
        assert record["players"] == ["argmax_val", "random"]
    assert json.loads((finished / "results" / "tournament.json").read_text())[0]["deals"] == 2
    assert json.loads((finished / "state.json").read_text()) == {"format": 1, "iteration": 2, "stage": "finished"}
    assert RunDirectory(str(finished)).finished(2) and not RunDirectory(str(finished)).finished(3)


def test_what_is_measured_goes_to_metrics_jsonl(finished: Path) -> None:
    lines = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    seen = {name for line in lines for name in line["values"]}
    assert {name.partition("/")[0] for name in seen} >= METRICS.keys() - {"validation_loss"}  # too few deals for that
    assert {"points_ahead/random", "final/imitation against argmax_val"} <= seen
    steps = Counter((name, line["step"]) for line in lines for name in line["values"])
    assert set(steps.values()) == {1}, steps


@pytest.mark.parametrize("known", [True, False])
def test_a_step_is_logged_once_and_totals_go_on_in_a_resumed_run(finished: Path, tmp_path: Path, known: bool) -> None:
    root = tmp_path / "resumed"
    shutil.copytree(finished, root)
    (root / "iterations/002/metrics.json").unlink()
    (root / "iterations/002/shards/00001.parquet").unlink()
    shutil.rmtree(root / "iterations/002/checkpoint")
    before = (root / "metrics.jsonl").read_text().splitlines(keepends=True)
    losses = [line for line in before if '"loss"' in line]
    (root / "metrics.jsonl").write_text("".join(line for line in before if known or line != losses[-1]))
    run(tiny_config(str(root)), Chatty)
    lines = [json.loads(line) for line in (root / "metrics.jsonl").read_text().splitlines()]
    steps = [line["step"] for line in lines if "loss" in line["values"]]
    assert steps == [json.loads(line)["step"] for line in losses], "also of what is trained again"
    taken_up = [line["step"] for line in lines if "iteration" in line["values"]]
    assert taken_up == [0, 1, 2, 2], "where an iteration began, and where the second command took up the run"
    assert [line["values"]["games_total"] for line in lines if "games_total" in line["values"]] == [
        *(8, 16, 24, 32, 40, 44, 52, 60, 64),  # the first command
        72,
    ]


class Chatty(InProcess):
    """A learner that says again and again how far it is."""

    def train(self, task: TrainingTask, on_progress: OnProgress) -> Mapping[str, float]:
        metrics = super().train(task, on_progress)
        for _ in range(3):
            on_progress(metrics)
        return metrics


def test_the_learning_curve_has_a_point_for_every_iteration(finished: Path) -> None:
    curve = learning_curve(Evaluation(tiny_config(str(finished)), RunDirectory(str(finished))))
    assert all(list(line) == [0, 1, 2] for line in curve.values())
    assert all(result.columns[-1].matches == 3 * 4 for result in next(iter(curve.values())).values())


def test_each_iteration_starts_from_the_weights_of_the_one_before(tmp_path: Path) -> None:
    config = tiny_config(str(tmp_path / "run"))
    workers = run(config)
    starts = [task.init_from for task in workers.trained]
    directory = RunDirectory(config.run.dir)
    assert starts == [None, directory.checkpoint(0), directory.checkpoint(1)]


def test_no_deal_that_an_iteration_holds_out_was_trained_on_in_an_earlier_one(tmp_path: Path) -> None:
    """So their losses are of deals that the weights have never seen, those of replayed games too."""
    config = tiny_config(str(tmp_path / "run"))
    games = {"initial_games": 400, "games_per_iteration": 100, "games_per_shard": 100, "games_per_table": 100}
    config.selfplay = replace(config.selfplay, replay_games=400, **games)
    config.evaluation = replace(config.evaluation, curve=[], final=[])
    game, seen, replayed = HeartsGame(), set[int](), 0
    for task in run(config).trained:
        deals = read_shards(task.shards, game).deal_seed
        data = load_data(game, task.shards, torch.device("cpu"), PLAYED)
        held_out = set(deals[data.validation])
        assert not held_out & seen
        figures = json.loads((Path(task.out).parent / "metrics.json").read_text())
        assert figures["train/validation_sequences"] == len(data.validation)
        assert figures["train/sequences"] == len(data.training)
        older = Path(task.shards[0]).parent.parent != Path(task.out).parent
        replayed += len(held_out & set(read_shards(task.shards[:1], game).deal_seed)) if older else 0
        seen |= set(deals[data.training])
    assert replayed > 0


def test_a_run_makes_branches_and_trains_on_them_in_every_iteration(tmp_path: Path) -> None:
    config = tiny_config(str(tmp_path / "run"))
    config.selfplay = replace(config.selfplay, branches=1, iterations=1)
    config.learner = changed(config.learner, branch_weight=0.5)
    run(config)
    metrics = [json.loads(path.read_text()) for path in sorted((tmp_path / "run").glob("iterations/*/metrics.json"))]
    assert len(metrics) == 2 and all(0 < each["train/branch_loss"] < 20 for each in metrics)


def test_a_finished_run_has_nothing_left_to_do(finished: Path) -> None:
    before = contents(finished, "iterations/**/*")
    workers = run(tiny_config(str(finished)))
    assert (workers.generated, workers.trained, workers.evaluated) == ([], [], [])
    assert contents(finished, "iterations/**/*") == before


def test_a_resumed_run_ends_in_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    root = tmp_path / "resumed"
    shutil.copytree(finished, root)
    shutil.rmtree(root / "iterations" / "002" / "checkpoint")
    (root / "iterations" / "002" / "shards" / "00001.parquet").unlink()
    (root / "iterations" / "002" / "metrics.json").unlink()
    (root / "iterations" / "002" / "tournament.json").unlink()
    (root / "iterations" / "002" / "shards" / ".00001.parquet.abc.tmp").write_bytes(b"half a shard")
    config = tiny_config(str(root))
    workers = run(config)
    assert workers.generated == [RunDirectory(config.run.dir).shard(2, "00001.parquet")]
    for pattern in ("iterations/*/shards/*.parquet", "iterations/*/checkpoint/model.safetensors"):
        assert contents(root, pattern) == contents(finished, pattern)


def test_a_run_killed_between_checkpoint_and_metrics_writes_the_metrics(finished: Path, tmp_path: Path) -> None:
    root = tmp_path / "resumed"
    shutil.copytree(finished, root)
    metrics = root / "iterations" / "001" / "metrics.json"
    before = json.loads(metrics.read_text())
    metrics.unlink()
    run(tiny_config(str(root)))
    assert json.loads(metrics.read_text())["train/step"] == before["train/step"]


def test_a_uri_works_as_a_run_directory(finished: Path, tmp_path: Path) -> None:
    config = tiny_config(f"file://{tmp_path}/remote")
    config = replace(config, selfplay=replace(config.selfplay, iterations=1))
    run(config)
    pattern = "iterations/001/shards/*.parquet"
    assert contents(tmp_path / "remote", pattern) == contents(finished, pattern)


def test_other_settings_are_refused_and_named(finished: Path) -> None:
    config = tiny_config(str(finished))
    other = replace(config, learner=replace(config.learner, learning_rate=0.5))
    with pytest.raises(UserError, match=r"learner\.learning_rate=0\.001.*0\.5"):
        RunDirectory(str(finished)).check(other)


def test_what_the_networks_do_not_depend_on_may_change_on_resume(finished: Path) -> None:
    config = tiny_config(str(finished))
    RunDirectory(str(finished)).check(
        replace(
            config,
            engine=replace(config.engine, cache_mb=99, max_batch=7),
            learner=replace(config.learner, num_threads=3, log_every_steps=5),
            selfplay=replace(config.selfplay, games_per_table=3),
        )
    )


def test_another_shard_in_a_shards_place_is_named_before_it_is_trained_on(finished: Path, tmp_path: Path) -> None:
    root = tmp_path / "mixed"
    shutil.copytree(finished, root)
    shutil.rmtree(root / "iterations/001/checkpoint")
    (root / "iterations/001/metrics.json").unlink()
    shards = [root / f"iterations/{iteration:03d}/shards/00000.parquet" for iteration in (0, 1)]
    shutil.copy(shards[0], shards[1])
    with pytest.raises(UserError, match=r"001/shards/00000\.parquet: its iteration is 0, and 1 belongs there; remove"):
        run(tiny_config(str(root)))
    shards[1].write_bytes(shards[0].read_bytes()[:-9])
    with pytest.raises(UserError, match=r": .*; remove the file, and the same command makes"):
        run(tiny_config(str(root)))
    shards[1].unlink()
    run(tiny_config(str(root)))
    assert contents(root, "iterations/001/shards/*") == contents(finished, "iterations/001/shards/*")


@pytest.mark.parametrize("content", ["", "- 1\n", "run: {dir: [\n"])
def test_a_record_of_settings_that_is_none_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "config.yaml").write_text(content)
    with pytest.raises(
        UserError, match=r"config\.yaml: (holds no settings|cannot be read \(.+\)); restore it, or take"
    ):
        RunDirectory(str(tmp_path)).check(tiny_config(str(tmp_path)))


def test_what_the_run_does_not_learn_from_may_change() -> None:
    mine = {"cluster": {"generators": 2}, "evaluation": {"final": []}, "run": {"dir": "a", "seed": 1}}
    theirs = {"cluster": {"generators": 9}, "evaluation": {"final": [1]}, "run": {"dir": "b", "seed": 1}}
    free = {"cluster", "evaluation", "run.dir"}
    check_recorded("config.yaml", theirs, mine, free, "made", "go on")
    other_seed, model = {"run": {"dir": "a", "seed": 2}}, {"model": {"n_layer": 2}}
    for key, recorded, now in (("run.seed", other_seed, 1), ("model.n_layer", model, None)):
        line = f"config.yaml: made with {key}=2, the command says {now}; use the same settings to go on"
        with pytest.raises(UserError, match=re.escape(line)):
            check_recorded("config.yaml", {**theirs, **recorded}, mine, free, "made", "go on")


def test_a_run_directory_records_the_code_of_every_command_that_worked_on_it(tmp_path: Path) -> None:
    directory = RunDirectory(str(tmp_path / "run"))
    directory.begin(tiny_config(directory.root))
    directory.record_code(Provenance("1.2", "abc", "+more\n", ("new.py",)))
    first, second = json.loads((tmp_path / "run/provenance.json").read_text())
    assert set(first) == set(second) and first["began"] <= second["began"]
    assert (second["version"], second["revision"], second["untracked"]) == ("1.2", "abc", ["new.py"])
    assert (tmp_path / "run" / second["diff"]).read_text() == "+more\n" and second["diff"] == "code.1.diff"
    assert bool(first["diff"]) == (tmp_path / "run/code.diff").exists()


# ---- a run whose evaluation or length changes


@pytest.fixture
def again(finished: Path, tmp_path: Path) -> TrainConfig:
    """The configuration of a finished run, a copy of its own."""
    shutil.copytree(finished, tmp_path / "again")
    return tiny_config(str(tmp_path / "again"))


def evaluating(config: TrainConfig, **changed: list[MatchConfig]) -> TrainConfig:
    return replace(config, evaluation=replace(config.evaluation, **changed))


def printed(config: TrainConfig) -> str:
    console = Console(width=200, file=io.StringIO())
    with console.capture() as capture:
        report(config, RunDirectory(config.run.dir), console)
    return capture.get()


def test_two_tournaments_of_the_same_players_each_get_the_deals_they_asked_for(again: TrainConfig) -> None:
    players = ["hearts_rules", "random"]
    config = evaluating(again, final=[MatchConfig(players, deals=4), MatchConfig(players, deals=2)])
    run(config)
    assert [result and result.deals for result in Evaluation(config, RunDirectory(config.run.dir)).final()] == [4, 2]


def test_a_finished_run_whose_evaluation_was_extended_plays_the_extension_and_nothing_else(again: TrainConfig) -> None:
    before = Evaluation(again, RunDirectory(again.run.dir)).final()
    config = evaluating(again, final=[MatchConfig(["hearts_rules", "random"], deals=2), *again.evaluation.final])
    assert not Evaluation(config, RunDirectory(config.run.dir)).complete()
    workers = run(config)
    assert {task.players for task in workers.evaluated} == {("hearts_rules", "random")}
    assert (workers.generated, workers.trained) == ([], [])
    assert Evaluation(config, RunDirectory(config.run.dir)).final()[1:] == before
    assert Evaluation(config, RunDirectory(config.run.dir)).complete()


class Dying(InProcess):
    """Workers that are gone when the second tournament begins."""

    def evaluate(
        self, tasks: Iterable[DealsTask], on_progress: OnProgress
    ) -> Iterator[tuple[DealsTask, Matches | Exception]]:
        for result in super().evaluate(tasks, on_progress):
            if self.evaluated[-1].match:
                raise ConnectionError("gone")
            yield result


def test_a_tournament_that_ended_before_the_command_was_killed_is_not_played_again(again: TrainConfig) -> None:
    players = ["hearts_rules", "random"]
    config = evaluating(again, final=[MatchConfig(players, deals=3), MatchConfig(players, deals=2)])
    with pytest.raises(ConnectionError, match="gone"):
        run(config, Dying)
    first, second = Evaluation(config, RunDirectory(config.run.dir)).final()
    assert first is not None and first.deals == 3 and second is None
    assert sum(task.deals.count for task in run(config).evaluated) == 2
    assert Evaluation(config, RunDirectory(config.run.dir)).complete()


class DyingLater(InProcess):
    """Workers that are gone when the fifth deal of a tournament has been played."""

    def evaluate(
        self, tasks: Iterable[DealsTask], on_progress: OnProgress
    ) -> Iterator[tuple[DealsTask, Matches | Exception]]:
        for result in super().evaluate(tasks, on_progress):
            if self.evaluated[-1].deals.first >= 4:
                raise ConnectionError("gone")
            yield result


def test_a_tournament_in_whose_middle_the_command_was_killed_goes_on(again: TrainConfig) -> None:
    config = evaluating(again, final=[MatchConfig(["argmax_val", "random"], deals=6)])
    file = Path(again.run.dir) / "results/tournament.json"
    with pytest.raises(ConnectionError, match="gone"):
        run(config, DyingLater)
    assert [(task.deals.first, task.deals.count) for task in run(config).evaluated] == [(4, 2)]
    resumed = Evaluation(config, RunDirectory(config.run.dir)).final()[0]
    assert not list(file.parent.glob("*.parts"))
    file.unlink()
    assert sum(task.deals.count for task in run(config).evaluated) == 6
    undisturbed = Evaluation(config, RunDirectory(config.run.dir)).final()[0]
    assert resumed and undisturbed and resumed.decisions == undisturbed.decisions
    assert replace(resumed, seconds_per_turn={}) == replace(undisturbed, seconds_per_turn={})


def test_parts_that_a_killed_command_left_beside_their_result_are_removed_by_the_next(tmp_path: Path) -> None:
    config = tiny_config(str(tmp_path / "run"))
    config.selfplay = replace(config.selfplay, iterations=1, gate=GateConfig(1))
    run(config)
    directory = RunDirectory(config.run.dir)
    files = [directory.result("tournament.json"), directory.tournament(0), directory.gate(1)]
    for file in files:
        assert Path(file).is_file()
        (Path(parts_of(file)) / "0").mkdir(parents=True)
        (Path(parts_of(file)) / "0/0.0.safetensors").touch()
    assert run(config).evaluated == []
    assert not [file for file in files if Path(parts_of(file)).exists()]


def test_the_parts_of_a_tournament_that_is_not_wanted_any_more_are_not_taken_for_anothers(again: TrainConfig) -> None:
    players, deals = ["argmax_val", "random"], 6
    with pytest.raises(ConnectionError, match="gone"):
        run(evaluating(again, final=[MatchConfig(players, deals)]), DyingLater)
    config = evaluating(again, final=[MatchConfig(players, deals + 1)])
    assert sum(task.deals.count for task in run(config).evaluated) == deals + 1
    assert not list((Path(again.run.dir) / "results").glob("*.parts"))


def test_the_last_tournaments_play_the_same_deals(again: TrainConfig) -> None:
    matches = [MatchConfig([player, "random"], deals=2) for player in ("argmax_val", "hearts_rules")]
    run(config := evaluating(again, final=matches))
    directory = RunDirectory(config.run.dir)
    one, two = Evaluation(config, directory).final()
    assert one and two and one.seed == two.seed != again.run.seed
    assert run(config).evaluated == []


def test_results_are_never_printed_under_another_players_name(again: TrainConfig) -> None:
    config = evaluating(
        again,
        curve=[MatchConfig(["argmax_val", "hearts_rules"], deals=3)],
        final=[MatchConfig(["imitation", "random"], deals=2)],
    )
    text = printed(config)
    assert "argmax_val" not in text and "imitation" not in text, "nothing of this has been played yet"
    run(config)
    text = printed(config)
    assert "argmax_val against hearts_rules" in text and "imitation (A)" in text
    assert "argmax_val against random" in printed(again), "and what was played before is still there"


def test_a_tournament_with_more_deals_is_played_again(again: TrainConfig) -> None:
    (match,) = again.evaluation.final
    run(config := evaluating(again, final=[replace(match, deals=3)]))
    (result,) = Evaluation(config, RunDirectory(config.run.dir)).final()
    assert result is not None and result.deals == 3


def test_a_finished_run_can_be_made_longer_but_not_shorter(again: TrainConfig, finished: Path) -> None:
    shorter = replace(again, selfplay=replace(again.selfplay, iterations=1))
    with pytest.raises(UserError, match=r"selfplay\.iterations=2, the command says 1; a run can be made longer"):
        RunDirectory(again.run.dir).check(shorter)
    longer = replace(again, selfplay=replace(again.selfplay, iterations=3))
    workers = run(longer)
    assert [task.out for task in workers.trained] == [RunDirectory(again.run.dir).checkpoint(3)]
    assert contents(Path(again.run.dir), "iterations/00[012]/**/*") == contents(finished, "iterations/00[012]/**/*")
    (last,) = Evaluation(longer, RunDirectory(longer.run.dir)).final()
    assert last is not None and last.settings["iteration"] == 3
    assert len(json.loads((Path(again.run.dir) / "results/tournament.json").read_text())) == 2
    assert read_run(again.run.dir).final == [last], "the page has what the terminal has"


class Seeing(InProcess):
    """Workers whose second entrants look at hidden cards."""

    def evaluate(
        self, tasks: Iterable[DealsTask], on_progress: OnProgress
    ) -> Iterator[tuple[DealsTask, Matches | Exception]]:
        for task, matches in super().evaluate(tasks, on_progress):
            yield task, replace(matches, sees_hidden=(False, True))


def test_results_of_the_loop_say_who_sees_hidden_cards(tmp_path: Path) -> None:
    config = tiny_config(str(tmp_path / "run"))
    config = replace(config, selfplay=replace(config.selfplay, iterations=0))
    run(config, Seeing)
    record = json.loads((tmp_path / "run/results/tournament.json").read_text())[0]
    assert record["sees_hidden"] == ["argmax_val"]
    assert "argmax_val (B) (sees hidden cards)" in printed(config)
    assert "argmax_val against random (sees hidden cards)" in printed(config)
