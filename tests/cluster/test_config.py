"""Settings of clusters."""

from dataclasses import asdict, replace
from typing import Any

import pytest
from hydra import compose, initialize_config_module
from omegaconf import DictConfig

from cluster.cli import build, register
from cluster.config import ClusterConfig
from cluster.console import COMMANDS, help_of
from cluster.errors import UserError
from cluster.preflight import Node, preflight
from games.config import GameConfig
from learner.config import EngineConfig
from search.arena.tournament.workers import evaluators
from search.config import SearchConfig
from selfplay.config import GamesConfig
from selfplay.generate import GenerateConfig
from selfplay.generator import GeneratorSettings
from selfplay.workers import generators, learner
from tests.marks import slow


def preset(mode: str, *overrides: str) -> DictConfig:
    register("generate", GenerateConfig)
    with initialize_config_module("conf", version_base="1.3"):
        return compose("generate", overrides=["out=x", f"cluster={mode}", *overrides]).cluster


@pytest.mark.parametrize(
    ("name", "mode"), [("local", "auto"), ("existing", "existing"), ("job", "job"), ("node8", "auto")]
)
def test_every_place_has_a_preset_that_gives_every_setting(name: str, mode: str) -> None:
    composed = preset(name, *(["cluster.address=10.0.0.1:6379"] if mode == "existing" else []))
    assert set(composed) == set(asdict(ClusterConfig()))
    assert build(composed, ClusterConfig).mode == mode


@pytest.mark.parametrize(("name", "gpus"), [("existing", 2), ("job", 2), ("node8", 8)])
def test_players_of_the_presets_for_gpus_fill_all_but_one_which_the_learner_has(name: str, gpus: int) -> None:
    more = ["cluster.address=10.0.0.1:6379"] if name == "existing" else []
    config = build(preset(name, *more), ClusterConfig)
    settings = GeneratorSettings(GameConfig("hearts"), SearchConfig(), EngineConfig(), GamesConfig(games_per_table=1))
    stages = (generators(config, settings), learner(config), evaluators(config))
    playing, training, measuring = (stage.request for stage in stages)
    assert playing.count == 2 * (gpus - 1) and training.gpus == 1
    machine = Node("a", 40, gpus, 64_000)
    for players in (playing, measuring):
        preflight([players, training], [machine])
        with pytest.raises(UserError, match="no room for"):
            preflight([players, training], [replace(machine, gpus=gpus - 1)])
    for alone in (playing, training, measuring):
        preflight([alone], [replace(machine, gpus=max(gpus - 1, 1))])


def test_a_command_finds_out_by_itself_whether_it_runs_as_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_JOB_CONFIG_JSON_ENV_VAR", raising=False)
    assert ClusterConfig().place == "local"
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}")
    assert ClusterConfig().place == "job"
    assert ClusterConfig(mode="local").place == "local"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"mode": "remote"}, "cluster.mode=remote: must be one of auto, local, existing, job"),
        ({"mode": "existing"}, "cluster.address=: must be given with cluster.mode=existing"),
        ({"address": "10.0.0.1:6379"}, "cluster.address=10.0.0.1:6379: must be empty unless cluster.mode=existing"),
        ({"temp_dir": "/" + "x" * 40}, "at most 40 characters"),
        ({"generators": 0}, "cluster.generators=0: must be at least 1"),
        ({"learner_gpus": -1}, "cluster.learner_gpus=-1: must be at least 0"),
        ({"metrics_port": 12000}, "cluster.metrics_port=12000"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name_and_value(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as refusal:
        ClusterConfig(**settings)
    assert words in str(refusal.value)


HELPFUL = [name for name, command in COMMANDS.items() if command.schema]


@pytest.mark.parametrize("name", [*HELPFUL[:2], *slow(*HELPFUL[2:])])
def test_the_help_of_a_command_has_every_key_with_its_value_in_the_example(name: str) -> None:
    printed = help_of(name)
    assert f"example: kibitz {name} {COMMANDS[name].example}" in printed and "  game.name: str = " in printed


def test_the_help_shows_the_values_in_force_and_the_keys_of_players_that_are_named() -> None:
    printed = help_of("selfplay", ["experiment=skat_strong", "learner.batch_size=7"])
    assert "learner.policy.kind: str = gradient" in printed and "learner.batch_size: int = 7" in printed
    assert "search.argmax_val.threshold" in printed and "search.nrpa" not in printed
    assert "model.width" not in printed  # of another kind of network
    assert "search.policy" not in printed  # a player, though other keys have this name
    assert "search.pimc.worlds: int = 50" in help_of("play", ["hearts", "players=[pimc]"])
    with pytest.raises(UserError, match=r"unknown key 'learner\.lr'"):
        help_of("selfplay", ["experiment=skat_strong", "learner.lr=1"])
