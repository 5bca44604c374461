"""A game and players of another package, installed beside this one, take part in everything."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from games.registry import make_game
from games.shards import read_shard
from search.roster import kinds
from tests.search import toy

SLOW = pytest.mark.slow
ROOT = Path(__file__).parents[2]
PACKAGE = Path(__file__).parent / "tiny_tricks"
"""A package of somebody else's; its game is that of ``tests.search.toy``."""
COMMANDS = """
import json, sys
from tests.selfplay.commands import here
found = [here(*line) for line in json.load(sys.stdin)]
print("\\n" + json.dumps([(each.returncode, each.stdout, each.stderr) for each in found]))
"""
"""Several commands ``python -m MODULE ARGUMENTS`` in one process, to save the start of others."""
PROGRAMS = "tests.packaging.programs"
Answer = tuple[int, str, str]
"""Exit code, output and error output of a command."""
SMALL_RUN = (
    *("experiment=hearts_teacher", "game=toy", "model=first_card", "tracker=none"),
    "cluster={num_cpus: 3, generators: 1, evaluators: 1}",
    "learner={learning_rate: 0.1, optimizer: adamw, log_every_steps: 5}",
    "learner={loss: {branch_weight: 0}, policy: {kind: played}}",
    "initial_learner.rate_factor=1",
    "selfplay={initial: {players: [random, highest], weights: [1, 3], keep: []}, initial_games: 400}",
    "selfplay={iterations: 1, games_per_iteration: 100, games_per_shard: 100, newest_player: valued}",
    "selfplay={population: false, branches: 0, labels: '', gate: {deals: 20}}",
    "evaluation.curve=[{players: [valued, random], deals: 10}]",
    "evaluation.final=[{players: [valued, lowest], deals: 10}]",
)
CHOICES = (
    *("board", "dear", "demo", "fc", "first_card", "gone", "paper", "pv16", "pv24"),
    *("skat_policies", "small", "transformer"),
)
"""Of ``model``: its presets and kinds beside ours."""
PLAYED = ("toy", "tiny_tricks.game:ToyGame")
REFUSED = (
    (
        "toy",
        "nobody",
        "no player 'nobody'; there are random, argmax_val, imitation, go_mcts, pimc, policy, lo",
    ),
    ("hearts", "highest", "player 'highest' plays toy only, not hearts; choose random, hearts_rules"),
    ("toy", "broken", "plug-in 'broken' of the package tiny-tricks cannot be imported (AttributeError"),
    ("lost", "random", "plug-in 'lost' of the package tiny-tricks cannot be imported (ModuleNotFoundError"),
    ("toy", '"highest:depth=2"', "highest has no 'depth'; there are lowest"),
    ("toy", '"pimc:evaluator=solver"', "for toy it must be one of uct, playouts, network, value, lowest"),
    ("hearts", "lowest", "player 'lowest' plays toy only, not hearts; choose random, hearts_rules"),
)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment variables under which the package is installed."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    shutil.copytree(PACKAGE, source / "tiny_tricks", ignore=shutil.ignore_patterns("__pycache__"))
    (source / "tiny_tricks/pyproject.toml").rename(source / "pyproject.toml")
    shutil.copy(toy.__file__, source / "tiny_tricks/game.py")
    line = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-build-isolation", "--no-index", "-q"]
    subprocess.run([*line, "--target", str(target), str(source)], check=True, timeout=120)
    return {**os.environ, "PYTHONPATH": f"{target}{os.pathsep}{ROOT}"}


