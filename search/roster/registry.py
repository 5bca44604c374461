"""From how a player is written (``search.roster.spec``) to a player."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cluster.memory import fits_memory
from games import plugins
from games.game import Game
from learner.config import EngineConfig
from learner.observation_model import ObservationModel
from search.config import SearchConfig
from search.players.exploring import Exploring
from search.players.kinds import PlayerKind, Told
from search.players.player import Player
from search.players.support import Support
from search.roster import kinds
from search.roster.engines import Engines
from search.roster.spec import PlayerSpec, labels, parse

if TYPE_CHECKING:
    from learner.model.architecture import Architecture


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
        checkpoint: directory of the network of all players that name none; may be empty if nobody needs one.
        engine: where and how the networks run; the default settings if None.
        engines: where engines are kept for later players; new ones with the settings ``engine`` if None.

    Raises:
        ValueError: a name that does not exist or does not play this game, a checkpoint that is missing or does not fit.
    """
    check_names(players, game, search=search)
    specs = _with_networks(players, checkpoint, search)
    return seat_players(specs, labels(players), game, search, engines or Engines(game, engine or EngineConfig()))


def seat_players(
    specs: Sequence[PlayerSpec],
    names: Sequence[str],
    game: Game,
    search: SearchConfig,
    engines: Engines,
    watch: Callable[[ObservationModel], ObservationModel] = lambda model: model,
) -> list[Player]:
    """One player per specification, called by ``names``.

    Args:
        specs: checked, every one that needs a network with its checkpoint.
        watch: what stands between a player and an engine that is told histories.

    Raises:
        UserError: this machine has not the memory for one of them.
    """
    check_decisions(specs, game, search)
    players: list[Player] = []
    shared = _shared_utilities(specs, search)
    for spec, name in zip(specs, names, strict=True):
        kind, settings = kinds.find(spec.kind), settings_of(spec, search)
        model: Any = None
        if needs_model(spec, search):
            if kind.told == "states":
                model = engines.state_model(spec.checkpoint)
            else:
                utility = getattr(settings, "utility", shared.get(spec.checkpoint, ""))
                model = watch(engines.get(spec.checkpoint, utility))
        further = (watch(engines.get(path, shared.get(path, ""))) for path in kind.further(settings))
        player = kind.factory(game, model, settings, *further, **_support(kind, game))
        player.name = name
        players.append(Exploring(player, spec.explore) if spec.explore else player)
    return players


def _support(kind: PlayerKind, game: Game) -> dict[str, Support]:
    return {"support": kinds.support_of(game)} if kind.asks_support else {}


def settings_of(spec: PlayerSpec, search: SearchConfig) -> Any:
    """The settings of a player: its kind's, as configured, with its own in their place; None if its kind has none."""
    kind = kinds.find(spec.kind)
    if kind.settings is None:
        if spec.settings:
            raise ValueError(f"player {spec.name!r}: {spec.kind} has no settings")
        return None
    configured = getattr(search, kind.name) if kind in kinds.BUILT_IN else kind.settings()
    return spec.configured(configured)


def needs_model(spec: PlayerSpec, search: SearchConfig) -> bool:
    """Whether a player, with its settings, asks a network."""
    needed = kinds.find(spec.kind).needs_model
    return settings_of(spec, search).needs_model if needed is None else needed  # type: ignore[no-any-return]


def check_names(
    players: Sequence[str],
    game: Game,
    given: Collection[Told] = ("histories", "states"),
    search: SearchConfig | None = None,
) -> None:
    """Check players before any work: ``ValueError`` naming the first that does not exist, does not play ``game`` (or
    not with its settings), has a setting that its kind does not know or a utility that the game does not have, or
    brings no network where it needs one and will be given none: ``given`` says what the networks are told that players
    without one will be given."""
    search = search or SearchConfig()
    for spec in map(parse, players):
        kind = kinds.find(spec.kind, game)
        if not kind.plays(game):
            only = ", ".join(kind.games or ())
            others = ", ".join(kinds.names(game))
            raise ValueError(f"player {spec.kind!r} plays {only} only, not {game.name}; choose {others}")
        asks = needs_model(spec, search)
        if spec.checkpoint and not asks:
            raise ValueError(f"player {spec.name!r}: {spec.kind} uses no network, so leave out @{spec.checkpoint}")
        if asks and kind.told not in given and not spec.checkpoint:
            raise ValueError(f"player {spec.name!r} needs a network: give the player as {spec.name}@DIR")
        settings = settings_of(spec, search)
        game.outcomes.utility(getattr(settings, "utility", ""))
        kind.check(game, settings, **_support(kind, game))


