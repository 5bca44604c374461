"""The loop over a run directory, with the plain workers in this process."""

import io
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
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
from search.arena.tournament.evaluator import DealsTask
from search.arena.tournament.matches import Matches
from search.arena.tournament.result import TournamentResult
from selfplay.config import InitialConfig, MatchConfig, TrainConfig
from selfplay.evaluation import Evaluation
from selfplay.generator import ShardReport
from selfplay.plan import Seating, ShardPlan
from selfplay.playing import Playing
from selfplay.recorded import FORMAT, typed
from selfplay.report.contents import read_run
from selfplay.report.terminal import learning_curve, report
from selfplay.run_directory import RunDirectory
from tests.selfplay.material import InProcess, contents, over, remove, run, tiny_config

PAIR = ["hearts_rules", "random"]


@pytest.fixture
def again(copy: Path) -> TrainConfig:
    """The configuration of a finished run, a copy of its own."""
    return tiny_config(str(copy))


def read_json(path: str | Path) -> Any:
    return json.loads(Path(path).read_text())


def log_of(root: Path) -> list[dict[str, Any]]:
    """The lines of ``metrics.jsonl``."""
    return [json.loads(line) for line in (root / "metrics.jsonl").read_text().splitlines()]


def test_a_run_leaves_shards_checkpoints_metrics_and_tournaments_of_every_iteration(finished: Path) -> None:
    for iteration in range(3):
        directory = finished / f"iterations/{iteration:03d}"
        assert len(list((directory / "shards").glob("*.parquet"))) == 3
        assert (directory / "checkpoint/model.safetensors").is_file()
        assert read_players(directory / "checkpoint")["argmax_val"] == {"threshold": 0.05, "policy_weight": 0.0}
        assert read_json(directory / "metrics.json")["train/step"] > 0
        (record,) = read_json(directory / "tournament.json")
        assert record["players"] == ["argmax_val", "random"]
    assert read_json(finished / "results/tournament.json")[0]["deals"] == 2
    assert read_json(finished / "state.json") == {"format": FORMAT, "iteration": 2, "stage": "finished"}
    assert RunDirectory(str(finished)).finished(2) and not RunDirectory(str(finished)).finished(3)


def test_what_is_measured_goes_to_metrics_jsonl(finished: Path) -> None:
    lines = log_of(finished)
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
    lines = log_of(root)
    steps = [line["step"] for line in lines if "loss" in line["values"]]
    assert steps == [json.loads(line)["step"] for line in losses], "also of what is trained again"
    taken_up = [line["step"] for line in lines if "iteration" in line["values"]]
    assert taken_up == [0, 1, 2, 2], "where an iteration began, and where the second command took up the run"
    totals = [line["values"]["games_total"] for line in lines if "games_total" in line["values"]]
    assert totals == [8, 16, 24, 32, 40, 44, 52, 60, 64, 72], "the last is the second command's"


def test_figures_about_networks_are_of_their_games_alone() -> None:
    """A mean over deals that no network played too would make every network look better than it is."""
    plan = ShardPlan(0, 0, 10, Seating.INITIAL, InitialConfig(), (), 1)
    playing = Playing(0, [], [])
    assert playing.figures() == {}
    for figures in ((10, 500, 0.25, 0.5), (30, 0, 0.0, 0.0), (10, 300, 0.75, 0.5)):
        playing.add(ShardReport(plan, *figures))
    figures = playing.figures()
    assert figures["illegal_mass"] == figures["batch_fill"] == 0.5
    assert figures["decisions_per_second"] / figures["games_per_second"] == pytest.approx(16)


def test_no_deal_that_an_iteration_holds_out_was_trained_on_in_an_earlier_one(tmp_path: Path) -> None:
    """So their losses are of deals that the weights have never seen, those of replayed games too."""
    sizes = "initial_games: 400, games_per_iteration: 100, games_per_shard: 100, games_per_table: 100"
    no_tournaments = "evaluation.curve=[]; evaluation.final=[]"
    config = over(tiny_config(str(tmp_path)), f"selfplay={{replay_games: 400, {sizes}}}; {no_tournaments}")
    game, seen, replayed = HeartsGame(), set[int](), 0
    for task in run(config).trained:
        deals = read_shards(task.shards, game).deal_seed
        data = load_data(game, task.shards, PLAYED)
        held_out = set(deals[data.validation])
        assert not held_out & seen
        figures = read_json(Path(task.out).parent / "metrics.json")
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
    assert RunDirectory(again.run.dir).finished(2)
    (Path(again.run.dir) / "iterations/001/metrics.json").unlink()
    assert not RunDirectory(again.run.dir).finished(2), "a file that was removed is noticed"


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


def test_a_run_goes_on_with_the_settings_that_its_networks_depend_on_and_with_others_in_the_rest(finished) -> None:
    config, directory = tiny_config(str(finished)), RunDirectory(str(finished))
    with pytest.raises(UserError, match=r"learner\.learning_rate=0\.001.*0\.5"):
        directory.check(over(config, "learner.learning_rate=0.5"))
    with pytest.raises(
        UserError, match=r"config\.yaml: this run was started with run\.seed=3, the command says 4; use"
    ):
        directory.check(over(config, "run.seed=4"))
    free = "selfplay.games_per_table=3; cluster.generators=9; evaluation.final=[]; run.dir=elsewhere"
    directory.check(
        over(config, f"engine={{cache_mb: 99, max_batch: 7}}; learner={{num_threads: 3, log_every_steps: 5}}; {free}")
    )


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
    first, second = read_json(tmp_path / "run/provenance.json")
    assert set(first) == set(second) and first["began"] <= second["began"]
    assert (second["version"], second["revision"], second["untracked"]) == ("1.2", "abc", ["new.py"])
    assert (tmp_path / "run" / second["diff"]).read_text() == "+more\n" and second["diff"] == "code.1.diff"
    assert bool(first["diff"]) == (tmp_path / "run/code.diff").exists()


