"""The loop over a run directory, with the plain workers in this process."""

import io
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
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
from search.arena.partial_results import parts_of
from search.arena.tournament.evaluator import DealsTask
from search.arena.tournament.matches import Matches
from search.arena.tournament.result import TournamentResult
from selfplay.config import GateConfig, MatchConfig, TrainConfig
from selfplay.evaluation import Evaluation
from selfplay.recorded import FORMAT, check_recorded, typed
from selfplay.report.contents import read_run
from selfplay.report.terminal import learning_curve, report
from selfplay.run_directory import RunDirectory
from tests.selfplay.material import InProcess, contents, remove, run, tiny_config

PAIR = ["hearts_rules", "random"]


@pytest.fixture
def again(finished: Path, tmp_path: Path) -> TrainConfig:
    """The configuration of a finished run, a copy of its own."""
    shutil.copytree(finished, tmp_path / "again")
    return tiny_config(str(tmp_path / "again"))


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
    state = {"format": FORMAT, "iteration": 2, "stage": "finished"}
    assert json.loads((finished / "state.json").read_text()) == state
    assert RunDirectory(str(finished)).finished(2) and not RunDirectory(str(finished)).finished(3)


def test_what_is_measured_goes_to_metrics_jsonl(finished: Path) -> None:
    lines = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    seen = {name for line in lines for name in line["values"]}
    assert {name.partition("/")[0] for name in seen} >= METRICS.keys() - {"validation_loss"}  # too few deals for that
    assert {"points_ahead/random", "final/imitation against argmax_val"} <= seen
    steps = Counter((name, line["step"]) for line in lines for name in line["values"])
    assert set(steps.values()) == {1}, steps


class Chatty(InProcess):
    """A learner that says again and again how far it is."""

    def train(self, task: TrainingTask, on_progress: OnProgress) -> Mapping[str, float]:
        metrics = super().train(task, on_progress)
        for _ in range(3):
            on_progress(metrics)
        return metrics


@pytest.mark.parametrize("known", [True, False])
def test_a_step_is_logged_once_and_totals_go_on_in_a_resumed_run(again: TrainConfig, known: bool) -> None:
    root = Path(again.run.dir)
    remove(*(root / f"iterations/002/{name}" for name in ("metrics.json", "shards/00001.parquet", "checkpoint")))
    before = (root / "metrics.jsonl").read_text().splitlines(keepends=True)
    losses = [line for line in before if '"loss"' in line]
    (root / "metrics.jsonl").write_text("".join(line for line in before if known or line != losses[-1]))
    run(again, Chatty)
    lines = [json.loads(line) for line in (root / "metrics.jsonl").read_text().splitlines()]
    steps = [line["step"] for line in lines if "loss" in line["values"]]
    assert steps == [json.loads(line)["step"] for line in losses], "also of what is trained again"
    taken_up = [line["step"] for line in lines if "iteration" in line["values"]]
    assert taken_up == [0, 1, 2, 2], "where an iteration began, and where the second command took up the run"
    totals = [line["values"]["games_total"] for line in lines if "games_total" in line["values"]]
    assert totals == [8, 16, 24, 32, 40, 44, 52, 60, 64, 72], "the last is the second command's"


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


def test_a_finished_run_has_nothing_left_to_do(again: TrainConfig) -> None:
    before = contents(Path(again.run.dir), "iterations/**/*")
    workers = run(again)
    assert (workers.generated, workers.trained, workers.evaluated) == ([], [], [])
    assert contents(Path(again.run.dir), "iterations/**/*") == before


def test_another_shard_in_a_shards_place_is_named_before_it_is_trained_on(finished: Path, again: TrainConfig) -> None:
    root = Path(again.run.dir)
    remove(root / "iterations/001/checkpoint", root / "iterations/001/metrics.json")
    shards = [root / f"iterations/{iteration:03d}/shards/00000.parquet" for iteration in (0, 1)]
    shutil.copy(shards[0], shards[1])
    with pytest.raises(UserError, match=r"001/shards/00000\.parquet: its iteration is 0, and 1 belongs there; remove"):
        run(again)
    shards[1].unlink()
    run(again)
    assert contents(root, "iterations/001/shards/*") == contents(finished, "iterations/001/shards/*")


# ---- what is on record


