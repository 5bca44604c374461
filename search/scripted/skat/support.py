"""Support of Skat: scripted players, pictures and PIMC's solver."""

from search.players.kinds import PlayerKind
from search.players.support import Level, Support, later, player
from search.scripted.skat.config import SkatRulesConfig

SUPPORT = Support(
    kinds=(
        PlayerKind(
            name="skat_rules",
            summary="Bids and plays Skat by rules of thumb.",
            games=("skat",),
            settings=SkatRulesConfig,
            factory=player("search.scripted.skat.rules.player:SkatRules"),
            baseline=True,
        ),
    ),
    layout=later("search.scripted.skat.layout:SkatLayout"),
    evaluators={"solver": later("search.scripted.skat.solved:solver")},
    solvers={"solver": later("search.scripted.skat.solved:solve")},
    hindsight="solver",
    rebuild=later("games.skat.replay:states_at"),
    line=later("search.scripted.skat.solved:line"),
    records={".sgf": later("search.scripted.skat.records.sequences:read_records")},
    auction=later("search.scripted.skat.auction:calls"),
    levels={
        "beginner": Level("skat_rules:explore=0.15", -212),
        "rules": Level("skat_rules", 0),
        "casual": Level("imitation:temperature=2@kibitz:skat", 53),
        "network": Level("argmax_val@kibitz:skat", 124),
        "search": Level("go_mcts:num_runs=40@kibitz:skat", 106, 1.0),
    },
)
