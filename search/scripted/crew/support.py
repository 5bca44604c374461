"""Support of The Crew: scripted player and pictures."""

from search.players.kinds import PlayerKind, player_class
from search.players.support import Support

SUPPORT = Support(
    kinds=(
        PlayerKind(
            name="crew_rules",
            summary="Plays The Crew by rules of thumb.",
            games=("crew",),
            factory=player_class("search.scripted.crew.rules.player:CrewRules"),
            baseline=True,
        ),
    ),
    network_player="argmax_val:threshold=0.05:policy_weight=0.3",
    layout="search.scripted.crew.layout:CrewLayout",
)