# ---- tournaments: which are played, kept, and shown


def evaluating(config: TrainConfig, **changed: Any) -> TrainConfig:
    return replace(config, evaluation=replace(config.evaluation, **changed))


def finals(config: TrainConfig) -> list[TournamentResult | None]:
    return Evaluation(config, RunDirectory(config.run.dir)).final()


def printed(config: TrainConfig) -> str:
    console = Console(width=200, file=io.StringIO())
    with console.capture() as capture:
        report(config, RunDirectory(config.run.dir), console)
    return capture.get()


def test_curves_of_every_nth_iteration_and_the_last(again: TrainConfig) -> None:
    config, directory = evaluating(again, curve_every=3), RunDirectory(again.run.dir)
    tournaments = [Path(directory.tournament(i)) for i in range(3)]
    remove(*tournaments)
    run(config)
    assert [path.is_file() for path in tournaments] == [True, False, True]
    (line,) = learning_curve(Evaluation(config, directory)).values()
    assert sorted(line) == [0, 2] and all(result.columns[-1].matches == 2 * 4 for result in line.values())
    assert not Evaluation(again, directory).complete()  # every iteration: may change, what is missing is played
    workers = run(again)
    assert workers.evaluated and not workers.trained and Evaluation(again, directory).complete()


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

    def evaluate(self, tasks, on_progress) -> Iterator[tuple[DealsTask, Matches | Exception]]:
        for result in super().evaluate(tasks, on_progress):
            if (self.evaluated[-1].match, self.evaluated[-1].deals.first) >= self._when:
                raise ConnectionError("gone")
            yield result


def killed(config: TrainConfig, match: int, deal: int = 0) -> None:
    with pytest.raises(ConnectionError, match="gone"):
        run(config, partial(Dying, match=match, deal=deal))


def test_a_tournament_that_ended_before_the_command_was_killed_is_not_played_again(again: TrainConfig) -> None:
    config = evaluating(again, final=[MatchConfig(PAIR, deals=3), MatchConfig(PAIR, deals=2)])
    killed(config, match=1)
    first, second = finals(config)
    assert first.deals == 3 and second is None
    assert sum(task.deals.count for task in run(config).evaluated) == 2
    assert Evaluation(config, RunDirectory(config.run.dir)).complete()


def test_a_tournament_in_whose_middle_the_command_was_killed_goes_on(again: TrainConfig) -> None:
    config, longer = (evaluating(again, final=[MatchConfig(["argmax_val", "random"], deals=n)]) for n in (6, 7))
    file = Path(again.run.dir) / "results/tournament.json"
    killed(config, match=0, deal=4)
    assert [(task.deals.first, task.deals.count) for task in run(config).evaluated] == [(4, 2)]
    (resumed,) = finals(config)
    assert not list(file.parent.glob("*.parts"))
    file.unlink()
    killed(config, match=0, deal=4)
    assert sum(task.deals.count for task in run(longer).evaluated) == 7, "another's parts are not taken for its own"
    assert not list(file.parent.glob("*.parts"))
    assert sum(task.deals.count for task in run(config).evaluated) == 6
    (undisturbed,) = finals(config)
    assert replace(resumed, seconds_per_turn={}) == replace(undisturbed, seconds_per_turn={})


def test_results_are_never_printed_under_another_players_name(again: TrainConfig) -> None:
    curve = [MatchConfig(["argmax_val", "hearts_rules"], deals=3)]
    config = evaluating(again, curve=curve, final=[MatchConfig(["imitation", "random"], deals=2)])
    text = printed(config)
    assert "argmax_val" not in text and "imitation" not in text, "nothing of this has been played yet"
    run(config)
    text = printed(config)
    assert "argmax_val against hearts_rules" in text and "imitation (A)" in text
    assert "argmax_val against random" in printed(again), "and what was played before is still there"


def test_a_finished_run_can_be_made_longer_but_not_shorter(again: TrainConfig, finished: Path) -> None:
    with pytest.raises(UserError, match=r"selfplay\.iterations=2, the command says 1; a run can be made longer"):
        RunDirectory(again.run.dir).check(over(again, "selfplay.iterations=1"))
    longer = over(again, "selfplay.iterations=3")
    workers = run(longer)
    assert [task.out for task in workers.trained] == [RunDirectory(again.run.dir).checkpoint(3)]
    assert contents(Path(again.run.dir), "iterations/00[012]/**/*") == contents(finished, "iterations/00[012]/**/*")
    (last,) = finals(longer)
    assert last.settings["iteration"] == 3
    assert len(read_json(f"{again.run.dir}/results/tournament.json")) == 2
    assert read_run(again.run.dir).final == [last], "the page has what the terminal has"


class Seeing(InProcess):
    """Workers whose second entrants look at hidden cards."""

    def evaluate(self, tasks, on_progress) -> Iterator[tuple[DealsTask, Matches | Exception]]:
        for task, matches in super().evaluate(tasks, on_progress):
            yield task, replace(matches, sees_hidden=(False, True))


def test_results_of_the_loop_say_who_sees_hidden_cards(again: TrainConfig) -> None:
    directory = RunDirectory(again.run.dir)
    remove(Path(directory.tournament(0)), final := Path(directory.result("tournament.json")))
    run(again, Seeing)
    assert read_json(final)[0]["sees_hidden"] == ["argmax_val"]
    assert "argmax_val (B) (sees hidden cards)" in printed(again)
    assert "argmax_val against random (sees hidden cards)" in printed(again)
