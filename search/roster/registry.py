"""From players' names (``search.roster.spec``) to players: each name is resolved once, to an ``Entrant``."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, get_args

from cluster.composing import overridden
from cluster.files import uris
from cluster.memory import fits_memory
from games import plugins
from games.game import Game
from learner.config import EngineConfig
from learner.model.checkpoint import PLAYERS_FILE, read_players
from learner.model.runs import newest
from learner.network_kind import ModelInput, NetworkKind
from learner.observation_model import ObservationModel
from search.config import SearchConfig
from search.players.kinds import PlayerKind
from search.players.player import Player
from search.players.random_player import Exploring
from search.players.support import Support
from search.roster import kinds
from search.roster.engines import Engines
from search.roster.spec import PlayerSpec, labels, parse

_Config = TypeVar("_Config")


@dataclass(frozen=True)
class Entrant:
    """A player's name, resolved."""

    name: str
    """As written."""
    kind: PlayerKind
    settings: Any
    """The configured settings of its kind, overridden by its own; None for a kind without."""
    checkpoint: str = ""
    """Directory, path or URI, of its network; empty if it uses none, or has not been given one yet."""
    explore: float = 0.0
    """Probability that an action is uniform over the legal ones."""
    unset: tuple[str, ...] = ()
    """Settings that nobody has given, so that its network may bring them."""
    brought: Mapping[str, Any] = field(default_factory=dict)
    """Those that it has brought, other than the defaults."""

    @property
    def needs_model(self) -> bool:
        """Whether it uses a network."""
        return self.settings.needs_model if self.kind.needs_model is None else self.kind.needs_model

    @property
    def samples(self) -> bool:
        """Whether it draws its actions and says their probabilities."""
        return self.settings.samples if self.kind.samples is None else self.kind.samples

    @property
    def lacks_model(self) -> bool:
        """Whether it uses a network and has none."""
        return self.needs_model and not self.checkpoint

    def with_network(self, checkpoint: str) -> "Entrant":
        """A copy with this network, if it lacks one."""
        return self._playing(checkpoint) if self.lacks_model else self

    def named_with(self, checkpoint: str) -> "Entrant":
        """``with_network``, in its name too."""
        return replace(self._playing(checkpoint), name=f"{self.name}@{checkpoint}") if self.lacks_model else self

    def _playing(self, checkpoint: str) -> "Entrant":
        """A copy with this network and the settings that it brings; ``ValueError`` for ones that cannot be."""
        says = read_players(checkpoint).get(self.kind.name, {}) if checkpoint and self.unset else {}
        if others := [key for key in says if key not in self.kind.of_network]:
            can = f"a network brings {', '.join(self.kind.of_network)}"
            raise ValueError(f"{checkpoint}/{PLAYERS_FILE}: {self.kind.name}.{others[0]}: {can}; take it out")
        brought = {key: says[key] for key in self.unset if key in says and says[key] != getattr(self.settings, key)}
        try:
            settings = overridden(self.settings, brought, self.kind.name) if brought else self.settings
        except ValueError as error:
            raise ValueError(f"{checkpoint}/{PLAYERS_FILE}: {error}") from None
        return replace(self, checkpoint=checkpoint, settings=settings, brought=brought)


def settled(config: _Config) -> _Config:
    """A command's configuration in which runs that are named as networks, by ``checkpoint`` or ``checkpoints`` or
    behind the ``@`` of a player, have become checkpoints (``learner.model.runs``): the same ones for all processes of
    the command, however the runs go on. ``ValueError`` for a run without a network."""

    def player(name: str) -> str:
        kind, at, checkpoint = name.partition("@")
        return f"{kind}{at}{newest(checkpoint)}"

    keys: dict[str, Callable[[str], str]] = {"checkpoint": newest, "checkpoints": newest}
    keys |= dict.fromkeys(("player", "players", "playouts", "anchor", "leads_of"), player)
    changed: dict[str, Any] = {}
    for key, settle in keys.items():
        if given := getattr(config, key, None):
            changed[key] = settle(given) if isinstance(given, str) else [settle(name) for name in given]
    return replace(config, **changed)  # type: ignore[type-var]


def check_lasting(names: Iterable[str], key: str) -> None:
    """``ValueError`` for a player with the newest network of a run, where work goes on for long or on many machines:
    the run may go on meanwhile, and the player would become another."""
    for name in names:
        kind, _, checkpoint = name.partition("@")
        if (found := newest(checkpoint)) != checkpoint:
            raise ValueError(f"{key}: {name} is a run, whose newest network may change; name one: {kind}@{found}")


