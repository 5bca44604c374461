"""Names become players, with their networks and the settings that these bring, or are refused; the page of settings."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
import yaml

from cluster.cli import configured
from cluster.errors import blaming_input
from cluster.fields import flat
from games.hearts.game import HeartsGame
from games.registry import make_game
from learner import kinds as networks
from learner.config import EngineConfig, TransformerConfig
from learner.model.checkpoint import PLAYERS_FILE, checkpoint_id, installed, read_players, save_weights
from search.arena.tournament.config import TournamentConfig
from search.arena.tournament.report import footer
from search.arena.tournament.tournament import run_tournament
from search.config import SearchConfig
from search.docs import NETWORKS, PAGE, networks_page, page
from search.go_mcts.config import GoMctsConfig
from search.pimc.config import PimcConfig
from search.players.config import ArgmaxValConfig
from search.players.memory import check_deals
from search.players.table import play_table
from search.roster import kinds
from search.roster.engines import Engines, check_cache
from search.roster.kinds import BUILT_IN
from search.roster.registry import checkpoint_record, make_players, resolve, with_networks
from search.roster.spec import labels, parse
from tests.learner.material import TINY, tiny_net
from tests.search.toy import ToyGame
from tests.test_repository import CONF

GAME = HeartsGame()
BROUGHT = {"argmax_val": {"threshold": 0.3, "policy_weight": 0.7}, "go_mcts": {"policy_weight": 0.2, "exploration": 0}}


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("networks") / "tiny"
    save_weights(path, tiny_net(GAME), GAME, players=BROUGHT)
    return str(path)


def settings(name: str, tuned: str, search: SearchConfig) -> Any:
    """Of the player, whichever way it gets its network."""
    (own,) = resolve([f"{name}@{tuned}"], GAME, search)
    (lent,) = with_networks(resolve([name], GAME, search), tuned)
    assert own.settings == lent.settings and own.brought == lent.brought
    return own.settings


@pytest.mark.parametrize(
    ("name", "search", "threshold", "policy_weight"),
    [
        ("argmax_val", SearchConfig(), 0.3, 0.7),
        ("argmax_val:threshold=0.05", SearchConfig(), 0.05, 0.7),
        ("argmax_val", SearchConfig(argmax_val=ArgmaxValConfig(policy_weight=0.5)), 0.3, 0.5),
        ("argmax_val", SearchConfig(given=["argmax_val.threshold"]), 0.05, 0.7),
        ("argmax_val", SearchConfig(given=["go_mcts.threshold"]), 0.3, 0.7),
    ],
)
def test_a_network_brings_what_nobody_else_says(name, search, threshold, policy_weight, tuned) -> None:
    assert settings(name, tuned, search) == ArgmaxValConfig(threshold, policy_weight)


def test_the_record_and_the_table_of_a_tournament_say_them(tuned: str) -> None:
    record = checkpoint_record(with_networks(resolve(["argmax_val", "imitation"], GAME), tuned))
    assert record["argmax_val"]["settings"] == BROUGHT["argmax_val"] and "settings" not in record["imitation"]
    result = run_tournament(GAME, make_players(["random", "hearts_rules"], GAME, SearchConfig()), deals=1, seed=1)
    assert footer(replace(result, settings={"checkpoints": record}))[-1:] == [
        "settings of the networks: argmax_val threshold=0.3, policy_weight=0.7"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"argmax_val": 1}', "no settings by kind of player"),
        ('{"argmax_val": {"threshold": 7}}', r"argmax_val\.threshold=7\.0: must be between 0 and 1"),
        ('{"argmax_val": {"threshold": "high"}}', r"argmax_val\.threshold"),
        ('{"argmax_val": {"threshold": null}}', r"argmax_val\.threshold"),
        ('{"argmax_val": {"utility": "x"}}', r"argmax_val\.utility: a network brings threshold, policy_weight"),
        (" " * 70_000, "more than 65,536 bytes"),
        *(
            (json.dumps({"go_mcts": {key: 10**9}}), rf"go_mcts\.{key}: a network brings num_steps, ")
            for key in ("num_runs", "seconds", "speculative", "utility")
        ),
    ],
)
def test_a_file_from_somebody_else_that_says_something_else_is_refused_in_a_line(text, message, tmp_path) -> None:
    """Or what costs time."""
    save_weights(tmp_path / "net", tiny_net(GAME), GAME)
    (tmp_path / "net" / PLAYERS_FILE).write_text(text)
    with pytest.raises(ValueError, match=rf"net/{PLAYERS_FILE}: .*{message}") as caught:
        resolve([f"{'go_mcts' if 'go_mcts' in text else 'argmax_val'}@{tmp_path}/net"], GAME)
    assert "\n" not in str(caught.value)


def test_a_flipped_byte_is_noticed(tmp_path: Path) -> None:
    save_weights(tmp_path / "net", tiny_net(GAME), GAME, players=BROUGHT)
    file = tmp_path / "net" / PLAYERS_FILE
    file.write_text(file.read_text().replace("0.7", "0.6"))
    with pytest.raises(ValueError, match=f"net/{PLAYERS_FILE}: is damaged"):
        resolve([f"argmax_val@{tmp_path}/net"], GAME)


@pytest.mark.parametrize(
    ("overrides", "given"),
    [
        ([], []),
        (["search.argmax_val.threshold=0.05"], ["argmax_val.threshold"]),
        (["search={argmax_val: {threshold: 0.05}}"], ["argmax_val.threshold"]),
        (["search=skat", "search.pimc.worlds=3"], ["pimc.worlds"]),
    ],
)
def test_what_a_command_line_gives_is_known_also_where_it_is_the_default(overrides, given) -> None:
    fixed = ["game=hearts", "players=[random,random]", "deals=1", "out=x", *overrides]
    assert configured("tournament", TournamentConfig, fixed).search.given == given


def test_no_preset_gives_a_default() -> None:
    """A network's own setting would take its place: only what a command line gives is known by its name."""
    default = flat(SearchConfig().record())
    for path in CONF.glob("search/*.yaml"):
        given = {player: keys for player, keys in yaml.safe_load(path.read_text()).items() if player != "defaults"}
        assert [key for key, value in flat(given).items() if value == default[key]] == [], path


