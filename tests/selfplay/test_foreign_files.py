"""Files come from anywhere: whatever they name, reading them runs none of it, unless the user names it too."""

import importlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from cluster.errors import UserError
from cluster.files import storage
from games import show
from games.config import GameConfig
from games.hearts.game import HeartsGame
from games.rng import derive
from games.shards import shard_info
from learner import export as give_away
from learner.model.checkpoint import save_weights
from search.apps.play.__main__ import main as play
from search.apps.play.config import PlayConfig
from search.arena.rating.ratings import rate
from search.arena.tournament.result import TournamentResult
from search.arena.tournament.sweep import report_sweep
from search.arena.tournament.tournament import run_tournament
from search.players.random_player import RandomPlayer
from search.roster.registry import check_recorded
from selfplay import curves, verify
from selfplay.config import GenerateConfig, InitialConfig, MatchConfig, TrainConfig
from selfplay.recorded import record_settings
from selfplay.report import __main__ as report
from selfplay.report.contents import read_run
from selfplay.report.page import Sample, page, write_page
from selfplay.run_directory import RunDirectory
from tests.learner.material import shard_of, tiny_net
from tests.search.toy import ToyGame
from tests.selfplay.material import run, tiny_config
from tests.storage.hostile import hostile

TOY = "tests.search.toy:ToyGame"
EVIL = """
from pathlib import Path

Path({marker!r}).touch()


def ran(**options):
    raise ValueError("it ran")
"""
"""A module that leaves a mark as soon as it is imported."""
NAMES = ("os:system", "evil_module:ran")


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is there once anything has run that a file names."""
    marker = tmp_path / "marker"
    (tmp_path / "evil_module.py").write_text(EVIL.format(marker=str(marker)))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "evil_module", raising=False)
    importlib.invalidate_caches()
    return marker


def evil_shard(directory: Path, game: str, options: Mapping[str, Any]) -> Path:
    """A shard of Hearts whose header names this game."""
    path = Path(shard_of(HeartsGame(), directory, 2))
    table = pq.read_table(path)
    metadata = {**table.schema.metadata, b"kibitz.game": game.encode(), b"kibitz.options": json.dumps(options).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), path)
    return path


def evil_run(directory: Path, game: GameConfig, player: str = "argmax_val") -> Path:
    """A run of Hearts with one network, whose settings name this game and this player."""
    config = tiny_config(str(directory))
    config.game, config.selfplay.newest_player = game, player
    RunDirectory(str(directory)).begin(config)
    save_weights(directory / "iterations/000/checkpoint", tiny_net(HeartsGame()), HeartsGame())
    return directory


Reads = list[Callable[[], object]]


def in_shard(directory: Path, name: str, options: Mapping[str, Any]) -> Reads:
    path = evil_shard(directory, name, options)
    return [
        lambda: show.main([str(path)]),
        lambda: play(PlayConfig(GameConfig("hearts"), replay=str(path))),
        lambda: verify.main([str(directory)]),
    ]


def in_settings_of_shards(directory: Path, name: str, options: Mapping[str, Any]) -> Reads:
    shard_of(HeartsGame(), directory, 2)
    record_settings(f"{directory}/config.yaml", GenerateConfig(game=GameConfig(name, dict(options)), out="x", games=2))
    return [lambda: verify.main([str(directory)])]


def in_settings_of_a_run(directory: Path, name: str, options: Mapping[str, Any]) -> Reads:
    evil_run(directory, GameConfig(name, dict(options)))
    page = directory / "results/report.html"
    return [
        lambda: verify.main([str(directory)]),
        lambda: report.main([str(directory)]) or print(page.read_text()),
        lambda: RunDirectory(str(directory)).check(tiny_config(str(directory))),
    ]


def in_the_player_of_a_run(directory: Path, name: str, options: Mapping[str, Any]) -> Reads:
    page = evil_run(directory, GameConfig("hearts"), name) / "results/report.html"
    return [lambda: report.main([str(directory)]) or print(page.read_text())]


def in_a_checkpoint(directory: Path, name: str, options: Mapping[str, Any]) -> Reads:
    save_weights(directory / "net", tiny_net(HeartsGame()), HeartsGame())
    config = directory / "net/config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "game": name, "game_options": options}))
    return [
        lambda: give_away.main([str(directory / "net"), str(directory / "out")]),
        lambda: play(PlayConfig(GameConfig("hearts"), checkpoint=str(directory / "net"))),
    ]


@pytest.mark.parametrize("name", [pytest.param(NAMES[0], marks=pytest.mark.slow), NAMES[1]])
@pytest.mark.parametrize(
    "files", [in_shard, in_settings_of_shards, in_settings_of_a_run, in_the_player_of_a_run, in_a_checkpoint]
)
def test_what_a_file_names_is_refused_by_its_name_and_never_run(files, name, marker, tmp_path, capsys) -> None:
    (tmp_path / "files").mkdir()
    for read in files(tmp_path / "files", name, {"command": f"touch {marker}"}):
        try:
            read()
            printed = capsys.readouterr()
            said = printed.out + printed.err
        except ValueError as error:
            said = str(error)
        assert not marker.exists()
        assert name in said and "it ran" not in said


@pytest.mark.parametrize("name", [NAMES[1], "\x1b]0;owned\x07"])
def test_players_in_results_are_names_and_no_more(name, marker, tmp_path, capsys) -> None:
    result = run_tournament(ToyGame(), [RandomPlayer(name), RandomPlayer("random")], 4, seed=1)
    result = replace(result, game=name, settings={"overrides": {"game": name}})
    directory = evil_run(tmp_path / "run", GameConfig("hearts"))
    for path, record in (("iterations/000/tournament.json", [result.record()]), ("result.json", result.record())):
        (directory / path).write_text(json.dumps(record))
    assert curves.main([str(directory), "--out", str(tmp_path / "curves.png")]) == 0
    assert report.main([str(directory), "--deals", "0"]) == 0
    report_sweep(str(directory))
    assert rate([TournamentResult.read(f"{directory}/result.json")]).players
    assert not marker.exists() and "\x1b" not in "".join(capsys.readouterr())


def test_results_that_fit_the_settings_do_not_get_their_game_made(marker: Path, tmp_path: Path) -> None:
    name, config = NAMES[1], tiny_config(str(tmp_path / "run"))
    config.game, config.evaluation.final = GameConfig(name), [MatchConfig(["random", "hearts_rules"], deals=2)]
    run = RunDirectory(config.run.dir)
    run.begin(config)
    settings = {"iteration": config.selfplay.iterations, "search": config.search.record()}
    players = [RandomPlayer("random"), RandomPlayer("hearts_rules")]
    result = run_tournament(ToyGame(), players, 2, seed=derive(config.run.seed, "evaluate", "final"))
    result = replace(result, game=name, settings=json.loads(json.dumps(settings)))
    storage.write_json_atomic(run.result("tournament.json"), [result.record()])
    assert len(read_run(run.root).final) == 1 and not marker.exists()


def test_a_network_that_settings_name_is_not_asked_of_another_machine(tmp_path: Path) -> None:
    with hostile({"net/config.json": b"{}"}) as server:
        root = evil_run(tmp_path / "run", GameConfig("hearts"), f"argmax_val@{server.uri('net')}")
        assert report.main([str(root)]) == 0
        page = (root / "results/report.html").read_text()
        assert "files may name none behind a URI" in page and '<article class="deal"' not in page
        assert not server.asked
    for uri in ("hf://evil/net", "file:///net", "s3:/evil/net"):
        with pytest.raises(ValueError, match=f"^here: names the network '{uri}'"):
            check_recorded("here", f"imitation@{uri}")
    for own in ("argmax_val", "argmax_val@kibitz:hearts", "imitation@runs/a/checkpoint", "argmax_val:explore=0.1"):
        check_recorded("here", own)


DEEP = "[" * 100_000
ODD = {
    "state.json": [DEEP, "[]", '{"format": 1, "iteration": null, "stage": "x"}', '{"format": 1, "iteration": 1e999}'],
    "provenance.json": [DEEP, '[{"revision": 1}]', "[1]", '[{"untracked": 1}]'],
    "metrics.jsonl": [
        f"{DEEP}\n",
        "".join(
            f'{{"step": {step}, "time": {when}, "values": {{"iteration": {iteration}}}}}\n'
            for step, when, iteration in [
                *((bad, 1, 1) for bad in ("1e999", "NaN", "null")),
                *((1, bad, 1) for bad in ("1e999", "NaN", "1e300")),
                *((1, 1, bad) for bad in ("1e999", "NaN", '"x"', "[]")),
            ]
        ),
    ],
    "iterations/000/tournament.json": [DEEP, "[1]", "1", '[{"format": 2, "players": 1}]'],
    "results/tournament.json": [DEEP, "[1]", "null"],
    "iterations/000/metrics.json": [DEEP, "[1]", '{"train/loss": "x"}', '{"generate/decisions_per_second": null}'],
}
"""File of a run -> what it may hold, as somebody else has written it."""


def test_odd_records_of_a_run_are_named_and_the_rest_is_read(tmp_path, capsys) -> None:
    RunDirectory(str(tmp_path)).begin(tiny_config(str(tmp_path)))
    for directory in ("iterations/000", "iterations/\u00b2", "results"):
        (tmp_path / directory).mkdir(parents=True)
    for number in range(max(map(len, ODD.values()))):
        odd = {name: contents[number] for name, contents in ODD.items() if number < len(contents)}
        for name, content in odd.items():
            (tmp_path / name).write_text(content)
        found = read_run(str(tmp_path))
        for name in odd:
            assert any(f"{name}: " in note and "left out" in note for note in found.notes), (name, odd[name][:50])
        assert "left out" in page(found, Sample((), ""))
        assert verify.main([str(tmp_path)]) == 1 and DEEP not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a: &a [1,1]\nb: &b [*a,*a]\n", "line 2 repeats another by an alias"),
        ("[" * 5_000, "nested too deeply"),
        ("x" * 2_000_000, "has 2,000,000 characters"),
        ("a: [", "cannot be read"),
        ("{}", "holds no settings"),
        ("run: {dir: '${oc.env:HOME}'}", "holds an interpolation"),
    ],
)
def test_settings_that_would_fill_the_memory_or_read_the_environment_are_one_line(content, said, tmp_path, capsys):
    (tmp_path / "iterations").mkdir()
    (file := tmp_path / "config.yaml").write_text(content)
    for read in (report.main, curves.main):
        assert read([str(tmp_path)]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"error: {file}") and said in error and error.count("\n") == 1
    assert verify.main([str(tmp_path)]) == 1 and said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("openspiel:leduc_poker(players=3)", {}),
        ("openspiel:efg_game", {"filename": "/etc/passwd"}),
        ("openspiel:misere", {"game": "efg_game(filename=/etc/passwd)"}),
        ("openspiel:leduc_poker", {"players=2,self(": 1}),
        ("openspiel:<game>", {}),
        ("openspiel:mnk", {"m": 20_000, "n": 20_000, "k": 3, "outcomes": "buckets"}),
        ("openspiel:mnk", {"m": 2_000, "n": 2_000, "k": 3, "outcomes": "buckets"}),
        ("openspiel:go", {"board_size": 65_536}),  # of which OpenSpiel counts one action, modulo 2**32
        ("openspiel:hex", {"board_size": 3_000, "outcomes": "buckets"}),
        ("openspiel:nim", {"pile_sizes": "1000000000;1000000000"}),
        ("openspiel:hex", {"board_size": "9" * 100_000}),
        ("samegame", {"boards": "/etc/passwd"}),
        ("samegame", {"boards": "../../etc/passwd", "boards_digest": "0" * 16}),
        ("samegame", {"boards": ["x"]}),
        ("hearts", {"self": 1}),
        ("hearts", [1]),
        ("", {}),
    ],
)
def test_strange_games_in_a_shard_end_in_one_line_that_names_it(name, options, tmp_path, capsys) -> None:
    path = evil_shard(tmp_path, name, options)
    assert show.main([str(path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"{path}: ") and said.count("\n") == 1 and "tiles" not in said and len(said) < 1000


def toy_config(directory: str) -> TrainConfig:
    """A small run of a game that nobody but its own configuration names."""
    config = tiny_config(directory)
    config.game = GameConfig(TOY)
    config.selfplay.initial, config.selfplay.iterations = InitialConfig(), 1
    config.evaluation.final = []
    return config


def test_a_run_of_a_game_of_ones_own_is_played_resumed_and_read_again(tmp_path, capsys) -> None:
    root = tmp_path / "run"
    run(toy_config(str(root)))
    assert not run(toy_config(str(root))).generated  # the same command again finds nothing to do
    shard, net = f"{root}/iterations/001/shards/00000.parquet", root / "iterations/001/checkpoint"
    assert shard_info(shard).game == "toy"
    for read in (
        lambda more: show.main([shard, *more]),
        lambda more: verify.main([str(root), *more]),
        lambda more: give_away.main([str(net), str(tmp_path / "out"), *more]),
    ):
        assert read([]) == 2 and "may name only hearts, skat, crew" in capsys.readouterr().err
        assert read(["--game", TOY]) == 0
    with pytest.raises(UserError, match=r"names the game 'toy', and files may name only .*kibitz play: game="):
        play(PlayConfig(GameConfig("hearts"), replay=shard, checkpoint=""))
    with pytest.raises(UserError, match="needs a terminal"):
        play(PlayConfig(GameConfig(TOY), replay=shard, checkpoint=""))


def test_the_deals_of_a_page_are_played_once_the_user_names_game_and_player(tmp_path: Path) -> None:
    config = toy_config(str(tmp_path / "run"))
    config.selfplay.newest_player = "search.roster.kinds:ARGMAX"
    RunDirectory(config.run.dir).begin(config)
    save_weights(tmp_path / "run/iterations/000/checkpoint", tiny_net(ToyGame()), ToyGame())
    page = Path(write_page(config.run.dir)).read_text()
    assert "names the game" in page and '<article class="deal"' not in page
    page = Path(write_page(config.run.dir, game=TOY)).read_text()
    assert "names the player" in page and '<article class="deal"' not in page
    page = Path(write_page(config.run.dir, game=TOY, player="argmax_val:explore=0.5")).read_text()
    assert page.count('<article class="deal"') == 2 and "argmax_val:explore=0.5 of iteration 0" in page
