"""Support of Hearts: scripted players and pictures."""

from search.players.kinds import PlayerKind
from search.players.support import Level, Support, later, player
from search.scripted.hearts.config import HeartsComplexConfig

SUPPORT = Support(
    kinds=(
        PlayerKind(
            name="hearts_rules",
            summary="Plays Hearts by rules of thumb.",
            games=("hearts",),
            factory=player("search.scripted.hearts.rules:HeartsRules"),
            baseline=True,
        ),
        PlayerKind(
            name="hearts_simple",
            summary="Plays Hearts greedily, one trick at a time (paper 002).",
            games=("hearts",),
            factory=player("search.scripted.hearts.simple:HeartsSimple"),
        ),
        PlayerKind(
            name="hearts_complex",
            summary="Plays Hearts by rules that look at the table, with `cheat=true` also at hidden cards (paper 002).",
            games=("hearts",),
            settings=HeartsComplexConfig,
            factory=player("search.scripted.hearts.complex:HeartsComplex"),
        ),
    ),
    layout=later("search.scripted.hearts.layout:HeartsLayout"),
    levels={
        "beginner": Level("hearts_rules:explore=0.15", -52),
        "rules": Level("hearts_rules", 0),
        "casual": Level("imitation:temperature=2@kibitz:hearts", 94),
        "network": Level("argmax_val@kibitz:hearts", 139),
        "search": Level("go_mcts:num_runs=40@kibitz:hearts", 160, 1.0),
    },
)
