"""A game and players of another package, installed beside this one, take part in everything."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from games.registry import make_game
from games.shards import read_shard
from search.roster import kinds
from tests.search import toy

ROOT = Path(__file__).parents[2]
PACKAGE = Path(__file__).parent / "tiny_tricks"
"""A package of somebody else's; its game is that of ``tests.search.toy``."""
DRAWN = """
import numpy as np
from games.registry import make_game
from search.play.layouts import layout_of
from search.roster import kinds
game = make_game("toy")
tokens, lengths = game.histories(game.deal(np.array([1], np.uint64)), np.zeros(1, int))
print(layout_of(game, ["lowest"]).scene(tokens[0, : lengths[0]]).table, kinds.playout_player("", game))
"""
"""A scene of the toy, and who plays it out."""
PLAYED_BY_HAND = """
import sys
from games.registry import make_game
from learner.config import EngineConfig
from search.config import SearchConfig
from search.roster.registry import make_players
from tests.search.play.material import app_of, drive, play_hand, screen
from search.play.session import Session
game = make_game("toy")
session = Session(game, make_players([f"valued@{sys.argv[1]}"], game, SearchConfig(), engine=EngineConfig()), 0, 1)
app = app_of(session)

async def script(pilot):
    await play_hand(pilot, app)
    assert "two tricks" in "".join(screen(app))

drive(app, script)
print(session.points.tolist())
"""
"""A deal at the table in a terminal against a player with the network."""
TOURNAMENTS = """
import contextlib, io, json, os, runpy, sys
answers = []
for arguments in json.load(sys.stdin):
    sys.argv = ["kibitz tournament", *arguments]
    os.environ["HYDRA_FULL_ERROR"] = "0"  # the command sets it and leaves it
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            runpy.run_module("search.tournament", run_name="__main__")
            code = 0
        except SystemExit as ended:
            code = ended.code
    answers.append([code, out.getvalue(), err.getvalue()])
json.dump(answers, sys.stdout)
"""
"""Several tournaments in one process, to save the start of others: exit code, output and error output of each."""
SMALL_RUN = (
    "experiment=hearts_demo",
    "game=toy",
    "model=first_card",
    "tracker=none",
    *(f"cluster.{key}" for key in ("num_cpus=3", "generators=1", "evaluators=1")),
    *(f"{group}.learning_rate=0.1" for group in ("learner", "initial_learner")),
    "learner.branch_weight=0",
    "learner.optimizer=adamw",
    "learner.log_every_steps=5",
    "selfplay.initial.players={random: 1}",
    "selfplay.initial.keep=[]",
    "selfplay.initial_games=400",
    "selfplay.iterations=1",
    "selfplay.games_per_iteration=100",
    "selfplay.games_per_shard=100",
    "selfplay.newest_player=valued",
    "selfplay.population=false",
    "selfplay.branches=0",
    "selfplay.labels=''",
    "learner.label_weight=0",
    "selfplay.gate.deals=20",
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
        "no player 'nobody'; there are random, argmax_val, imitation, go_mcts, pimc, is_mcts, policy, lowest",
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


def run(environment: dict[str, str], *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, *arguments]
    return subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=180)


def checked(environment: dict[str, str], *arguments: str | Path) -> str:
    done = run(environment, *arguments)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_its_game_and_its_network_are_held_to_the_laws_by_a_test_of_its_own(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "test_toy.py").write_text(
        "from games.conformance import check_game\n"
        "from games.registry import make_game\n"
        "from learner.conformance import check_kind\n"
        "from learner.kinds import find\n\n\n"
        "def test_the_laws():\n"
        "    check_game(make_game('toy'))\n"
        "    check_kind(find('first_card'), make_game('toy'))\n"
    )
    checked(environment, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path)


