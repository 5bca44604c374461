"""What there is for Hearts beyond its rules."""

from games.game import Game
from search.players.kinds import PlayerKind
from search.players.player import Player
from search.players.support import Support
from search.scripted.hearts.config import HeartsComplexConfig


def _hearts_rules(game: Game, model: None, settings: None) -> Player:
    from search.scripted.hearts.rules import HeartsRules

    return HeartsRules()


def _hearts_simple(game: Game, model: None, settings: None) -> Player:
    from search.scripted.hearts.simple import HeartsSimple

    return HeartsSimple()


def _hearts_complex(game: Game, model: None, settings: HeartsComplexConfig) -> Player:
    from search.scripted.hearts.complex import HeartsComplex

    return HeartsComplex(settings)


SUPPORT = Support(
    kinds=(
        PlayerKind(
            name="hearts_rules",
            summary="Plays Hearts by rules of thumb.",
            games=("hearts",),
            factory=_hearts_rules,
            baseline=True,
        ),
        PlayerKind(
            name="hearts_simple",
            summary="Plays Hearts greedily, one trick at a time (paper 002).",
            games=("hearts",),
            factory=_hearts_simple,
        ),
        PlayerKind(
            name="hearts_complex",
            summary="Plays Hearts by rules that look at the table, with `cheat=true` also at hidden cards (paper 002).",
            games=("hearts",),
            settings=HeartsComplexConfig,
            factory=_hearts_complex,
        ),
    ),
    layout="search.scripted.hearts.layout:HeartsLayout",
)