@pytest.mark.parametrize("name", installed())
def test_networks_that_ship_bring_settings_that_their_players_take(name: str) -> None:
    for kind, values in read_players(f"kibitz:{name}").items():
        (entrant,) = resolve([f"{kind}@kibitz:{name}"], make_game(name, {}))
        assert {key: getattr(entrant.settings, key) for key in values} == values


def test_the_committed_page_is_what_the_code_gives() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(BUILT_IN), "run python -m search.docs --write"
    assert NETWORKS.read_text(encoding="utf-8") == networks_page(), "run python -m search.docs --write"


def test_every_kind_and_every_setting_is_on_the_page_with_its_meaning() -> None:
    text = page(BUILT_IN)
    for kind in BUILT_IN:
        assert f"| `{kind.name}` |" in text
    assert "| `temperature` | float | `1.0` | The policy is raised to" in text
    assert "|  |" not in text, "a setting without a docstring"


CPU = EngineConfig(device="cpu")
OTHER = next(name for name in HeartsGame().outcomes.utilities if name != HeartsGame().outcomes.default_utility)


def test_a_game_has_one_scripted_player_that_plays_deals_out_unless_another_is_named() -> None:
    for kind in kinds.BUILT_IN:
        assert not kind.baseline or (kind.games and kind.needs_model is False)
    assert kinds.baseline(HeartsGame()) == kinds.playout_player("", HeartsGame()) == "hearts_rules"
    assert kinds.baseline(ToyGame()) is None and kinds.playout_player("", ToyGame()) == "random"
    assert kinds.playout_player("random", HeartsGame()) == "random"


