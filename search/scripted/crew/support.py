"""Support of The Crew: scripted player and pictures."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from games.game import Game
from search.players.kinds import PlayerKind
from search.players.player import Player
from search.players.support import Level, Support

if TYPE_CHECKING:
    from search.apps.pictures.scene import Layout


def _rules(game: Game, model: None, settings: None) -> Player:
    from search.scripted.crew.rules.player import CrewRules

    return CrewRules()


def _layout(game: Game, players: Sequence[str], observer: str) -> "Layout":
    from search.scripted.crew.layout import CrewLayout

    return CrewLayout(game, players, observer)


SUPPORT = Support(
    kinds=(
        PlayerKind(
            name="crew_rules",
            summary="Plays The Crew by rules of thumb.",
            games=("crew",),
            factory=_rules,
            baseline=True,
        ),
    ),
    layout=_layout,
    review_field={0: 0.0046, 5: 0.0056, 10: 0.0062, 20: 0.0071, 100: 0.0205},
    levels={
        "beginner": Level("crew_rules:explore=0.15", -46),
        "rules": Level("crew_rules", 0),
        "network": Level("argmax_val@kibitz:crew", 46),
        "search": Level("pimc:worlds=20:candidates=200:beliefs=scripted:evaluator=playouts:confidence=2", 74, 1.0),
    },
)
