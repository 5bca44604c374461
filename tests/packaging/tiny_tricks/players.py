"""Players of the toy game."""

from dataclasses import dataclass

from search.players.kinds import PlayerKind


@dataclass
class Settings:
    lowest: bool = False
    """Whether the lowest card is played instead."""


class Highest:
    """Plays its highest legal card, or its lowest."""

    sees_hidden = False

    def __init__(self, settings):
        self.name = "highest"
        self._lowest = settings.lowest

    def start(self, game, num_games):
        pass

    def forget(self, games):
        pass

    def act(self, turns):
        if self._lowest:
            return turns.legal.argmax(axis=1)
        return turns.legal.shape[1] - 1 - turns.legal[:, ::-1].argmax(axis=1)


HIGHEST = PlayerKind(
    name="highest",
    summary="Plays its highest legal card.",
    games=("toy",),
    settings=Settings,
    factory=lambda game, model, settings: Highest(settings),
)
UNLISTED = PlayerKind(
    name="unlisted", summary="As above.", settings=Settings, factory=lambda game, model, settings: Highest(settings)
)