def test_players_of_one_network_share_its_engine_and_another_utility_has_its_own(network: str) -> None:
    game, engines = HeartsGame(), Engines(HeartsGame(), CPU)
    names = ["argmax_val", "imitation", "argmax_val:threshold=0.2", "random"]
    first = make_players(names, game, SearchConfig(), network, engines=engines)[:3]
    other = SearchConfig(go_mcts=GoMctsConfig(num_runs=2, utility=OTHER))
    second = make_players(["go_mcts", "imitation"], game, other, network, engines=engines)
    assert {player.histories.model for player in first} == {engines.get(network)}
    assert {player.histories.model for player in second} == {engines.get(network, OTHER)}
    before = engines.get(network)
    with engines.serving([network]):
        assert engines.get(network) is before
    with engines.serving([]):
        assert engines.get(network) is not before


def test_networks_of_one_shape_share_a_cache_and_those_of_another_have_their_own(network: str, tmp_path: Path) -> None:
    game, engines = HeartsGame(), Engines(HeartsGame(), CPU)
    for name, config in (("same", TINY), ("wide", replace(TINY, n_embd=2 * TINY.n_embd))):
        save_weights(tmp_path / name, tiny_net(game, 2, config), game)
    first, same, wide = (engines.get(path) for path in (network, str(tmp_path / "same"), str(tmp_path / "wide")))
    assert same.pool is first.pool is not wide.pool and same is not first
    assert engines.get(network, history=False).pool not in (first.pool, wide.pool)
    names = [f"argmax_val@{network}", f"imitation@{tmp_path}/same", f"imitation@{tmp_path}/wide", "random"]
    players, free = make_players(names, game, SearchConfig(), engines=engines), first.slots_left
    play_table(game, players, np.array([[0, 1, 2, 3]] * 3), np.arange(3, dtype=np.uint64), table_size=2, secret=1)
    assert first.slots_left == same.slots_left == free
    with engines.serving([str(tmp_path / "same")]):
        assert engines.get(network).pool is same.pool


def test_what_players_of_one_engine_hold_is_given_back_at_the_end_of_a_table(network: str) -> None:
    game, engines = HeartsGame(), Engines(HeartsGame(), CPU)
    free = engines.get(network).slots_left
    search = SearchConfig(go_mcts=GoMctsConfig(num_runs=2))
    names = ["argmax_val", "imitation", "go_mcts", "pimc:worlds=2:candidates=3:evaluator=network"]
    players = make_players(names, game, search, network, engines=engines)
    play_table(game, players, np.array([[0, 1, 2, 3]] * 3), np.arange(3, dtype=np.uint64), table_size=2, secret=1)
    assert engines.get(network).slots_left == free


def test_the_record_names_every_network_and_its_id(network: str) -> None:
    record = checkpoint_record(with_networks(resolve(["random", "argmax_val", "argmax_val"], HeartsGame()), network))
    described = {"path": network, "id": checkpoint_id(network)}
    assert record == {"argmax_val": described, "argmax_val#2": described}


def test_whether_a_player_asks_a_network_may_follow_from_its_settings(network: str) -> None:
    weighted, game = SearchConfig(pimc=PimcConfig(worlds=2, candidates=3)), HeartsGame()
    resolve(["pimc", f"pimc:candidates=50@{network}"], game, given=())
    for name, search in (("pimc:evaluator=network", SearchConfig()), ("pimc", weighted)):
        with pytest.raises(ValueError, match=f"player '{name}' needs a network: give the player as {name}@DIR"):
            resolve([name], game, given=(), search=search)
    for search, expected in ((weighted, network), (SearchConfig(), "")):
        (entrant,) = with_networks(resolve(["pimc"], game, search), network)
        assert (entrant.checkpoint, entrant.needs_model) == (expected, bool(expected))


def test_what_a_table_takes_is_told_and_too_much_of_it_refused() -> None:
    kind = networks.find("transformer")
    arch = kind.architecture(HeartsGame(), TransformerConfig(n_layer=8, n_head=8, n_embd=256))
    # Eight layers of keys and values, 256 floats each: 16 KiB a token; 75 tokens a history.
    said = check_cache(kind, arch, EngineConfig(device="cpu"), 1024, "games=256")
    assert said == ["keys and values: 1,200 KiB a history, at most 1,200 MiB for games=256"]
    half = check_cache(kind, arch, EngineConfig(device="cuda", precision="bf16"), 1024, "games=256")
    assert half == ["keys and values: 600 KiB a history, at most 600 MiB for games=256"]
    with pytest.raises(ValueError, match=r"games=256: .* 1,200 MiB, and engine\.cache_mb=1000 allows less"):
        check_cache(kind, arch, EngineConfig(device="cpu", cache_mb=1000), 1024, "games=256")


