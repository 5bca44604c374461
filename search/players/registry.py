"""From a player's name to a player: the only module of this package that loads networks.

Names are written as ``search.players.spec`` has it: ``argmax_val``, ``argmax_val@DIR`` with a checkpoint of its own
instead of the one that everybody shares, ``go_mcts:lanes=16`` with a setting of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from games.game import Game
from learner.config import EngineConfig
from learner.observation_model import ObservationModel
from search.config import SearchConfig
from search.go_mcts.player import GoMcts
from search.players.argmax_val import ArgmaxVal
from search.players.imitation import Imitation
from search.players.player import Player
from search.players.random_player import RandomPlayer
from search.players.spec import Entrant, labels, parse

if TYPE_CHECKING:
    from learner.model.network import Architecture, PolicyValueNet


def _hearts_rules(game: Game) -> Player:
    if game.name != "hearts":
        raise ValueError(f"player 'hearts_rules' plays hearts only, not {game.name}; choose {', '.join(names(game))}")
    from search.players.hearts_rules import HeartsRules

    return HeartsRules()


_MODEL_FREE: Mapping[str, Callable[[Game], Player]] = {
    "random": lambda game: RandomPlayer(),
    "hearts_rules": _hearts_rules,
}
_WITH_MODEL: Mapping[str, Callable[[ObservationModel, SearchConfig, Entrant], Player]] = {
    "argmax_val": lambda model, config, entrant: ArgmaxVal(model, entrant.configured(config.argmax_val)),
    "imitation": lambda model, config, entrant: Imitation(model, entrant.configured(config.imitation)),
    "go_mcts": lambda model, config, entrant: GoMcts(model, entrant.configured(config.go_mcts)),
}


def names(game: Game) -> tuple[str, ...]:
    """Every kind of player that can play ``game``."""
    return tuple(name for name in (*_MODEL_FREE, *_WITH_MODEL) if name != "hearts_rules" or game.name == "hearts")


def make_model_free(name: str, game: Game) -> Player:
    """The player called ``name``, which needs no network; ``ValueError`` for other names and for another's game."""
    if name not in _MODEL_FREE:
        raise ValueError(f"no player {name!r} without a network; there are {', '.join(_MODEL_FREE)}")
    return _MODEL_FREE[name](game)


def make_players(
    players: Sequence[str],
    game: Game,
    search: SearchConfig,
    checkpoint: str = "",
    engine: EngineConfig | None = None,
) -> list[Player]:
    """One player per name, in order; each has an engine of its own, every checkpoint is read once.

    The second player of a name is called ``NAME#2``, and so on.

    Args:
        checkpoint: directory of the network of all players that name none; may be empty if nobody needs one.
        engine: where and how the networks run; the default settings if None.

    Raises:
        ValueError: a name that does not exist or does not play this game, a checkpoint that is missing or does not fit.
    """
    check_names(players, game, search=search)
    entrants, paths = [parse(name) for name in players], _paths(players, checkpoint)
    missing = [given for given, path in zip(players, paths, strict=True) if path is not None and not path]
    if missing:
        raise ValueError(
            f"player {missing[0]!r} needs a network: give checkpoint=DIR, or the player as {missing[0]}@DIR"
        )
    models = _models(entrants, paths, game, search, engine or EngineConfig())
    made = []
    for entrant, model, label in zip(entrants, models, labels(players), strict=True):
        kind = entrant.kind
        player = make_model_free(kind, game) if model is None else _WITH_MODEL[kind](model, search, entrant)
        player.name = label
        made.append(player)
    return made


def make_model(net: "PolicyValueNet", utility: np.ndarray, engine: EngineConfig) -> ObservationModel:
    """An engine with a cache of its own over a network; ``utility`` is ``float32[K]``, v(o) of every outcome label."""
    from learner.inference.engine import QueryEngine

    return QueryEngine(net, utility, engine)


def check_cache(arch: "Architecture", engine: EngineConfig, num_histories: int, key: str) -> str:
    """What the keys and values of ``num_histories`` full-length histories take, for people to read.

    Raises:
        ValueError: more than ``engine.cache_mb``; ``key`` names the setting that asks for so many, with its value.
    """
    from learner.inference.engine import MIB, slot_bytes

    token = slot_bytes(arch, engine.device, engine.precision)
    needed = -(-num_histories * arch.n_positions * token // MIB)
    if needed > engine.cache_mb:
        raise ValueError(
            f"{key}: keys and values of {num_histories:,} histories may take {needed:,} MiB, and "
            f"engine.cache_mb={engine.cache_mb} allows less; raise it, or play fewer games side by side"
        )
    return f"keys and values: {token / 1024:.3g} KiB a token, at most {needed:,} MiB for {key}"


def check_names(
    players: Sequence[str], game: Game, with_model: bool = True, search: SearchConfig | None = None
) -> None:
    """Check players before any work: ``ValueError`` naming the first that does not exist, does not play ``game``, has a
    setting that its kind does not know, or needs a network where ``with_model`` is False."""
    for entrant in map(parse, players):
        if entrant.kind in _MODEL_FREE:
            if entrant.checkpoint:
                raise ValueError(
                    f"player {entrant.name!r}: {entrant.kind} uses no network, so leave out @{entrant.checkpoint}"
                )
            if entrant.settings:
                raise ValueError(f"player {entrant.name!r}: {entrant.kind} has no settings")
            make_model_free(entrant.kind, game)
        elif entrant.kind not in _WITH_MODEL:
            raise ValueError(f"no player {entrant.name!r}; there are {', '.join(names(game))}")
        elif not with_model:
            raise ValueError(f"player {entrant.name!r} needs a network; only {', '.join(_MODEL_FREE)} can play here")
        else:
            entrant.configured(getattr(search or SearchConfig(), entrant.kind))


def checkpoint_record(players: Sequence[str], checkpoint: str = "") -> dict[str, dict[str, str]]:
    """Player's distinct name -> ``path`` and ``id`` of its network, for those that have one; for the records."""
    from learner.model.checkpoint import checkpoint_id

    paths = zip(labels(players), _paths(players, checkpoint), strict=True)
    return {label: {"path": path, "id": checkpoint_id(path)} for label, path in paths if path}


def own_checkpoints(players: Sequence[str]) -> list[str]:
    """Checkpoint directories that players bring themselves, in order."""
    return [entrant.checkpoint for entrant in map(parse, players) if entrant.checkpoint]


def _paths(players: Sequence[str], checkpoint: str) -> list[str | None]:
    """Checkpoint directory of every player, empty where none was given; None for players without a network."""
    entrants = map(parse, players)
    return [entrant.checkpoint or checkpoint if entrant.kind in _WITH_MODEL else None for entrant in entrants]


def _models(
    players: Sequence[Entrant], paths: Sequence[str | None], game: Game, search: SearchConfig, engine: EngineConfig
) -> list[ObservationModel | None]:
    """An engine for every player that needs one."""
    if not any(paths):
        return [None] * len(players)
    from learner.model.checkpoint import load_weights

    nets = {path: load_weights(Path(path), game) for path in {path for path in paths if path}}
    models: list[ObservationModel | None] = []
    for entrant, path in zip(players, paths, strict=True):
        if path is None:
            models.append(None)
            continue
        config = entrant.configured(getattr(search, entrant.kind))
        utility = game.outcomes.utility(getattr(config, "utility", ""))
        models.append(make_model(nets[path], utility, engine))
    return models
