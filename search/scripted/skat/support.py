"""What there is for Skat beyond its rules."""

from games.game import Game
from search.players.kinds import PlayerKind
from search.players.player import Player
from search.players.support import Support
from search.scripted.skat.config import SkatRulesConfig


def _skat_rules(game: Game, model: None, settings: SkatRulesConfig) -> Player:
    from search.scripted.skat.rules.player import SkatRules

    return SkatRules(settings)


def _xskat(game: Game, model: None, settings: None) -> Player:
    from search.scripted.skat.xskat import XSkat

    return XSkat()


SUPPORT = Support(
    kinds=(
        PlayerKind(
            name="skat_rules",
            summary="Bids and plays Skat by rules of thumb.",
            games=("skat",),
            settings=SkatRulesConfig,
            factory=_skat_rules,
            baseline=True,
        ),
        PlayerKind(
            name="xskat",
            summary="Plays Skat as the program XSkat, which must be installed; its process knows the whole deal.",
            games=("skat",),
            factory=_xskat,
        ),
    ),
    layout="search.scripted.skat.layout:SkatLayout",
    evaluators={"solver": "search.scripted.skat.solved:solver"},
)