def test_an_error_of_a_games_code_is_no_bad_input_of_the_user() -> None:
    class Broken(HeartsGame):
        def deal(self, seeds: np.ndarray) -> np.ndarray:
            raise ValueError("no cards")

    with pytest.raises(RuntimeError, match="hearts: dealing fails: no cards") as failed, blaming_input():
        check_deals(Broken(), 20, "table_size=20")
    assert isinstance(failed.value.__cause__, ValueError), "its traceback says where"


def test_a_name_is_taken_apart_and_equal_ones_are_told_apart():
    entrant = parse("go_mcts:num_steps=16:mask_impossible=true:policy_weight=0.1@s3://bucket/a@b:c")
    assert (entrant.kind, entrant.checkpoint) == ("go_mcts", "s3://bucket/a@b:c")
    config = entrant.configured(GoMctsConfig(num_runs=7))
    assert config == GoMctsConfig(num_runs=7, num_steps=16, mask_impossible=True, policy_weight=0.1)
    assert parse("random").configured(GoMctsConfig()) == GoMctsConfig()
    assert parse("kind:a=b/c:x=1@kibitz:y").settings == (("a", "b/c"), ("x", "1"))
    assert labels(["a", "a:x=1", "a", "a"]) == ["a", "a:x=1", "a#2", "a#3"]


# ---- players that cannot be: what is wrong with a name, a setting, a network or a game, said in one line


TOY = "tests.search.toy:ToyGame"

NAMES = [
    ("hearts", "go_mcts:num_runs", "'num_runs' is no setting; write go_mcts:KEY=VALUE"),
    ("hearts", "go_mcts:num_runs=", "'num_runs=' is no setting"),
    ("hearts", "go_mcts:num_runs=2:puct", "'puct' is no setting; write go_mcts:KEY=VALUE"),
    ("hearts", "go_mcts:depth=3", "go_mcts has no 'depth'; there are num_runs, num_steps"),
    ("hearts", "go_mcts:num_runs=two", "num_runs is 'two'; it must be of type int"),
    ("hearts", "go_mcts:mask_impossible=1", "it must be true or false"),
    ("hearts", "random:num_runs=2", "random has no settings"),
    ("hearts", "go_mcts:num_runs=2:num_runs=3", "num_runs is given twice"),
    ("hearts", "random:explore=0.1:explore=0.2", "explore is given twice"),
    ("hearts", "go_mcts:explore=often", "explore is 'often'; it must be a probability, 0 to 1"),
    ("hearts", "random:explore=2", "explore is '2'; it must be a probability, 0 to 1"),
    ("hearts", "argmaxval", "no player 'argmaxval'; there are random, hearts_rules, hearts_simple, hearts_complex, "),
    ("hearts", "nobody:num_runs=2", "no player 'nobody'; there are random"),
    (TOY, "nobody", "there are random, argmax_val, imitation, go_mcts"),
    ("hearts", "nobody:", "'' is no setting; write nobody:KEY=VALUE"),
    ("hearts", "no.such.module:KIND", "'no.such.module:KIND' cannot be imported (ModuleNotFoundError"),
    ("hearts", "no.such.module:KIND:num_runs=", "'num_runs=' is no setting; write no.such.module:KIND:KEY=VALUE"),
    ("hearts", "games.hearts.game:HeartsGame", "must be a search.players.kinds.PlayerKind"),
]

