"""What there is for The Crew beyond its rules."""

from games.game import Game
from search.players.kinds import PlayerKind
from search.players.player import Player
from search.players.support import Support


def _crew_rules(game: Game, model: None, settings: None) -> Player:
    from search.scripted.crew.rules.player import CrewRules

    return CrewRules()


SUPPORT = Support(
    kinds=(
        PlayerKind(
            name="crew_rules",
            summary="Plays The Crew by rules of thumb.",
            games=("crew",),
            factory=_crew_rules,
            baseline=True,
        ),
    ),
    layout="search.scripted.crew.layout:CrewLayout",
)
