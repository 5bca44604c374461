"""The networks of a process, one query engine each, shared by players; and the memory of their cache."""

import gc
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from cluster.errors import blaming_input
from games.game import Game
from learner.config import EngineConfig
from learner.network_kind import ModelInput, NetworkKind
from learner.observation_model import ObservationModel
from search.roster import kinds

_MIB = 2**20


class Engines:
    """Engines by checkpoint, utility and whether they see the history, loaded at first use and kept until dropped.

    Engines of one shape share a cache, and one pass may answer for several. Players do not interfere: each releases
    only its own handles.
    """

    def __init__(self, game: Game, config: EngineConfig) -> None:
        self._game, self._config = game, config
        self._engines: dict[tuple[str, str, bool], Any] = {}
        self._ids: dict[str, str] = {}

    def get(self, checkpoint: str, utility: str = "", history: bool = True) -> ObservationModel:
        """The engine of a checkpoint (directory, path or URI), with values of the named utility; empty for the game's
        default. ``history``: see ``EngineConfig``. ``UserError`` for a missing or unsuitable network."""
        named = utility or self._game.outcomes.default_utility
        model: ObservationModel = self.reading("histories", checkpoint, named, history and self._config.history)
        return model

    def reading(self, model_input: ModelInput, checkpoint: str, utility: str = "", history: bool = True) -> Any:
        """The engine of a network with this input: a ``StateModel`` of ``states``, a ``DecisionModel`` of
        ``decisions``; ``UserError`` as ``get``."""
        key = (checkpoint, utility, history)
        if key not in self._engines:
            with blaming_input():
                kind, config = kinds.network_of(checkpoint, model_input, self._game), self._config
                beside = (self._engines.values(),) if kind.pooled else ()
                self._engines[key] = kind.engine(
                    checkpoint, self._game, replace(config, history=history), utility, *beside
                )
        return self._engines[key]

    def checkpoint_id(self, checkpoint: str) -> str:
        """The id of a checkpoint, computed once."""
        from learner.model.checkpoint import checkpoint_id

        if checkpoint not in self._ids:
            self._ids[checkpoint] = checkpoint_id(checkpoint)
        return self._ids[checkpoint]

    @contextmanager
    def serving(self, checkpoints: Collection[str]) -> Iterator[None]:
        """Context for work with these networks: drops the engines of all others before it, and all engines after an
        exception, because players may have left handles in them."""
        self._keep(checkpoints)
        try:
            yield
        except BaseException:
            self._keep(())
            raise

    def _keep(self, checkpoints: Collection[str]) -> None:
        kept = {key: engine for key, engine in self._engines.items() if key[0] in checkpoints}
        dropped, self._engines = len(self._engines) - len(kept), kept
        if dropped:
            gc.collect()  # captured graphs refer to their trunk, whose cache takes much of a GPU


def check_cache(kind: NetworkKind, arch: Any, engine: EngineConfig, num_histories: int, key: str) -> list[str]:
    """Notes on the memory of keys and values of ``num_histories`` full-length histories; empty for a network without.

    Networks of one shape share one budget: every seat of every game at a table has one history, so all players together
    hold at most the table's places times its seats.

    Raises:
        ValueError: more than ``engine.cache_mb``; ``key`` is the setting with its value.
    """
    history_bytes = kind.history_bytes(arch, engine)
    if not history_bytes:
        return []
    needed = -(-num_histories * history_bytes // _MIB)
    if needed > engine.cache_mb:
        raise ValueError(
            f"{key}: keys and values of {num_histories:,} histories may take {needed:,} MiB, and "
            f"engine.cache_mb={engine.cache_mb} allows less; raise it, or play fewer games side by side"
        )
    return [f"keys and values: {history_bytes / 1024:,.0f} KiB a history, at most {needed:,} MiB for {key}"]