OF_NETWORKS = [
    ("hearts", "random@x", "uses no network, so leave out @x"),
    (TOY, "pimc@DIR", "player 'pimc@DIR': pimc uses no network, so leave out @DIR"),
    ("hearts", "argmax_val@", "the directory of a checkpoint must follow the @"),
    ("hearts", "argmax_val@/nowhere/at/all", "/nowhere/at/all: no such directory; a checkpoint holds"),
    ("hearts", "argmax_val", "player 'argmax_val' needs a network: give checkpoint=DIR, or the player as argmax_val@D"),
    ("hearts", "pimc:candidates=50", "player 'pimc:candidates=50' needs a network: give checkpoint=DIR, or"),
    ("hearts", "pimc:evaluator=network", "player 'pimc:evaluator=network' needs a network: give checkpoint=DIR, or"),
    ("hearts_no_pass", "alphahearts", "player 'alphahearts' needs a network: give checkpoint=DIR, or the player as"),
    ("hearts", "argmax_val@kibitz:alphahearts", "is for players whose network reads states: alphahearts, q_values"),
    ("hearts", "q_values@kibitz:hearts", "reads histories: argmax_val, imitation, go_mcts, pimc, policy"),
    ("skat", "skat_policies@kibitz:skat", "is for players whose network reads histories"),
    (TOY, "argmax_val@kibitz:hearts", "game is 'hearts', the game in use has 'toy'"),
]

GAMES = [
    *((TOY, name, "plays hearts only, not toy") for name in ("hearts_rules", "hearts_simple", "hearts_complex")),
    (TOY, "skat_rules", "plays skat only, not toy"),
    (TOY, "crew_rules", "plays crew only, not toy"),
    ("skat", "q_values", "player 'q_values' plays hearts only, not skat"),
    *(("hearts", name, "plays games of one seat only, not hearts") for name in ("mcts", "sp_mcts", "mctransformer")),
    ("hearts", "samegame_greedy", "plays samegame only, not hearts"),
    ("skat", "openspiel", "'openspiel' plays hearts, openspiel:* only, not skat"),
    ("hearts", "openspiel:xinxin", "this pyspiel has no xinxin; build OpenSpiel with"),
    (TOY, "pimc", "player pimc samples deals, which toy cannot; only pimc:cheat=true plays it"),
    ("openspiel:leduc_poker", "pimc:confidence=1", "openspiel:leduc_poker has no scripted player"),
    ("openspiel:leduc_poker", "pimc:beliefs=scripted:candidates=60", "openspiel:leduc_poker has no scripted player"),
    ("hearts", "argmax_val:bidding=percentile", "hearts has no auction; give argmax_val.bidding=own"),
    ("hearts", "imitation:bidding=percentile", "hearts has no auction; give imitation.bidding=own"),
    ("hearts", "go_mcts:utility=fun", "no utility 'fun'"),
    (TOY, "pimc:cheat=true:utility=fun", "no utility 'fun'; this game offers tricks"),
]

