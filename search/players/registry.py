"""From how a player is written (``search.players.spec``) to a player."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from games.game import Game
from learner.config import EngineConfig
from learner.observation_model import ObservationModel
from search.config import SearchConfig
from search.players import kinds
from search.players.engines import Engines
from search.players.exploring import Exploring
from search.players.kinds import Told
from search.players.player import Player
from search.players.spec import PlayerSpec, labels, parse

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
    """
    players: list[Player] = []
    for spec, name, utility in zip(specs, names, _utilities(specs, search), strict=True):
        kind = kinds.find(spec.kind)
        model: Any = None
        if needs_model(spec, search):
            states = kind.told == "states"
            model = engines.state_model(spec.checkpoint) if states else watch(engines.get(spec.checkpoint, utility))
        player = kind.factory(game, model, settings_of(spec, search))
        player.name = name
        players.append(Exploring(player, spec.explore) if spec.explore else player)
    return players


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
        kind.check(game, settings)


def check_entrants(
    players: Sequence[str], game: Game, search: SearchConfig, checkpoint: str = ""
) -> "list[Architecture]":
    """``check_names``, and that every network they need is there and fits; what those are made of that are told
    histories, whose keys and values take memory."""
    check_names(players, game, search=search)
    return check_networks(_with_networks(players, checkpoint, search), game)


def check_networks(specs: Sequence[PlayerSpec], game: Game) -> "list[Architecture]":
    """Load every network that these players bring, to see that it is there, fits, and is told what its player's is
    told (``ValueError``); what those are made of that are told histories."""
    from learner.model.checkpoint import load_weights

    paths = sorted({(spec.checkpoint, kinds.find(spec.kind).told) for spec in specs if spec.checkpoint})
    engines = Engines(game, EngineConfig(device="cpu"))
    for path, _ in (known for known in paths if known[1] == "states"):
        engines.state_model(path)
    return [load_weights(path, game).arch for path, told in paths if told == "histories"]


def checkpoint_record(players: Sequence[str], search: SearchConfig, checkpoint: str = "") -> dict[str, dict[str, str]]:
    """Player's distinct name -> ``path`` and ``id`` of its network, for those that have one; for the records."""
    from learner.model.checkpoint import checkpoint_id

    specs = zip(labels(players), _with_networks(players, checkpoint, search), strict=True)
    paths = {label: spec.checkpoint for label, spec in specs if spec.checkpoint}
    return {label: {"path": path, "id": checkpoint_id(path)} for label, path in paths.items()}


def own_checkpoints(players: Sequence[str]) -> list[str]:
    """Checkpoint directories that players bring themselves, in order."""
    return [spec.checkpoint for spec in map(parse, players) if spec.checkpoint]


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


def _utilities(specs: Sequence[PlayerSpec], search: SearchConfig) -> list[str]:
    """The utility that each player asks its network for; players without such a setting take what another player of
    the same network has, so that they share its engine."""
    own = [getattr(settings_of(spec, search), "utility", None) for spec in specs]
    shared = {spec.checkpoint: utility for spec, utility in zip(specs, own, strict=True) if utility is not None}
    return [
        shared.get(spec.checkpoint, "") if utility is None else utility
        for spec, utility in zip(specs, own, strict=True)
    ]
