"""Worlds of paper 002's players that a second network weighs ("Further Work", Specific Sampling)."""

import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cluster.errors import UserError
from games.config import GameConfig
from games.game import Game
from games.hearts.game import HeartsGame
from learner.config import EngineConfig, QNetworkConfig, TransformerConfig
from learner.model.architecture import architecture
from learner.model.checkpoint import checkpoint_id, save_weights
from learner.model.network import PolicyValueNet
from learner.model.network import initialise as initialise_transformer
from learner.q_network.architecture import q_architecture
from learner.q_network.network import QNet, initialise
from search.alphahearts.config import AlphaHeartsConfig, QValuesConfig
from search.alphahearts.player import AlphaHearts, QValues
from search.config import SearchConfig
from search.pimc.config import PimcConfig
from search.pimc.player import Pimc
from search.players.beliefs import by_network
from search.players.support import Support
from search.players.worlds_player import WorldsPlayer
from search.roster.engines import Engines
from search.roster.registry import check_networks, checkpoint_record, make_players, resolve, with_networks
from search.roster.spec import parse
from search.tournament.checks import checked
from search.tournament.config import TournamentConfig
from search.tournament.evaluator import Evaluator
from search.tournament.parts import play_tournaments
from search.tournament.result import TournamentResult
from tests.search.models import FunctionModel, History, Model, hash_model
from tests.search.state_models import NO_PASS, LinearStates
from tests.search.test_pimc import turns_of

CPU = EngineConfig(device="cpu", precision="fp32")
PLAYERS: dict[str, Callable[[Game, FunctionModel, int], WorldsPlayer]] = {
    "pimc": lambda game, beliefs, count: Pimc(beliefs, PimcConfig(worlds=4, candidates=count, runs=10), Support()),
    "alphahearts": lambda game, model, count: AlphaHearts(
        LinearStates(game),
        AlphaHeartsConfig(worlds=4, iterations=4, candidates=count, beliefs="DIR"),
        by_network(model),
    ),
    "q_values": lambda game, model, count: QValues(
        LinearStates(game), QValuesConfig(worlds=4, candidates=count, beliefs="DIR"), by_network(model)
    ),
}


# ---- weights


