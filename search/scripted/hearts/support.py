"""Support of Hearts: scripted players and pictures."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from games.game import Game
from search.players.kinds import PlayerKind
from search.players.player import Player
from search.players.support import Level, Support
from search.scripted.hearts.config import HeartsComplexConfig

if TYPE_CHECKING:
    from search.apps.pictures.scene import Layout


def _rules(game: Game, model: None, settings: None) -> Player:
    from search.scripted.hearts.rules import HeartsRules

    return HeartsRules()


def _simple(game: Game, model: None, settings: None) -> Player:
    from search.scripted.hearts.simple import HeartsSimple

    return HeartsSimple()


def _complex(game: Game, model: None, settings: HeartsComplexConfig) -> Player:
    from search.scripted.hearts.complex import HeartsComplex

    return HeartsComplex(settings)


def _layout(game: Game, players: Sequence[str], observer: str) -> "Layout":
    from search.scripted.hearts.layout import HeartsLayout

    return HeartsLayout(game, players, observer)


SUPPORT = Support(
    kinds=(
        PlayerKind(
            name="hearts_rules",
            summary="Plays Hearts by rules of thumb.",
            games=("hearts",),
            factory=_rules,
            baseline=True,
        ),
        PlayerKind(
            name="hearts_simple",
            summary="Plays Hearts greedily, one trick at a time (paper 002).",
            games=("hearts",),
            factory=_simple,
        ),
        PlayerKind(
            name="hearts_complex",
            summary="Plays Hearts by rules that look at the table, with `cheat=true` also at hidden cards (paper 002).",
            games=("hearts",),
            settings=HeartsComplexConfig,
            factory=_complex,
        ),
    ),
    layout=_layout,
    review_field={0: 0.185, 10: 0.238, 20: 0.284, 100: 0.786},
    levels={
        "beginner": Level("hearts_rules:explore=0.15", -100),
        "rules": Level("hearts_rules", 0),
        "casual": Level("imitation:temperature=2@kibitz:hearts", 98),
        "network": Level("argmax_val@kibitz:hearts", 170),
        "search": Level("go_mcts:num_runs=40@kibitz:hearts", 182, 1.0),
    },
)
