"""Names become players; bad names and checkpoints are refused with what to do."""

import numpy as np
import pytest

from cluster.errors import blaming_input
from games.hearts.game import HeartsGame
from learner import kinds as networks
from learner.config import EngineConfig, TransformerConfig
from learner.model.checkpoint import checkpoint_id, save_weights
from search.arena.tournament.tournament import run_tournament
from search.config import SearchConfig
from search.go_mcts.config import GoMctsConfig
from search.pimc.config import PimcConfig
from search.players.config import ArgmaxValConfig, ImitationConfig
from search.players.memory import check_deals
from search.players.table import play_table
from search.roster import kinds
from search.roster.engines import Engines, check_cache
from search.roster.registry import checkpoint_record, make_players, networks_of, resolve, with_networks
from tests.learner.material import tiny_net
from tests.search.toy import ToyGame

CPU = EngineConfig(device="cpu")
OTHER = next(name for name in HeartsGame().outcomes.utilities if name != HeartsGame().outcomes.default_utility)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny untrained network for Hearts."""
    game = HeartsGame()
    net = tiny_net(game, seed=1, config=TransformerConfig(n_layer=1, n_head=2, n_embd=16))
    path = tmp_path_factory.mktemp("networks") / "tiny"
    save_weights(path, net, game)
    return str(path)


def test_a_game_has_one_scripted_player_that_plays_deals_out_unless_another_is_named() -> None:
    for kind in kinds.BUILT_IN:
        assert not kind.baseline or (kind.games and kind.needs_model is False)
    assert kinds.baseline(HeartsGame()) == kinds.playout_player("", HeartsGame()) == "hearts_rules"
    assert kinds.baseline(ToyGame()) is None and kinds.playout_player("", ToyGame()) == "random"
    assert kinds.playout_player("random", HeartsGame()) == "random"


def test_every_kind_of_player_plays_hearts_with_a_real_network(checkpoint: str) -> None:
    game = HeartsGame()
    search = SearchConfig(go_mcts=GoMctsConfig(num_runs=2))
    for name in ("argmax_val", "imitation", "go_mcts"):
        players = make_players([name, "random"], game, search, checkpoint, CPU)
        result = run_tournament(game, players, deals=1, seed=1)
        assert result.players == (name, "random") and result.matches == 14


def test_players_keep_their_order_and_get_distinct_names(checkpoint: str) -> None:
    own = f"argmax_val@{checkpoint}"
    players = make_players(["random", own, "random", "imitation"], HeartsGame(), SearchConfig(), checkpoint, CPU)
    assert [player.name for player in players] == ["random", own, "random#2", "imitation"]


def test_players_of_one_network_share_its_engine_and_another_utility_has_its_own(checkpoint: str) -> None:
    game, engines = HeartsGame(), Engines(HeartsGame(), CPU)
    names = ["argmax_val", "imitation", "argmax_val:threshold=0.2", "random"]
    first = make_players(names, game, SearchConfig(), checkpoint, engines=engines)[:3]
    other = SearchConfig(go_mcts=GoMctsConfig(num_runs=2, utility=OTHER))
    second = make_players(["go_mcts", "imitation"], game, other, checkpoint, engines=engines)
    assert {player.histories.model for player in first} == {engines.get(checkpoint)}
    assert {player.histories.model for player in second} == {engines.get(checkpoint, OTHER)}
    before = engines.get(checkpoint)
    with engines.serving([checkpoint]):
        assert engines.get(checkpoint) is before
    with engines.serving([]):
        assert engines.get(checkpoint) is not before


def test_what_players_of_one_engine_hold_is_given_back_at_the_end_of_a_table(checkpoint: str) -> None:
    game, engines = HeartsGame(), Engines(HeartsGame(), CPU)
    free = engines.get(checkpoint).slots_left
    search = SearchConfig(go_mcts=GoMctsConfig(num_runs=2))
    names = ["argmax_val", "imitation", "go_mcts", "pimc:worlds=2:candidates=3:evaluator=network"]
    players = make_players(names, game, search, checkpoint, engines=engines)
    play_table(game, players, np.array([[0, 1, 2, 3]] * 3), np.arange(3, dtype=np.uint64), table_size=2, secret=1)
    assert engines.get(checkpoint).slots_left == free


def test_the_record_names_every_network_and_its_id(checkpoint: str) -> None:
    record = checkpoint_record(with_networks(resolve(["random", "argmax_val", "argmax_val"], HeartsGame()), checkpoint))
    network = {"path": checkpoint, "id": checkpoint_id(checkpoint)}
    assert record == {"argmax_val": network, "argmax_val#2": network}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "argmaxval",
            "no player 'argmaxval'; there are random, hearts_rules, hearts_simple, hearts_complex, argmax",
        ),
        ("random@x", "uses no network, so leave out @x"),
        ("argmax_val@", "must follow the @"),
        ("argmax_val", "player 'argmax_val' needs a network: give checkpoint=DIR, or the player as argmax_val@DIR"),
        (
            "argmax_val@kibitz:alphahearts",
            "is for players whose network reads states: alphahearts, q_values",
        ),
        ("q_values@kibitz:hearts", "reads histories: argmax_val, imitation, go_mcts, pimc, policy$"),
        ("argmax_val@/nowhere/at/all", "/nowhere/at/all: no such directory; a checkpoint holds"),
    ],
)
def test_a_wrong_name_or_checkpoint_is_refused_with_what_to_do(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_players([name, "random"], HeartsGame(), SearchConfig())


def test_whether_a_player_asks_a_network_may_follow_from_its_settings(checkpoint: str) -> None:
    weighted, game = SearchConfig(pimc=PimcConfig(worlds=2, candidates=3)), HeartsGame()
    resolve(["pimc", f"pimc:candidates=50@{checkpoint}"], game, given=())
    for name, search in (("pimc:evaluator=network", SearchConfig()), ("pimc", weighted)):
        with pytest.raises(ValueError, match=f"player '{name}' needs a network: give the player as {name}@DIR"):
            resolve([name], game, given=(), search=search)
    for search, expected in ((weighted, checkpoint), (SearchConfig(), "")):
        (entrant,) = with_networks(resolve(["pimc"], game, search), checkpoint)
        assert (entrant.checkpoint, entrant.needs_model) == (expected, bool(expected))


def test_the_checkpoints_that_players_bring_are_known_before_they_are_loaded() -> None:
    assert networks_of(resolve(["argmax_val@runs/a", "random", "imitation", "go_mcts@b"], HeartsGame())) == [
        "runs/a",
        "b",
    ]


def test_hearts_rules_is_refused_for_other_games_and_not_offered() -> None:
    with pytest.raises(ValueError, match="plays hearts only, not toy"):
        make_players(["hearts_rules"], ToyGame(), SearchConfig())
    with pytest.raises(ValueError, match="there are random, argmax_val, imitation, go_mcts"):
        make_players(["nobody"], ToyGame(), SearchConfig())


def test_a_utility_that_the_game_does_not_have_is_refused(checkpoint: str) -> None:
    search = SearchConfig(argmax_val=ArgmaxValConfig(utility="fun"))
    with pytest.raises(ValueError, match="fun"):
        make_players(["argmax_val"], HeartsGame(), search, checkpoint, CPU)


def test_a_checkpoint_of_another_game_is_refused(checkpoint: str) -> None:
    with pytest.raises(ValueError, match="game is 'hearts', the game in use has 'toy'"):
        make_players(["argmax_val"], ToyGame(), SearchConfig(), checkpoint, CPU)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ArgmaxValConfig(threshold=1.5), "argmax_val.threshold=1.5: must be between 0 and 1"),
        (lambda: ImitationConfig(temperature=0.0), "imitation.temperature=0.0: must be above 0"),
        (lambda: GoMctsConfig(num_runs=0), "go_mcts.num_runs=0: must be at least 1"),
        (lambda: GoMctsConfig(exploration=-1.0), "go_mcts.exploration=-1.0: must be at least 0"),
        (lambda: EngineConfig(device="tpu"), "engine.device=tpu: must be one of auto, cpu, cuda"),
        (lambda: EngineConfig(max_batch=0), "engine.max_batch=0: must be at least 1"),
    ],
)
def test_settings_out_of_range_are_refused(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]


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
