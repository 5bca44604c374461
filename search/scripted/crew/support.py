"""Support of The Crew: scripted player and pictures."""

from search.players.kinds import PlayerKind
from search.players.support import Level, Support, later, player

SUPPORT = Support(
    kinds=(
        PlayerKind(
            name="crew_rules",
            summary="Plays The Crew by rules of thumb.",
            games=("crew",),
            factory=player("search.scripted.crew.rules.player:CrewRules"),
            baseline=True,
        ),
    ),
    layout=later("search.scripted.crew.layout:CrewLayout"),
    levels={
        "beginner": Level("crew_rules:explore=0.15", -36),
        "rules": Level("crew_rules", 0),
        "network": Level("argmax_val@kibitz:crew", 62),
        "search": Level("pimc:worlds=20:candidates=200:beliefs=scripted:evaluator=playouts:confidence=2", 138, 1.0),
    },
)