def test_its_names_are_offered_and_what_cannot_be_imported_disturbs_nobody(environment: dict[str, str]) -> None:
    said = checked(environment, "-m", "cluster.console", "docs")
    assert "games: hearts, skat, crew, samegame, openspiel:<game>, lost, toy" in said
    offered = (
        "random, hearts_rules, hearts_simple, hearts_complex, skat_rules, xskat, crew_rules, samegame_greedy, nrpa,"
        " argmax_val, imitation, go_mcts, pimc, alphahearts, q_values, is_mcts, mcts, sp_mcts, policy, mctransformer,"
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
    assert "unusable: kibitz.support 'hearts' is for a game of Kibitz's own" in said and said.count("unusable") == 7
    assert "| `lowest` | bool | `false` | Whether the lowest card is played instead. |" in checked(
        environment, "-m", "cluster.console", "docs", "players"
    )
    assert "The deck is" not in checked(environment, "-m", "cluster.console", "docs", "toy")


@pytest.fixture(scope="module")
def answers(environment: dict[str, str]) -> dict[tuple[str, str], tuple[int, str, str]]:
    """(game, first player) -> what a tournament of them answers."""
    both = 'players=[highest,"tiny_tricks.players:UNLISTED:lowest=true"]'
    lines = {(game, "highest"): [f"game={game}", both, "deals=20"] for game in PLAYED}
    lines["toy", "lowest"] = ["game=toy", 'players=[lowest,"pimc:evaluator=lowest:cheat=true"]', "deals=20"]
    lines |= {(game, player): [f"game={game}", f"players=[{player},random]", "deals=1"] for game, player, _ in REFUSED}
    line = [sys.executable, "-c", TOURNAMENTS]
    given = json.dumps(list(lines.values()))
    done = subprocess.run(line, cwd=ROOT, env=environment, input=given, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    return dict(zip(lines, map(tuple, json.loads(done.stdout)), strict=True))


@pytest.mark.parametrize("game", PLAYED)
def test_it_plays_tournaments(answers: dict[tuple[str, str], tuple[int, str, str]], game: str) -> None:
    code, output, errors = answers[game, "highest"]
    assert code == 0, errors
    assert "highest (A)" in output


def test_what_it_brings_for_its_game_plays_judges_and_is_drawn(
    answers: dict[tuple[str, str], tuple[int, str, str]], environment: dict[str, str]
) -> None:
    code, output, errors = answers["toy", "lowest"]
    assert code == 0, errors
    assert "lowest (A)" in output and "pimc:evaluator=lowest" in output
    drawn = checked(environment, "-c", DRAWN)
    assert "leads" in drawn and drawn.endswith("(two tricks) lowest\n")


def test_its_presets_of_networks_are_chosen_by_name_and_hide_none_of_ours(environment: dict[str, str]) -> None:
    line = ["-m", "learner", "game=toy", "data=DIR", "out=DIR"]
    assert "  kind: first_card\n  start: 5.0\n" in checked(environment, *line, "model=dear", "--cfg", "job")
    none, ours = run(environment, *line, "model=deer"), run(environment, *line, "model=fc")
    assert none.stderr == f"error: model=deer: no such choice; there are {', '.join(CHOICES)}\n"
    assert ours.stderr.startswith(
        "error: model=fc: a package offers a kind of network 'fc' (kibitz.models), and Kibitz"
    )


@pytest.mark.slow
def test_it_plays_in_self_play(environment: dict[str, str], tmp_path: Path) -> None:
    players = "+initial.players.highest=3.0"
    line = ["-m", "selfplay.generate", "game=toy", players, "games=40", f"out={tmp_path}/shards"]
    checked(environment, *line, "cluster.generators=1")
    rows = read_shard(tmp_path / "shards" / "00000.parquet", toy.ToyGame())
    assert set(rows.player) == {"random", "highest"} and len(rows) == 80
    assert "rules version 1" in checked(environment, "-m", "games.show", f"{tmp_path}/shards/00000.parquet")
    assert "1 files checked, 0 damaged" in checked(environment, "-m", "selfplay.verify", f"{tmp_path}/shards")


@pytest.mark.slow
def test_its_network_is_trained_gated_asked_and_played_against(environment: dict[str, str], tmp_path: Path) -> None:
    run_dir = f"{tmp_path}/run"
    assert "valued (A)" in checked(environment, "-m", "selfplay", *SMALL_RUN, f"run.dir={run_dir}")
    net = f"{run_dir}/iterations/001/checkpoint"
    assert json.loads((Path(net) / "config.json").read_text())["model_type"] == "first_card"
    history = json.loads((Path(run_dir) / "iterations/000/checkpoint/training/state.json").read_text())["history"]
    assert history[-1]["loss"] < history[0]["loss"]
    assert "0 damaged" in checked(environment, "-m", "selfplay.verify", run_dir)
    checked(environment, "-m", "selfplay.report", run_dir)
    players = f'players=["valued@{net}","random"]'
    assert "valued" in checked(environment, "-m", "search.tournament", "game=toy", players, "deals=20")
    assert checked(environment, "-c", PLAYED_BY_HAND, net).count(".0") == 2
    wrong = run(environment, "-m", "search.tournament", "game=toy", f'players=["argmax_val@{net}","random"]', "deals=2")
    assert wrong.returncode == 2 and "a table of first cards is for players whose network reads states" in wrong.stderr
    assert run(environment, "-m", "learner.export", net, f"{tmp_path}/given").returncode == 0


@pytest.mark.parametrize(("game", "player", "message"), REFUSED)
def test_what_is_wrong_with_a_plug_in_is_one_line(
    answers: dict[tuple[str, str], tuple[int, str, str]], game: str, player: str, message: str
) -> None:
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