def test_a_run_goes_on_with_the_settings_that_its_networks_depend_on_and_with_others_in_the_rest(
    finished: Path,
) -> None:
    config, directory = tiny_config(str(finished)), RunDirectory(str(finished))
    other = replace(config, learner=replace(config.learner, learning_rate=0.5))
    with pytest.raises(UserError, match=r"learner\.learning_rate=0\.001.*0\.5"):
        directory.check(other)
    directory.check(
        replace(
            config,
            engine=replace(config.engine, cache_mb=99, max_batch=7),
            learner=replace(config.learner, num_threads=3, log_every_steps=5),
            selfplay=replace(config.selfplay, games_per_table=3),
        )
    )
    mine = {"cluster": {"generators": 2}, "evaluation": {"final": []}, "run": {"dir": "a", "seed": 1}}
    theirs = {"cluster": {"generators": 9}, "evaluation": {"final": [1]}, "run": {"dir": "b", "seed": 1}}
    free = {"cluster", "evaluation", "run.dir"}
    check_recorded("config.yaml", theirs, mine, free, "made", "go on")
    other_seed, model = {"run": {"dir": "a", "seed": 2}}, {"model": {"n_layer": 2}}
    for key, recorded, now in (("run.seed", other_seed, 1), ("model.n_layer", model, None)):
        line = f"config.yaml: made with {key}=2, the command says {now}; use the same settings to go on"
        with pytest.raises(UserError, match=re.escape(line)):
            check_recorded("config.yaml", {**theirs, **recorded}, mine, free, "made", "go on")


def test_settings_and_states_of_another_format_or_with_other_keys_are_refused_in_a_line(tmp_path: Path) -> None:
    config, file, state = tiny_config(str(tmp_path)), tmp_path / "config.yaml", tmp_path / "state.json"
    directory = RunDirectory(config.run.dir)
    directory.begin(config)
    text = file.read_text()
    assert text.startswith(f"format: {FORMAT}\n")
    assert typed(read_run(str(tmp_path)).settings, TrainConfig) == config
    reads = f"this program reads format {FORMAT}"
    for content, said in (
        *((text.replace(f"format: {FORMAT}", f"format: {bad}", 1), rf"{said}: {reads}; take another dir")
          for bad, said in (("1", "format 1"), ("true", "format True"), ("null", "no format number"))),
        ("", r"(holds no settings|cannot be read \(.+\)); restore it, or take"),
        ("- 1\n", r"(holds no settings|cannot be read \(.+\)); restore it, or take"),
        ("run: {dir: [\n", r"(holds no settings|cannot be read \(.+\)); restore it, or take"),
    ):  # fmt: skip
        file.write_text(content)
        with pytest.raises(UserError, match=rf"config\.yaml: {said}"):
            directory.check(config)
    file.write_text(text.replace("  go_mcts:\n", "  go_mcts:\n    keep_subtree: true\n"))
    with pytest.raises(UserError, match=r"search\.go_mcts\.keep_subtree=True, the command says None; use the same"):
        directory.check(config)
    directory.write_state(1, "train")
    state.write_text(state.read_text().replace(f'"format": {FORMAT}', '"format": 1'))
    with pytest.raises(UserError, match=rf"state\.json: is damaged \(format 1: {reads}\)"):
        directory.state()


def test_a_run_directory_records_the_code_of_every_command_that_worked_on_it(tmp_path: Path) -> None:
    directory = RunDirectory(str(tmp_path / "run"))
    directory.begin(tiny_config(directory.root))
    directory.record_code(Provenance("1.2", "abc", "+more\n", ("new.py",)))
    first, second = json.loads((tmp_path / "run/provenance.json").read_text())
    assert set(first) == set(second) and first["began"] <= second["began"]
    assert (second["version"], second["revision"], second["untracked"]) == ("1.2", "abc", ["new.py"])
    assert (tmp_path / "run" / second["diff"]).read_text() == "+more\n" and second["diff"] == "code.1.diff"
    assert bool(first["diff"]) == (tmp_path / "run/code.diff").exists()


# ---- tournaments: which are played, kept, and shown


def evaluating(config: TrainConfig, **changed: list[MatchConfig]) -> TrainConfig:
    return replace(config, evaluation=replace(config.evaluation, **changed))


def finals(config: TrainConfig) -> list[TournamentResult | None]:
    return Evaluation(config, RunDirectory(config.run.dir)).final()


def printed(config: TrainConfig) -> str:
    console = Console(width=200, file=io.StringIO())
    with console.capture() as capture:
        report(config, RunDirectory(config.run.dir), console)
    return capture.get()


def test_curves_of_every_nth_iteration_and_the_last(tmp_path: Path) -> None:
    config = tiny_config(str(tmp_path / "run"))
    few = {"iterations": 3, "initial_games": 8, "games_per_iteration": 8, "population": False}
    config.selfplay, config.evaluation.curve_every = replace(config.selfplay, **few), 2
    run(config)
    directory = RunDirectory(config.run.dir)
    assert all(Path(directory.tournament(i)).is_file() == (i != 1) for i in range(4))
    (line,) = learning_curve(Evaluation(config, directory)).values()
    assert sorted(line) == [0, 2, 3] and all(result.columns[-1].matches == 3 * 4 for result in line.values())
    config.evaluation.curve_every = 1  # may change: what is missing is played
    assert not Evaluation(config, directory).complete()
    workers = run(config)
    assert workers.evaluated and not workers.trained and Evaluation(config, directory).complete()