SETTINGS = [
    ("hearts", "go_mcts:num_runs=0", "player 'go_mcts:num_runs=0': go_mcts.num_runs=0: must be at least 1"),
    ("hearts", "go_mcts:exploration=-1", "go_mcts.exploration=-1.0: must be at least 0"),
    ("hearts", "argmax_val:threshold=1.5", "argmax_val.threshold=1.5: must be between 0 and 1"),
    ("hearts", "argmax_val:policy_weight=-1", "argmax_val.policy_weight=-1.0: must be between 0 and 100"),
    ("hearts", "imitation:temperature=0", "imitation.temperature=0.0: must be above 0"),
    ("skat", "argmax_val:bidding=net", "argmax_val.bidding=net: must be one of own, percentile"),
    ("skat", "imitation:bidding=percentile:a=0", "imitation.a=0.0: must be above 0"),
    ("skat", "argmax_val:bidding=percentile:a=1.5", "argmax_val.a=1.5: must be between 0 and 1"),
    ("skat", "skat_rules:aggression=1.5", "skat_rules.aggression=1.5: must be between 0 and 1"),
    ("skat", "skat_rules:noise=-1", "skat_rules.noise=-1.0: must be between 0 and 10"),
    ("skat", "skat_policies:a=1.5", "skat_policies.a=1.5"),
    ("skat", "skat_policies:method=best", "skat_policies.method=best"),
    ("skat", "skat_policies:cards=x", "skat_policies.cards=x"),
    ("skat", "skat_policies:method=skat_rules:cards=pimc", "skat_policies.cards"),
    (TOY, "pimc:evaluator=solver", "pimc:evaluator=solver: for toy it must be one of uct, playouts, network, value"),
    (TOY, "pimc:evaluator=playouts:seconds=1", "pimc.seconds=1.0: must be 0.0 with pimc.evaluator=playouts; it is of"),
    (TOY, "pimc:worlds=0", "pimc.worlds=0: must be at least 1"),
    (TOY, "pimc:runs=0", "pimc.runs=0: must be at least 1"),
    (TOY, "pimc:candidates=49", "pimc.candidates=49: must be 0, or at least pimc.worlds=50 with pimc.cheat=false"),
    (TOY, "pimc:candidates=50:cheat=true", "pimc.candidates=50: must be 0, or at least pimc.worlds=50 with"),
    ("crew", "pimc:beliefs=rules:candidates=60", "pimc.beliefs=rules: must be one of network, scripted"),
    ("crew", "pimc:worlds=1:confidence=1", "pimc.worlds=1: must be 2 at least with pimc.confidence"),
    ("crew", "pimc:confidence=-1", "pimc.confidence=-1.0: must be at least 0"),
    ("crew", "pimc:threshold=0.1", "pimc.threshold=0.1: must be 0.0 with pimc.blueprint=scripted, which has no policy"),
    ("crew", "pimc:blueprint=network", "must be scripted without pimc.confidence and pimc.threshold"),
    ("crew", "pimc:evaluator=network:temperature=0", "pimc.temperature=0.0: must be above 0"),
    ("crew", "pimc:evaluator=network:temperature=200", "pimc.temperature=200.0: must be above 0 and at most 100"),
    (
        "crew",
        "pimc:blueprint=network:threshold=0.1:confidence=1",
        "must be 0.0 with pimc.evaluator=uct, which searches",
    ),
    ("hearts_no_pass", "alphahearts:iterations=0", "alphahearts.iterations=0: must be at least 1"),
    ("hearts_no_pass", "alphahearts:exploration=inf", "alphahearts.exploration=inf: must be a finite number"),
    ("hearts_no_pass", "alphahearts:seconds=nan", "alphahearts.seconds=nan: must be a finite number"),
    ("hearts_no_pass", "alphahearts:selection=puct", "alphahearts has no 'selection'; there are worlds, iterations"),
    ("hearts_no_pass", "q_values:worlds=0", "q_values.worlds=0: must be at least 1"),
    ("hearts", "openspiel:bluff", "player 'openspiel:bluff': openspiel.bot=bluff: must be one of is_mcts, xinxin"),
    ("hearts", "openspiel:simulations=0", "openspiel.simulations=0: must be at least 1"),
    ("samegame", "mcts:simulations=0", "mcts.simulations=0: must be at least 1"),
    ("samegame", "mcts:simulations=2000000000", "one decision"),
    ("samegame", "mcts:rollout=clever", "mcts.rollout=clever: must be one of uniform, tabu"),
    ("samegame", "mcts:decay=2", "mcts.decay=2.0: must be between 0 and 1"),
    ("samegame", "sp_mcts:restarts=0", "sp_mcts.restarts=0: must be at least 1"),
    ("samegame", "nrpa:level=0", "nrpa.level=0: must be at least 1"),
]


@pytest.mark.parametrize(("game", "name", "message"), [*NAMES, *OF_NETWORKS, *GAMES, *SETTINGS])
def test_what_cannot_be_is_refused_in_one_line(game, name, message, monkeypatch) -> None:
    monkeypatch.delattr(pyspiel, "make_xinxin_bot", raising=False)
    options = {"pass_cards": False} if game == "hearts_no_pass" else {}
    with pytest.raises(ValueError) as error:
        make_players([name], make_game(game.removesuffix("_no_pass"), options), SearchConfig())
    assert message in str(error.value) and "\n" not in str(error.value)
