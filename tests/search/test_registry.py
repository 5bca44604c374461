"""Names become players, with their networks."""

import numpy as np
import pytest

from cluster.errors import blaming_input
from games.hearts.game import HeartsGame
from learner import kinds as networks
from learner.config import EngineConfig, TransformerConfig
from learner.model.checkpoint import checkpoint_id
from search.config import SearchConfig
from search.go_mcts.config import GoMctsConfig
from search.pimc.config import PimcConfig
from search.players.memory import check_deals
from search.players.table import play_table
from search.roster import kinds
from search.roster.engines import Engines, check_cache
from search.roster.registry import checkpoint_record, make_players, resolve, with_networks
from search.roster.spec import labels, parse
from tests.search.toy import ToyGame

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


def test_a_name_is_taken_apart():
    entrant = parse("go_mcts:lanes=16:mask_impossible=true:policy_weight=0.1@s3://bucket/a@b:c")
    assert (entrant.kind, entrant.checkpoint) == ("go_mcts", "s3://bucket/a@b:c")
    config = entrant.configured(GoMctsConfig(num_runs=7))
    assert config == GoMctsConfig(num_runs=7, lanes=16, mask_impossible=True, policy_weight=0.1)
    assert parse("random").configured(GoMctsConfig()) == GoMctsConfig()
    assert parse("kind:a=b/c:x=1@kibitz:y").settings == (("a", "b/c"), ("x", "1"))


def test_equal_names_are_told_apart():
    assert labels(["a", "a:x=1", "a", "a"]) == ["a", "a:x=1", "a#2", "a#3"]