def check_decisions(specs: Iterable[PlayerSpec], game: Game, search: SearchConfig) -> None:
    """``UserError`` for a player of whom one decision takes more memory than this machine has."""
    for spec in specs:
        needed = kinds.find(spec.kind).decision_bytes(game, settings_of(spec, search))
        fits_memory(f"player {spec.name!r}: one decision", needed, "ask for fewer worlds, candidates or runs")


def check_recorded(file: str, player: str) -> None:
    """``ValueError`` for a player that ``file`` may not name: as with games (``games.registry.recorded_game``) its kind
    must be one of Kibitz's or of an installed package."""
    allowed = list(dict.fromkeys([*(kind.name for kind in kinds.every()), *plugins.offered(plugins.PLAYERS)]))
    if parse(player).kind not in allowed:
        raise ValueError(
            f"{file}: names the player {player!r}, and files may name only {', '.join(allowed)}; a player of your own "
            "is named by you (--player), as module:attribute"
        )


def check_entrants(
    players: Sequence[str], game: Game, search: SearchConfig, checkpoint: str = ""
) -> "list[Architecture]":
    """``check_names``, and that every network they need is there and fits; what those are made of that are told
    histories, whose keys and values take memory."""
    check_names(players, game, search=search)
    return check_networks(_with_networks(players, checkpoint, search), game, search)


def check_networks(specs: Sequence[PlayerSpec], game: Game, search: SearchConfig) -> "list[Architecture]":
    """Load every network that these players bring or their settings name, to see that it is there, fits, and is told
    what its player's is told (``ValueError``); what those are made of that are told histories."""
    from learner.model.checkpoint import load_weights

    paths: dict[Told, set[str]] = {"histories": set(), "states": set()}
    for spec in specs:
        paths[kinds.find(spec.kind).told].update([spec.checkpoint] if spec.checkpoint else [])
        paths["histories"].update(further_networks(spec, search))
    engines = Engines(game, EngineConfig(device="cpu"))
    for path in sorted(paths["states"]):
        engines.state_model(path)
    return [load_weights(path, game).arch for path in sorted(paths["histories"])]


def checkpoint_record(players: Sequence[str], search: SearchConfig, checkpoint: str = "") -> dict[str, dict[str, str]]:
    """Player's distinct name -> ``path`` and ``id`` of its network, for those that have one; for the records. A network
    that settings name stands under its path."""
    from learner.model.checkpoint import checkpoint_id

    specs = _with_networks(players, checkpoint, search)
    paths = {label: spec.checkpoint for label, spec in zip(labels(players), specs, strict=True) if spec.checkpoint}
    paths |= {path: path for spec in specs for path in further_networks(spec, search)}
    return {label: {"path": path, "id": checkpoint_id(path)} for label, path in paths.items()}


def own_checkpoints(specs: Iterable[PlayerSpec], search: SearchConfig) -> list[str]:
    """Checkpoints that players bring themselves or their settings name, in order."""
    both = ([spec.checkpoint, *further_networks(spec, search)] for spec in specs)
    return [path for paths in both for path in paths if path]


def further_networks(spec: PlayerSpec, search: SearchConfig) -> tuple[str, ...]:
    """Checkpoints of the networks that a player asks beside its own; they are told histories."""
    return kinds.find(spec.kind).further(settings_of(spec, search))


def _with_networks(players: Sequence[str], checkpoint: str, search: SearchConfig) -> list[PlayerSpec]:
    """The players, each that needs a network with its own or ``checkpoint``; ``ValueError`` where there is none."""
    specs = []
    for spec in map(parse, players):
        if needs_model(spec, search) and not spec.checkpoint:
            if not checkpoint:
                raise ValueError(
                    f"player {spec.name!r} needs a network: give checkpoint=DIR, or the player as {spec.name}@DIR"
                )
            spec = replace(spec, checkpoint=checkpoint)
        specs.append(spec)
    return specs


def _shared_utilities(specs: Sequence[PlayerSpec], search: SearchConfig) -> dict[str, str]:
    """Checkpoint -> the utility that a player asks it for; players of the same network without such a setting take it
    too, so that they share its engine."""
    own = [getattr(settings_of(spec, search), "utility", None) for spec in specs]
    return {spec.checkpoint: utility for spec, utility in zip(specs, own, strict=True) if utility is not None}