class HalfCertain(HeartsGame):
    """The variant of paper 002, in which every second deal that is sampled for a view is the same one."""

    def __init__(self) -> None:
        super().__init__(**NO_PASS.options)

    def determinize(self, views: np.ndarray, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        states, seats = super().determinize(views, seeds)
        self.certain = super().determinize(views[:1], np.array([7], np.uint64))
        states[::2] = self.certain[0]
        return states, seats

    def believing(self, certain: bool) -> Model:
        """Answers by which everybody plays as they did with the hands of that deal (or with all others), and never so
        with all others (or with those of that deal)."""

        def answer(history: History) -> tuple[np.ndarray, float]:
            (state,), (seat,) = self.certain
            tokens = self.histories(np.repeat(state, 3), (seat + np.arange(1, 4)) % 4)[0]
            there = any(tuple(own[: len(history)]) == history for own in tokens)
            played = np.arange(self.vocabulary.size) == tokens[0, len(history)]  # plays stand alike in all histories
            return (played if there == certain else ~played / (~played).sum()).astype(np.float32), 0.0

        return answer


@pytest.mark.parametrize("name", PLAYERS)
def test_only_the_deal_that_the_beliefs_make_certain_is_judged(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: two of four candidates are that deal. They have all the weight, so the effective size is 2, which is the
    floor: nothing is tempered, and each is two of the four worlds. With beliefs turned round neither is any."""
    game, turns = HalfCertain(), turns_of(NO_PASS, 1, 40)
    for certain in (True, False):
        player, seen = PLAYERS[name](game, FunctionModel(game.believing(certain)), 4), []

        def judge(worlds: np.ndarray, seeds: np.ndarray, seconds: float, seen: list = seen) -> np.ndarray:
            seen.append(worlds)
            return np.where(np.repeat(turns.legal, 4, axis=0), 0.0, -np.inf)

        monkeypatch.setattr(player, "evaluate", judge)
        player.start(game, 1)
        player.act(turns)
        (worlds,) = seen
        assert (worlds["hands"] == game.certain[0]["hands"]).all(axis=1).tolist() == [certain] * 4
        tokens, _ = game.histories(worlds, game.to_move(worlds))
        np.testing.assert_array_equal(tokens, np.repeat(turns.tokens, 4, axis=0))


@pytest.mark.parametrize("name", PLAYERS)
def test_a_decision_does_not_depend_on_its_neighbours(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, turns = FunctionModel(hash_model(NO_PASS, 0.1)), turns_of(NO_PASS, 5, 36)
    player = PLAYERS[name](NO_PASS, model, 6)
    player.start(NO_PASS, 8)
    together = player.values(turns)
    for row in range(len(together)):
        np.testing.assert_array_equal(player.values(turns.take(np.array([row])))[0], together[row])
    actions = player.act(turns)
    monkeypatch.setattr("search.players.worlds_player._CANDIDATES", 12)  # two turns at a time
    np.testing.assert_array_equal(player.act(turns), actions)
    assert len(together) > 2 and not model.held


@pytest.mark.parametrize("kind", ["pimc", "alphahearts"])
def test_weighing_the_worlds_counts_as_time_of_the_decision(kind: str) -> None:
    class Timed(FunctionModel):
        seconds = 0.0

        def query(self, *given: Any, **asked: Any) -> Any:
            began = time.monotonic()
            answer = super().query(*given, **asked)
            self.seconds += time.monotonic() - began
            return answer

    turns, left, weighed = turns_of(NO_PASS, 3, 36), list[float](), list[float]()
    model = Timed(hash_model(NO_PASS, 0.1))
    player = PLAYERS[kind](NO_PASS, model, 6)
    player.start(NO_PASS, 3)
    judge = player.evaluate

    def evaluate(worlds: np.ndarray, seeds: np.ndarray, seconds: float) -> np.ndarray:
        left.append(seconds)
        weighed.append(model.seconds)
        return judge(worlds, seeds, seconds)

    player.evaluate = evaluate  # type: ignore[method-assign]
    for limit in (60.0, 1e-12, 0.0):
        player._seconds = limit
        player.values(turns)
    assert 0 < left[0] <= 60.0 * len(turns.seeds) - weighed[0]
    assert 0 < left[1] <= 1e-9 and left[2] == 0.0  # 0 is for no limit
    assert model.seconds > 0


# ---- settings


@pytest.mark.parametrize("kind", ["alphahearts", "q_values"])
@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ("candidates=100", "{}.beliefs=: must be the checkpoint of the network that weighs {}.candidates=100"),
        ("beliefs=DIR", "{}.beliefs=DIR: must be empty with {}.candidates=0, as there is nothing to weigh"),
        ("candidates=9:beliefs=DIR", "{}.candidates=9: must be 0, or at least {}.worlds=10 with {}.cheat=false"),
        ("candidates=-1:beliefs=DIR", "{}.candidates=-1: must be 0, or at least"),
        ("candidates=10:cheat=true:beliefs=DIR", "{}.candidates=10: must be 0, or at least {}.worlds=10 with"),
        ("cheat=true:beliefs=DIR", "{}.beliefs=DIR: must be empty with {}.candidates=0"),
        ("candidates=10:beliefs=s3://a/b=c", "{} has no '//a/b'; there are worlds"),
    ],
)
def test_half_of_what_it_takes_is_refused_in_one_line(kind: str, settings: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint.replace("{}", kind)) as error:
        resolve([f"{kind}:{settings}@Q"], NO_PASS)
    assert "\n" not in str(error.value)


def test_a_path_of_beliefs_may_hold_colons() -> None:
    for path in ("runs/a/checkpoint", "kibitz:hearts", "s3://bucket/a:b"):
        spec = parse(f"alphahearts:beliefs={path}:worlds=5:candidates=10@s3://bucket/q@v:2")
        assert spec.checkpoint == "s3://bucket/q@v:2"
        assert spec.configured(AlphaHeartsConfig()) == AlphaHeartsConfig(worlds=5, candidates=10, beliefs=path)
    (entrant,) = resolve(["q_values:candidates=10:beliefs=kibitz:hearts@q"], NO_PASS)
    assert entrant.networks == ("q", "kibitz:hearts")


# ---- networks


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Checkpoints: a tiny Q-network ``q``, and two tiny transformers ``t`` and ``u``; of the variant without
    passing."""
    root, q = tmp_path_factory.mktemp("networks"), QNet(q_architecture(NO_PASS, QNetworkConfig(width=8)))
    initialise(q, 1)
    save_weights(root / "q", q, NO_PASS)
    for seed, name in enumerate("tu"):
        small = TransformerConfig(n_layer=1, n_head=2, n_embd=16, initializer_range=0.5)
        net = PolicyValueNet(architecture(NO_PASS, small))
        initialise_transformer(net, seed)
        save_weights(root / name, net, NO_PASS)
    return {name: str(root / name) for name in "qtu"}


def test_beliefs_share_the_engine_of_players_of_the_same_network(networks: dict[str, str]) -> None:
    engines = Engines(NO_PASS, CPU)
    weighted = f"alphahearts:worlds=2:candidates=4:beliefs={networks['t']}@{networks['q']}"
    names = [f"argmax_val:utility=own@{networks['t']}", weighted, f"q_values@{networks['q']}"]
    _, alphahearts, q_values = make_players(names, NO_PASS, SearchConfig(), engines=engines)
    assert isinstance(alphahearts, AlphaHearts) and isinstance(q_values, QValues)
    assert isinstance(alphahearts._beliefs, partial) and q_values._beliefs is None
    assert alphahearts._beliefs.args == (engines.get(networks["t"], "own"),)
    assert alphahearts._model is q_values._model is engines.state_model(networks["q"])
    assert len(engines._engines) == 2


def test_a_network_that_cannot_weigh_is_refused_before_any_work(networks: dict[str, str], tmp_path: Path) -> None:
    net = PolicyValueNet(architecture(HeartsGame(), TransformerConfig(n_layer=1, n_head=2, n_embd=16)))
    save_weights(tmp_path / "passing", net, HeartsGame())
    for beliefs, complaint in (
        (networks["q"], "model_type is 'kibitz_q_network'"),
        (str(tmp_path / "none"), "none: no such directory; a checkpoint holds"),
        (str(tmp_path / "passing"), "game_options is .* use the checkpoint with the game"),
        ("kibitz:nobody", "kibitz:nobody: no such network comes with Kibitz"),
    ):
        name = f"q_values:candidates=10:beliefs={beliefs}@{networks['q']}"
        configured = SearchConfig(q_values=QValuesConfig(candidates=10, beliefs=beliefs))
        for players, search in (([name], SearchConfig()), (["q_values"], configured)):
            with pytest.raises(ValueError, match=complaint) as error:
                check_networks(with_networks(resolve(players, NO_PASS, search), networks["q"]), NO_PASS)
            assert "\n" not in str(error.value)
    name = f"q_values:candidates=10:beliefs={networks['t']}@{networks['q']}"
    assert sorted(kind.name for kind, _ in check_networks(resolve([name], NO_PASS), NO_PASS)) == [
        "q_network",
        "transformer",
    ]


def test_the_record_names_both_networks(networks: dict[str, str]) -> None:
    configured = SearchConfig(alphahearts=AlphaHeartsConfig(candidates=10, beliefs=networks["t"]))
    entrants = resolve(["alphahearts", "q_values", "random"], NO_PASS, configured)
    record = checkpoint_record(with_networks(entrants, networks["q"]))
    found = {name: {"path": networks[name], "id": checkpoint_id(networks[name])} for name in "qt"}
    assert record == {"alphahearts": found["q"], "q_values": found["q"], networks["t"]: found["t"]}


def tournament(networks: dict[str, str], beliefs: str) -> TournamentConfig:
    search = SearchConfig(alphahearts=AlphaHeartsConfig(worlds=2, iterations=4, candidates=20, beliefs=beliefs))
    players = ["alphahearts", "q_values:worlds=2"]
    game = GameConfig("hearts", dict(NO_PASS.options))
    config = TournamentConfig(game, players, networks["q"], deals=2, seating="pairs", search=search, engine=CPU)
    config.cluster.mode = "process"
    return config


def played(config: TournamentConfig) -> TournamentResult:
    ((_, result),) = play_tournaments([checked(config)], Evaluator().evaluate, lambda ended, figures: None)
    assert isinstance(result, TournamentResult), result
    return result


def test_a_tournament_is_another_one_with_other_beliefs(networks: dict[str, str], tmp_path: Path) -> None:
    path, beliefs = str(tmp_path / "result.json"), str(tmp_path / "beliefs")
    shutil.copytree(networks["t"], beliefs)
    config = tournament(networks, beliefs)
    result = played(config)
    assert result.settings["checkpoints"][beliefs]["id"] == checkpoint_id(networks["t"])
    result.write(path)
    assert checked(config).stored(path) == result
    shutil.rmtree(beliefs)
    shutil.copytree(networks["u"], beliefs)
    with pytest.raises(UserError, match=r"holds a tournament with checkpoints\..*id="):
        checked(config).stored(path)
    other = played(config)
    assert other.columns != result.columns  # the weights of deals make the play
    config.search = replace(config.search, alphahearts=AlphaHeartsConfig(worlds=2, iterations=4))
    assert set(played(config).settings["checkpoints"]) == {"alphahearts", "q_values:worlds=2"}
