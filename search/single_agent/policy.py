"""The network alone: its most probable move (paper 003, section 4.3)."""

import numpy as np

from learner.observation_model import ObservationModel
from search.players.histories import ModelPlayer
from search.players.kinds import PlayerKind
from search.players.player import Turns
from search.single_agent.config import PolicyConfig


class Policy(ModelPlayer):
    """Plays the legal action that the network thinks likeliest; an action that several tokens stand for gets the sum of
    theirs (section 3.5)."""

    name = "policy"

    def __init__(self, model: ObservationModel) -> None:
        super().__init__(model)

    def choose(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: ties go to the lowest token."""
        views = self.game.views(turns.tokens, turns.lengths)
        likely = self.game.merged(views, turns.legal, self.histories.query(turns).next_token)
        return np.where(turns.legal, likely, -1).argmax(axis=1)


KIND = PlayerKind(
    name="policy",
    summary="The network's most probable legal action (paper 003, section 4.3); with history=false it sees no history.",
    settings=PolicyConfig,
    needs_model=True,
    factory=lambda game, model, settings: Policy(model),
)
