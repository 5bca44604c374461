"""A run that begins with a network made before (``selfplay.first_network``): iteration 0 plays and trains nothing."""

from typing import Any

from cluster.files import storage
from games.game import Game
from games.registry import make_game
from learner import kinds
from learner.config import LearnerConfig
from learner.network_kind import NetworkKind, TrainingSetup
from search.roster.kinds import brought
from selfplay.config import TrainConfig
from selfplay.run_directory import RunDirectory

_UNREAD = "selfplay.initial, initial_games, initial_learner, and labels and branches of iteration 0"


def check(config: TrainConfig, game: Game, kind: NetworkKind) -> list[str]:
    """A note for the user where a run begins so. ``ValueError`` naming what is wrong with the network, unless the run
    has taken it over already."""
    name = config.selfplay.first_network
    if not name:
        return []
    if not RunDirectory(config.run.dir).trained(0):
        _read(config, game)
    return [f"iteration 0 is {name}: what only its own games and training would read has no effect ({_UNREAD})"]


def take_over(config: TrainConfig, run: RunDirectory) -> None:
    """Publish the network as the checkpoint of iteration 0, without training state; once."""
    from learner.model.checkpoint import save_weights

    if not storage.is_published(run.checkpoint(0)):
        game = make_game(config.game.name, config.game.options)
        players = brought(config.search, kinds.find(config.model.kind).input)
        save_weights(run.checkpoint(0), _read(config, game), game, players=players)


def _read(config: TrainConfig, game: Game) -> Any:
    """The network; ``ValueError`` where it is none of this game and of the shape of ``model``."""
    from learner.training.loop import starting_network

    setup = TrainingSetup(kinds.find(config.model.kind), game, config.model, LearnerConfig(), ())
    return starting_network(setup, config.selfplay.first_network)
