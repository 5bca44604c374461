"""What there is for the toy game beyond its rules."""

import numpy as np

from search.apps.play.layouts import PlainLayout
from search.players.kinds import PlayerKind
from search.players.support import Support

from .players import Highest, Settings


class TitledLayout(PlainLayout):
    """The words of any game under a title of its own."""

    def _table(self, tokens):
        table = super()._table(tokens)
        table.append(" (two tricks)")
        return table


def lowest(pimc, worlds, considered, seeds, seconds):
    """An evaluator: low cards are worth more."""
    return np.where(considered, -np.arange(considered.shape[1], dtype=float), -np.inf)


SUPPORT = Support(
    kinds=(
        PlayerKind(
            name="lowest",
            summary="Plays its lowest legal card.",
            games=("toy",),
            factory=lambda game, model, settings: Highest(Settings(lowest=True)),
            baseline=True,
        ),
    ),
    layout=TitledLayout,
    evaluators={"lowest": lowest},
)