def settings_of(kind: str, checkpoint: str, game: Game, search: SearchConfig) -> Any:
    """Settings that a kind of player has with this network; ``ValueError`` as ``resolve``."""
    (entrant,) = resolve([f"{kind}@{checkpoint}"], game, search)
    return entrant.settings


def resolve(
    names: Iterable[str],
    game: Game,
    search: SearchConfig | None = None,
    given: Collection[ModelInput] = get_args(ModelInput),
) -> list[Entrant]:
    """Resolve players' names, with checks before any work.

    Args:
        search: settings of the kinds; the defaults if None.
        given: inputs of the networks available to players that name none.

    Raises:
        ValueError: a player that does not exist, does not play ``game`` (or not with its settings), has a setting that
            its kind does not know or a utility that the game does not have, or needs a network and has none.
    """
    search, entrants = search or SearchConfig(), []
    for spec in map(parse, names):
        kind = kinds.find(spec.kind, game)
        if not kind.plays(game):
            others = ", ".join(kinds.names(game))
            raise ValueError(f"player {spec.kind!r} plays {kind.which} only, not {game.name}; choose {others}")
        settings, unset = _settings(spec, kind, search)
        entrant = Entrant(spec.name, kind, settings, "", spec.explore, unset)
        if spec.checkpoint:
            entrant = entrant._playing(newest(spec.checkpoint))
        if spec.checkpoint and not entrant.needs_model:
            raise ValueError(f"player {spec.name!r}: {spec.kind} uses no network, so leave out @{spec.checkpoint}")
        if entrant.lacks_model and kind.model_input not in given:
            here = (f", or {kinds.readers(each, game)}, which read {each} as the networks here do" for each in given)
            mend = f"give the player as {spec.name}@DIR{''.join(here)}"
            raise ValueError(f"player {spec.name!r} needs a network: {mend}")
        game.outcomes.utility(getattr(entrant.settings, "utility", ""))
        kind.check(game, entrant.settings, **_support(kind, game))
        entrants.append(entrant)
    return entrants


def with_networks(entrants: Iterable[Entrant], checkpoint: str) -> list[Entrant]:
    """Copies in which all that lack a network have ``checkpoint``; ``ValueError`` where that is empty."""
    found = [entrant.with_network(checkpoint) for entrant in entrants]
    for entrant in found:
        if entrant.lacks_model:
            raise ValueError(
                f"player {entrant.name!r} needs a network: give checkpoint=DIR, or the player as {entrant.name}@DIR"
            )
    return found


def make_players(
    players: Sequence[str],
    game: Game,
    search: SearchConfig,
    checkpoint: str = "",
    engine: EngineConfig | None = None,
    engines: Engines | None = None,
) -> list[Player]:
    """One player per name, in order; players of the same network and utility share one engine.

    The second player of a name is called ``NAME#2``, and so on.

    Args:
        checkpoint: directory of the network of all players that name none; may be empty if none needs one.
        engine: settings of the networks' engines; the defaults if None.
        engines: engines to share and keep; new ones with the settings ``engine`` if None.

    Raises:
        ValueError: a name that does not exist or does not play this game, a checkpoint that is missing or does not fit.
    """
    entrants = with_networks(resolve(players, game, search), checkpoint)
    return seat_players(entrants, labels(players), game, engines or Engines(game, engine or EngineConfig()))


def seat_players(
    entrants: Sequence[Entrant],
    names: Sequence[str],
    game: Game,
    engines: Engines,
    watch: Callable[[ObservationModel], ObservationModel] = lambda model: model,
) -> list[Player]:
    """One player per entrant, named by ``names``.

    Args:
        entrants: with their networks.
        watch: wraps the engines whose input is histories.

    Raises:
        UserError: this machine has too little memory for a player.
    """
    check_decisions(entrants, game)
    players: list[Player] = []
    shared = _shared_utilities(entrants)
    for entrant, name in zip(entrants, names, strict=True):
        kind, settings = entrant.kind, entrant.settings
        model: Any = None
        if entrant.needs_model:
            if kind.model_input != "histories":
                model = engines.reading(kind.model_input, entrant.checkpoint)
            else:
                utility = getattr(settings, "utility", shared.get(entrant.checkpoint, ""))
                model = watch(engines.get(entrant.checkpoint, utility, getattr(settings, "history", True)))
        player = kind.factory(game, model, settings, **_support(kind, game))
        player.name = name
        players.append(Exploring(player, entrant.explore) if entrant.explore else player)
    return players


