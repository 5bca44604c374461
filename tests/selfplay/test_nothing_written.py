"""Nothing is written before all is checked: a command that is refused leaves no output behind, not even a directory."""

from pathlib import Path

import pytest

from games.hearts.game import HeartsGame
from learner.model.checkpoint import save_weights
from tests.learner.material import tiny_net
from tests.selfplay.commands import call

GAME = HeartsGame()
HEARTS = ("game=hearts", "engine.device=cpu")
RUN = ("experiment=hearts_teacher", "run.dir=OUT")
PLAYERS = "players=[hearts_rules,random]"
PIMC = "players=[pimc,random]"
WEIGHED = "pimc:candidates=10000000000@NETWORK"

REFUSED = [
    ("selfplay", (*RUN, "cluster=process"), "cluster.mode=process"),
    ("selfplay", (*RUN, "selfplay.newest_player=random"), "newest_player=random"),
    ("selfplay", (*RUN, "selfplay.gate.seating=triples"), "selfplay.gate.seating=triples"),
    ("selfplay", ("--multirun", *RUN, "cluster=process", "run.seed=1,2"), "cluster.mode=process"),
    ("selfplay.generate", ("out=OUT", "games=3", "cluster=process"), "cluster.mode=process"),
    ("selfplay.generate", ("out=OUT", "games=3", "branches=1", "branch_player=imitation"), "branch_player=imitation"),
    ("learner", ("data=EMPTY", "out=OUT"), "EMPTY"),
    ("learner", ("data=EMPTY", "out=OUT", "model=fc", "game=skat"), "EMPTY"),
    ("search.arena.tournament", (*HEARTS, PLAYERS, "out=OUT/x.json", "seating=triples"), "seating=triples"),
    ("search.arena.tournament", (*HEARTS, "players=[hearts_rules,argmax_val]", "out=OUT/x.json"), "argmax_val"),
    ("search.arena.tournament", ("--multirun", *HEARTS, PLAYERS, "out=OUT", "seating=triples,pears"), "seating=pears"),
    ("search.arena.rating", (*HEARTS, PLAYERS, "out=OUT", "anchor=nobody"), "anchor=nobody"),
    ("search.arena.rating", (*HEARTS, "players=[hearts_rules,argmax_val]", "out=OUT"), "argmax_val"),
    ("search.arena.values", (*HEARTS, "checkpoint=NETWORK", "out=OUT/x.json", "player=nobody"), "nobody"),
    ("search.arena.values", ("game=skat", "checkpoint=NETWORK", "out=OUT/x.json"), "NETWORK"),
    ("search.arena.openings", ("checkpoint=NETWORK", "out=OUT"), "NETWORK"),
    ("search.apps.play", (*HEARTS, "checkpoint=NETWORK", "out=OUT"), "needs a terminal"),
    (
        "search.arena.tournament",
        (*HEARTS, "players=['pimc:worlds=100000000',random]", "out=OUT/x.json"),
        "pimc:worlds=100000000",
    ),
    (
        "search.arena.tournament",
        (*HEARTS, PIMC, "search.pimc.runs=2000000000", "out=OUT/x.json"),
        "player 'pimc': one decision",
    ),
    ("search.arena.rating", (*HEARTS, "players=['is_mcts:runs=100000000000',random]", "out=OUT"), "is_mcts:runs=1"),
    (
        "search.arena.values",
        (*HEARTS, "checkpoint=NETWORK", "player='go_mcts:num_runs=100000000000'"),
        "go_mcts:num_runs=1",
    ),
    ("search.arena.tournament", (*HEARTS, f"players=['{WEIGHED}',random]", "out=OUT/x.json"), WEIGHED),
    ("selfplay", (*RUN, "evaluation.final=[{players: ['pimc:worlds=100000000', random]}]"), "pimc:worlds=100000000"),
    ("selfplay.generate", ("out=OUT", 'initial.players=["pimc:worlds=100000000"]'), "pimc:worlds=100000000"),
    (
        "search.arena.tournament",
        (*HEARTS, PLAYERS, "deals=100000000", f"table_size={10**9}", "out=OUT/x.json"),
        "table_size=1",
    ),
    (
        "search.arena.values",
        (*HEARTS, "checkpoint=NETWORK", "decisions=100000000", "out=OUT/x.json"),
        "decisions=100000000",
    ),
    ("search.arena.values", (*HEARTS, "checkpoint=NETWORK", "worlds=1000000", f"table_size={10**9}"), "table_size=1"),
    ("selfplay.generate", ("out=OUT", *(f"games{key}={10**9}" for key in ("", "_per_shard", "_per_table"))), "table=1"),
    ("selfplay", (*RUN, *(f"selfplay.games_per_{key}={10**9}" for key in ("shard", "table"))), "games_per_table=1"),
    ("selfplay", (*RUN, f"selfplay.games_per_shard={10**9}", f"selfplay.initial_games={10**9}"), "games_per_shard=1"),
    ("selfplay.generate", ("out=OUT", f"games={10**9}", f"games_per_shard={10**9}"), "games_per_shard=1"),
    ("selfplay", (*RUN, f"selfplay.branches={10**9}"), f"branches={10**9}: no sequence of hearts has more than 75"),
    ("selfplay.generate", ("out=OUT", f"branches={10**9}"), f"branches={10**9}: no sequence of hearts has more than"),
    ("selfplay", (*RUN, "model.n_embd=1000000"), "n_embd"),
    ("selfplay", ("experiment=alphahearts", "run.dir=OUT", "model.width=1000000"), "model.width"),
    ("selfplay.curves", ("EMPTY", "--out", "OUT/x.png"), "EMPTY"),
    ("selfplay.report", ("EMPTY", "--out", "OUT/x.html"), "EMPTY"),
    ("selfplay.report", ("EMPTY", "--deals", "-1"), "--deals -1"),
    ("learner.export", ("EMPTY", "OUT"), "EMPTY"),
    ("cluster.submit", ("--address", "nowhere", "--", "kibitz", "generate", "out=OUT"), "--address nowhere"),
]


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
@pytest.mark.parametrize(("module", "arguments", "named"), REFUSED)
def test_a_refused_command_leaves_nothing_behind(
    module: str,
    arguments: tuple[str, ...],
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "EMPTY").mkdir()
    save_weights(tmp_path / "NETWORK", tiny_net(GAME), GAME)
    before = set(tmp_path.rglob("*"))
    assert call(monkeypatch, module, *arguments) == 2
    refused = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert refused and all(named in line for line in refused[-1:])
    assert set(tmp_path.rglob("*")) == before