def test_a_finished_run_whose_evaluation_was_extended_plays_the_extension_and_nothing_else(again: TrainConfig) -> None:
    before = finals(again)
    matches = [MatchConfig(PAIR, deals=4), MatchConfig(PAIR, deals=2), MatchConfig(["argmax_val", "random"], deals=2)]
    config = evaluating(again, final=[*matches, *again.evaluation.final])
    assert not Evaluation(config, RunDirectory(config.run.dir)).complete()
    workers = run(config)
    assert {task.players for task in workers.evaluated} == {tuple(match.players) for match in matches}
    assert (workers.generated, workers.trained) == ([], [])
    four, two, other, *unchanged = finals(config)
    assert four and two and other and (four.deals, two.deals) == (4, 2) and unchanged == before
    assert two.seed == other.seed != again.run.seed, "all play the same deals"
    more = replace(again.evaluation.final[0], deals=3)
    run(config := evaluating(again, final=[more]))
    assert [result and result.deals for result in finals(config)] == [3], "with more deals it is played again"
    assert run(config).evaluated == []


class Dying(InProcess):
    """Workers that are gone in the second tournament, or at the fifth deal of one."""

    def __init__(self, config: TrainConfig, match: int, deal: int = 0) -> None:
        super().__init__(config)
        self._when = match, deal

    def evaluate(
        self, tasks: Iterable[DealsTask], on_progress: OnProgress
    ) -> Iterator[tuple[DealsTask, Matches | Exception]]:
        for result in super().evaluate(tasks, on_progress):
            if (self.evaluated[-1].match, self.evaluated[-1].deals.first) >= self._when:
                raise ConnectionError("gone")
            yield result


def test_a_tournament_that_ended_before_the_command_was_killed_is_not_played_again(again: TrainConfig) -> None:
    config = evaluating(again, final=[MatchConfig(PAIR, deals=3), MatchConfig(PAIR, deals=2)])
    with pytest.raises(ConnectionError, match="gone"):
        run(config, partial(Dying, match=1))
    first, second = finals(config)
    assert first is not None and first.deals == 3 and second is None
    assert sum(task.deals.count for task in run(config).evaluated) == 2
    assert Evaluation(config, RunDirectory(config.run.dir)).complete()


def test_a_tournament_in_whose_middle_the_command_was_killed_goes_on(again: TrainConfig) -> None:
    config = evaluating(again, final=[MatchConfig(["argmax_val", "random"], deals=6)])
    file = Path(again.run.dir) / "results/tournament.json"
    with pytest.raises(ConnectionError, match="gone"):
        run(config, partial(Dying, match=0, deal=4))
    assert [(task.deals.first, task.deals.count) for task in run(config).evaluated] == [(4, 2)]
    (resumed,) = finals(config)
    assert not list(file.parent.glob("*.parts"))
    file.unlink()
    with pytest.raises(ConnectionError, match="gone"):
        run(config, partial(Dying, match=0, deal=4))
    longer = evaluating(again, final=[MatchConfig(["argmax_val", "random"], deals=7)])
    assert sum(task.deals.count for task in run(longer).evaluated) == 7, "another's parts are not taken for its own"
    assert not list(file.parent.glob("*.parts"))
    assert sum(task.deals.count for task in run(config).evaluated) == 6
    (undisturbed,) = finals(config)
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


def test_results_are_never_printed_under_another_players_name(again: TrainConfig) -> None:
    curve, final = (
        [MatchConfig(["argmax_val", "hearts_rules"], deals=3)],
        [MatchConfig(["imitation", "random"], deals=2)],
    )
    config = evaluating(again, curve=curve, final=final)
    text = printed(config)
    assert "argmax_val" not in text and "imitation" not in text, "nothing of this has been played yet"
    run(config)
    text = printed(config)
    assert "argmax_val against hearts_rules" in text and "imitation (A)" in text
    assert "argmax_val against random" in printed(again), "and what was played before is still there"


def test_a_finished_run_can_be_made_longer_but_not_shorter(again: TrainConfig, finished: Path) -> None:
    shorter = replace(again, selfplay=replace(again.selfplay, iterations=1))
    with pytest.raises(UserError, match=r"selfplay\.iterations=2, the command says 1; a run can be made longer"):
        RunDirectory(again.run.dir).check(shorter)
    longer = replace(again, selfplay=replace(again.selfplay, iterations=3))
    workers = run(longer)
    assert [task.out for task in workers.trained] == [RunDirectory(again.run.dir).checkpoint(3)]
    assert contents(Path(again.run.dir), "iterations/00[012]/**/*") == contents(finished, "iterations/00[012]/**/*")
    (last,) = finals(longer)
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
    config.selfplay.iterations = 0
    run(config, Seeing)
    record = json.loads((tmp_path / "run/results/tournament.json").read_text())[0]
    assert record["sees_hidden"] == ["argmax_val"]
    assert "argmax_val (B) (sees hidden cards)" in printed(config)
    assert "argmax_val against random (sees hidden cards)" in printed(config)