def run(environment: dict[str, str], lines: Iterable[Sequence[str]]) -> list[Answer]:
    """What commands answer that run one after the other in a process that has the package."""
    command, given = [sys.executable, "-c", COMMANDS], json.dumps([list(line) for line in lines])
    done = subprocess.run(command, cwd=ROOT, env=environment, input=given, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return [(code, output, errors) for code, output, errors in json.loads(done.stdout.splitlines()[-1])]


def checked(answer: Answer) -> str:
    """Output of a command that succeeds."""
    code, output, errors = answer
    assert code == 0, f"{output}\n{errors}"
    return output


DOCS, MODELS = ("", "players", "toy"), ("dear", "deer", "fc")
Answers = dict[tuple[str, str], Answer]


@pytest.fixture(scope="module")
def answers(environment: dict[str, str]) -> Answers:
    """What commands answer: (game, first player) -> a tournament; others under what they are about."""
    both = 'players=[highest,"tiny_tricks.players:UNLISTED:lowest=true"]'
    tables = {(game, "highest"): [f"game={game}", both, "deals=20"] for game in PLAYED}
    tables["toy", "lowest"] = ["game=toy", 'players=[lowest,"pimc:evaluator=lowest:cheat=true"]', "deals=20"]
    tables |= {(game, player): [f"game={game}", f"players=[{player},random]", "deals=1"] for game, player, _ in REFUSED}
    learn = ["learner", "game=toy", "data=DIR", "out=DIR"]
    lines = {("docs", about): ["cluster.console", "docs", *about.split()] for about in DOCS}
    lines |= {table: ["search.arena.tournament", *arguments] for table, arguments in tables.items()}
    lines |= {("model", name): [*learn, f"model={name}", *(["--cfg", "job"] * (name == "dear"))] for name in MODELS}
    lines |= {("program", name): [PROGRAMS, name] for name in ("drawn", "laws", "served")}
    lines["serve", ""] = ["search.apps.serve", "game=toy"]
    return dict(zip(lines, run(environment, lines.values()), strict=True))


@SLOW
def test_its_game_and_its_network_are_held_to_the_laws_by_a_test_of_its_own(answers: Answers) -> None:
    checked(answers["program", "laws"])


@SLOW
def test_its_names_are_offered_and_what_cannot_be_imported_disturbs_nobody(answers: Answers) -> None:
    said = checked(answers["docs", ""])
    assert "games: hearts, skat, crew, samegame, openspiel:<game>, lost, toy\n" in said
    assert "unusable: kibitz.games 'hearts' has a name of Kibitz's own; write module:attribute" in said
    offered = (
        "random, hearts_rules, hearts_simple, hearts_complex, skat_rules, crew_rules, samegame_greedy, nrpa,"
        " argmax_val, imitation, go_mcts, pimc, alphahearts, q_values, mcts, sp_mcts, policy, mctransformer,"
        " openspiel, skat_policies, lowest, highest, valued"
    )
    assert f"players: {offered}\n" in said
    assert "unusable: kibitz.players 'random' has a name of Kibitz's own; write module:attribute" in said
    assert "unusable: plug-in 'broken' of the package tiny-tricks cannot be imported (AttributeError" in said
    assert "unusable: plug-in 'lost' of the package tiny-tricks cannot be imported (ModuleNotFoundError" in said
    assert "networks: transformer, q_network, skat_policies, fc, first_card, gone" in said
    assert "unusable: kibitz.models: 'fc' is a NetworkKind of the name 'first_card'; " in said
    assert "unusable: kibitz.models 'transformer' has a name of Kibitz's own; rename it" in said
    assert "unusable: plug-in 'gone' of the package tiny-tricks cannot be imported (AttributeError" in said
    assert "unusable: kibitz.support 'hearts' is for a game of Kibitz's own" in said and said.count("unusable") == 8
    option = "| `lowest` | bool | `false` | Whether the lowest card is played instead. |"
    assert option in checked(answers["docs", "players"])
    assert "The deck is" not in checked(answers["docs", "toy"])


@SLOW
@pytest.mark.parametrize("game", PLAYED)
def test_it_plays_tournaments(answers: Answers, game: str) -> None:
    assert "highest (A)" in checked(answers[game, "highest"])


@SLOW
def test_what_it_brings_for_its_game_plays_judges_and_is_drawn(answers: Answers) -> None:
    output = checked(answers["toy", "lowest"])
    assert "lowest (A)" in output and "pimc:evaluator=lowest" in output
    drawn = checked(answers["program", "drawn"])
    assert "leads" in drawn and drawn.endswith("(two tricks) lowest\n")


@SLOW
def test_it_is_served_with_its_pictures_and_players(answers: Answers) -> None:
    served = checked(answers["program", "served"])
    assert served.startswith("player rules random\n") and served.endswith("(two tricks) 2.0\n")
    code, _, errors = answers["serve", ""]
    assert code == 2 and errors == ("error: no network ships for toy: give player=argmax_val@DIR, or player=lowest\n")


@SLOW
def test_its_presets_of_networks_are_chosen_by_name_and_hide_none_of_ours(answers: Answers) -> None:
    assert "  kind: first_card\n  start: 5.0\n" in checked(answers["model", "dear"])
    (_, _, none), (_, _, ours) = answers["model", "deer"], answers["model", "fc"]
    assert none == f"error: model=deer: no such choice; there are {', '.join(CHOICES)}\n"
    assert ours.startswith("error: model=fc: a package offers a kind of network 'fc' (kibitz.models), and Kibitz")


@SLOW
def test_it_plays_in_self_play_and_its_network_is_trained_gated_asked_and_played_against(environment, tmp_path) -> None:
    run_dir = tmp_path / "run"
    first, net = run_dir / "iterations/000/shards/00000.parquet", run_dir / "iterations/001/checkpoint"
    table = ["search.arena.tournament", "game=toy"]
    played, shown, verified, reported, tournament, by_hand, wrong, given = run(
        environment,
        [
            ["selfplay", *SMALL_RUN, f"run.dir={run_dir}"],
            ["games.show", str(first)],
            ["selfplay.verify", str(run_dir)],
            ["selfplay.report", str(run_dir)],
            [*table, f'players=["valued@{net}","random"]', "deals=20"],
            [PROGRAMS, "by_hand", str(net)],
            [*table, f'players=["argmax_val@{net}","random"]', "deals=2"],
            ["learner.export", str(net), f"{tmp_path}/given"],
        ],
    )
    assert "valued (A)" in checked(played)
    assert json.loads((net / "config.json").read_text())["model_type"] == "first_card"
    history = json.loads((run_dir / "iterations/000/checkpoint/training/state.json").read_text())["history"]
    assert history[-1]["loss"] < history[0]["loss"]
    rows = read_shard(first, toy.ToyGame())
    assert set(rows.player) == {"random", "highest"} and len(rows) == 2 * 100
    assert "rules version 1" in checked(shown)
    assert "0 damaged" in checked(verified)
    checked(reported)
    assert "valued" in checked(tournament)
    assert checked(by_hand).count(".0") == 2
    assert wrong[0] == 2 and "a table of first cards is for players whose network reads states" in wrong[2]
    assert given[0] == 0, given


@SLOW
@pytest.mark.parametrize(("game", "player", "message"), REFUSED)
def test_what_is_wrong_with_a_plug_in_is_one_line(answers: Answers, game: str, player: str, message: str) -> None:
    code, _, errors = answers[game, player]
    assert code == 2
    assert message in errors and errors.count("\n") == 1, errors


def test_without_the_package_its_names_stand_for_nothing() -> None:
    with pytest.raises(
        ValueError, match=r"no game 'toy'; there are hearts, skat, crew, samegame, openspiel:<game>, or "
    ):
        make_game("toy")
    with pytest.raises(ValueError, match=r"no player 'highest'; there are random, hearts_rules"):
        kinds.find("highest")
