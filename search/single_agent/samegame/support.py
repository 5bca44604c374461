"""Support of SameGame: scripted player and rollouts."""

from search.players.kinds import PlayerKind
from search.players.support import Support, later, player
from search.single_agent.config import NrpaConfig

SUPPORT = Support(
    kinds=(
        PlayerKind(
            name="samegame_greedy",
            summary="Takes the largest block of SameGame.",
            games=("samegame",),
            factory=player("search.single_agent.samegame.greedy:SameGameGreedy"),
            baseline=True,
        ),
        PlayerKind(
            name="nrpa",
            summary="Nested rollout policy adaptation in SameGame (Rosin 2011).",
            games=("samegame",),
            settings=NrpaConfig,
            factory=player("search.single_agent.samegame.nrpa:Nrpa"),
        ),
    ),
    layout=later("search.single_agent.samegame.layout:SameGameLayout"),
    rollouts={"tabu": later("search.single_agent.samegame.rollouts:tabu")},
)
