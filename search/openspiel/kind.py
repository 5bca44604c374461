"""Player kind of OpenSpiel's bots; OpenSpiel is imported when a player is made."""

from games.game import Game
from search.openspiel.config import OpenSpielConfig
from search.players.kinds import PlayerKind
from search.players.player import Player


def _openspiel(game: Game, model: None, settings: OpenSpielConfig) -> Player:
    from search.openspiel.player import OpenSpielBot

    return OpenSpielBot(game, settings)


def _check_openspiel(game: Game, settings: OpenSpielConfig) -> None:
    _openspiel(game, None, settings)


KIND = PlayerKind(
    name="openspiel",
    summary="A bot of OpenSpiel's, `openspiel:is_mcts` or `openspiel:xinxin`, on deals sampled from what it sees.",
    games=("hearts", "openspiel:*"),
    settings=OpenSpielConfig,
    check=_check_openspiel,
    factory=_openspiel,
)
