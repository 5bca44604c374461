"""A tournament from its configuration, checked before any work."""

from collections.abc import Mapping
from dataclasses import asdict
from types import MappingProxyType

from cluster.errors import UserError, blaming_input
from cluster.files import storage
from games.registry import make_game
from learner.devices import check_devices, on_lent_device
from search.arena.recorded import check_out
from search.arena.tournament.config import TournamentConfig
from search.arena.tournament.deals import Deals
from search.arena.tournament.evaluator import EvaluatorSettings
from search.arena.tournament.parts import Tournament
from search.arena.tournament.seatings import seatings
from search.players.memory import check_deals
from search.roster.engines import check_cache
from search.roster.registry import check_decisions, check_networks, checkpoint_record, resolve, settled, with_networks


def checked(config: TournamentConfig, overrides: Mapping[str, str] = MappingProxyType({})) -> Tournament:
    """The tournament of a configuration; ``UserError`` for settings that would fail later.

    Args:
        overrides: swept key -> value as written; for the record.
    """
    with blaming_input():
        config = settled(config)
        game = make_game(config.game.name, config.game.options)
        seats = seatings(len(config.players), game.num_players, game.cooperative, config.seating)
        deals = Deals(config.seed, config.deals, config.first, config.seating)
        deals.check(game)
        entrants = with_networks(resolve(config.players, game, config.search), config.checkpoint)
        networks = check_networks(entrants, game)
    check_out(config.out)
    _check_keep(config, len(seats), overrides)
    engine = config.engine
    if config.cluster.place != "process":
        check_devices(config.cluster, evaluator=engine)
        engine = on_lent_device(engine, config.cluster.evaluator_gpus)
    elif engine.device == "cuda":  # it must exist even if no player has a network
        from learner.model.network import device_of

        with blaming_input():
            device_of("cuda")
    record = {
        "checkpoints": checkpoint_record(entrants),
        "search": config.search.record(),
        "engine": asdict(config.engine),
        "table_size": config.table_size,
        "overrides": dict(overrides),
    }
    settings = EvaluatorSettings(config.game, config.search, engine, config.table_size)
    tournament = Tournament(
        settings,
        tuple(config.players),
        config.checkpoint,
        deals,
        config.deals_per_task,
        record,
        config.keep,
    )
    if config.cluster.here:
        check_decisions(entrants, game)
        check_deals(game, tournament.matches_at_once(), f"table_size={config.table_size}")
    with blaming_input():
        histories = tournament.matches_at_once() * game.num_players
        for kind, arch in networks:
            check_cache(kind, arch, engine, histories, f"table_size={config.table_size}")
    return tournament


def _check_keep(config: TournamentConfig, matches: int, overrides: Mapping[str, str]) -> None:
    """``UserError`` where histories of so many matches a deal cannot be kept in the given file."""
    keep, most = config.keep, 2**31 // matches - config.deals
    if keep and overrides:
        raise UserError(f"keep={keep}: one shard holds one tournament; leave out --multirun")
    if keep and storage.exists(keep):
        raise UserError(f"keep={keep}: is there already; name a new file, or remove it")
    if keep and config.first > most:
        raise UserError(f"first={config.first}: a shard numbers its matches below 2**31; give at most {most}")
    check_out(keep, "keep")