def networks_of(entrants: Iterable[Entrant]) -> list[str]:
    """Checkpoints of these players."""
    return [entrant.checkpoint for entrant in entrants if entrant.checkpoint]


def check_decisions(entrants: Iterable[Entrant], game: Game) -> None:
    """``UserError`` for a player whose decisions take more memory than this machine has."""
    for entrant in entrants:
        needed = entrant.kind.decision_bytes(game, entrant.settings)
        fits_memory(f"player {entrant.name!r}: one decision", needed, "ask for fewer worlds, candidates or runs")


def check_networks(entrants: Iterable[Entrant], game: Game) -> list[tuple[NetworkKind, Any]]:
    """Load every network of these players; returns kind and architecture of each. ``ValueError`` for a missing or
    unsuitable network, or one with another input than its player needs."""
    asked = {(entrant.checkpoint, entrant.kind.model_input) for entrant in entrants if entrant.checkpoint}
    found = [(kinds.network_of(path, model_input, game), path) for path, model_input in sorted(asked)]
    return [(kind, kind.load(path, game).arch) for kind, path in found]


def checkpoint_record(entrants: Sequence[Entrant]) -> dict[str, dict[str, Any]]:
    """``checkpoint_paths`` by distinct names, with the ``id`` of each network and the ``settings`` that it brought, if
    any: for the records."""
    from learner.model.checkpoint import checkpoint_id

    names = labels([entrant.name for entrant in entrants])
    brought = {name: dict(entrant.brought) for name, entrant in zip(names, entrants, strict=True)}
    return {
        name: {"path": path, "id": checkpoint_id(path), **({"settings": brought[name]} if brought[name] else {})}
        for name, path in checkpoint_paths(entrants, names).items()
    }


def checkpoint_paths(entrants: Sequence[Entrant], names: Sequence[str] = ()) -> dict[str, str]:
    """Player's name, as written or as in ``names`` -> its network, for players with one."""
    named = zip(names or [entrant.name for entrant in entrants], entrants, strict=True)
    return {name: entrant.checkpoint for name, entrant in named if entrant.checkpoint}


def check_recorded(file: str, player: str) -> None:
    """``ValueError`` for a player that ``file`` may not name: as for games (``games.registry.recorded_game``), its kind
    must be one of Kibitz's or of an installed package, and its network must lie on this machine. A URI would ask a host
    of the file's choice, with whatever credentials there are."""
    spec = parse(player)
    if uris.is_uri(spec.checkpoint):
        raise ValueError(
            f"{file}: names the network {spec.checkpoint!r}, and files may name none behind a URI; name the player "
            "yourself (--player)"
        )
    allowed = list(dict.fromkeys([*(kind.name for kind in kinds.every()), *plugins.offered(plugins.PLAYERS)]))
    if spec.kind not in allowed:
        raise ValueError(
            f"{file}: names the player {player!r}, and files may name only {', '.join(allowed)}; a player of your own "
            "is named by you (--player), as module:attribute"
        )


def _settings(spec: PlayerSpec, kind: PlayerKind, search: SearchConfig) -> tuple[Any, tuple[str, ...]]:
    """A player's settings, and those of them that its network may bring, as neither its name nor a command nor a
    preset gives them."""
    if kind.settings is None:
        if spec.settings:
            raise ValueError(f"player {spec.name!r}: {spec.kind} has no settings")
        return None, ()
    defaults = kind.settings()
    settings = spec.configured(getattr(search, kind.name) if kind in kinds.BUILT_IN else defaults)
    given = {key for key, _ in spec.settings} | {key for key in kind.of_network if f"{kind.name}.{key}" in search.given}
    same = (key for key in kind.of_network if getattr(settings, key) == getattr(defaults, key))
    return settings, tuple(key for key in same if key not in given)


def _support(kind: PlayerKind, game: Game) -> dict[str, Support]:
    return {"support": kinds.support_of(game)} if kind.asks_support else {}


def _shared_utilities(entrants: Iterable[Entrant]) -> dict[str, str]:
    """Checkpoint -> the utility in its player's settings; players of the same network without that setting use it too,
    so that they share the engine."""
    own = [(entrant.checkpoint, getattr(entrant.settings, "utility", None)) for entrant in entrants]
    return {path: utility for path, utility in own if utility is not None}
