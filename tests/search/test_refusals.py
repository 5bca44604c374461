"""Players that cannot be: what is wrong with a name, a setting, a network or a game, said in one line."""

import pyspiel
import pytest

from games.registry import make_game
from search.config import SearchConfig
from search.roster.registry import make_players

TOY = "tests.search.toy:ToyGame"

NAMES = [
    ("hearts", "go_mcts:lanes", "'lanes' is no setting; write go_mcts:KEY=VALUE"),
    ("hearts", "go_mcts:lanes=", "'lanes=' is no setting"),
    ("hearts", "go_mcts:lanes=2:puct", "'puct' is no setting; write go_mcts:KEY=VALUE"),
    ("hearts", "go_mcts:depth=3", "go_mcts has no 'depth'; there are num_runs, num_steps"),
    ("hearts", "go_mcts:lanes=two", "lanes is 'two'; it must be of type int"),
    ("hearts", "go_mcts:mask_impossible=1", "it must be true or false"),
    ("hearts", "random:lanes=2", "random has no settings"),
    ("hearts", "go_mcts:lanes=2:lanes=3", "lanes is given twice"),
    ("hearts", "random:explore=0.1:explore=0.2", "explore is given twice"),
    ("hearts", "go_mcts:explore=often", "explore is 'often'; it must be a probability, 0 to 1"),
    ("hearts", "random:explore=2", "explore is '2'; it must be a probability, 0 to 1"),
    ("hearts", "argmaxval", "no player 'argmaxval'; there are random, hearts_rules, hearts_simple, hearts_complex, "),
    ("hearts", "nobody:lanes=2", "no player 'nobody'; there are random"),
    (TOY, "nobody", "there are random, argmax_val, imitation, go_mcts"),
    ("hearts", "nobody:", "'' is no setting; write nobody:KEY=VALUE"),
    ("hearts", "no.such.module:KIND", "'no.such.module:KIND' cannot be imported (ModuleNotFoundError"),
    ("hearts", "no.such.module:KIND:lanes=", "'lanes=' is no setting; write no.such.module:KIND:KEY=VALUE"),
    ("hearts", "games.hearts.game:HeartsGame", "must be a search.players.kinds.PlayerKind"),
]

NETWORKS = [
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
    (TOY, "is_mcts", "player is_mcts samples deals, which toy cannot"),
    ("openspiel:leduc_poker", "pimc:confidence=1", "openspiel:leduc_poker has no scripted player"),
    ("openspiel:leduc_poker", "pimc:beliefs=scripted:candidates=60", "openspiel:leduc_poker has no scripted player"),
    ("hearts", "argmax_val:bidding=percentile", "hearts has no auction; give argmax_val.bidding=own"),
    ("hearts", "imitation:bidding=percentile", "hearts has no auction; give imitation.bidding=own"),
    ("hearts", "go_mcts:utility=fun", "no utility 'fun'"),
    (TOY, "pimc:cheat=true:utility=fun", "no utility 'fun'; this game offers tricks"),
    ("hearts", "is_mcts:utility=gold", "no utility 'gold'"),
]

SETTINGS = [
    ("hearts", "go_mcts:lanes=0", "player 'go_mcts:lanes=0': go_mcts.lanes=0: must be at least 1"),
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
    (
        "crew",
        "pimc:blueprint=network:threshold=0.1:confidence=1",
        "must be 0.0 with pimc.evaluator=uct, which searches",
    ),
    ("hearts", "is_mcts:observers=all", "is_mcts.observers=all"),
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


@pytest.mark.parametrize(("game", "name", "message"), [*NAMES, *NETWORKS, *GAMES, *SETTINGS])
def test_what_cannot_be_is_refused_in_one_line(game, name, message, monkeypatch) -> None:
    monkeypatch.delattr(pyspiel, "make_xinxin_bot", raising=False)
    options = {"pass_cards": False} if game == "hearts_no_pass" else {}
    with pytest.raises(ValueError) as error:
        make_players([name], make_game(game.removesuffix("_no_pass"), options), SearchConfig())
    assert message in str(error.value) and "\n" not in str(error.value)
