"""Tables that outlive the server: what people did at each, and the secrets of its links, in a file of its own, and its
finished hands as a shard beside it."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cluster.errors import UserError
from cluster.files import storage
from cluster.foreign import check_format
from search.apps.play.session import Decisions
from search.apps.serve.service import Service
from search.apps.serve.tables import Seat, Table, TableOptions, same_secret
from search.checked_json import Request

FORMAT = 2
_ID = re.compile(r"[\w-]{1,32}")
_LOG = logging.getLogger(__name__)


class SavedTable(Request):
    """A table's file."""

    format: int = FORMAT
    game: list[Any]
    wanted: TableOptions
    seed: int
    watching: str
    chairs: list[Seat]
    decisions: Decisions
    compared: list[list[float]]
    """Seat, number of the hand and points ahead, for each finished hand that was compared."""


class SavedTables:
    """Tables in a directory, path or URI."""

    def __init__(self, out: str, service: Service) -> None:
        """``UserError`` for a directory that cannot be written to. Who may read what is made there, the process decides
        (``os.umask``)."""
        storage.check_writable(out)
        self._out, self._service = out.rstrip("/"), service
        if service.seeded:
            service.used.update(self._seeds())

    def _seeds(self) -> list[int]:
        """The seeds of all tables that can be read."""
        names = [name for name in storage.list_names(self._out) if name.startswith("table-")]

        def seed(name: str) -> int:
            with _explained(path := f"{self._out}/{name}"):
                return SavedTable.of(storage.read_json(path)).seed
            return -1

        return [*storage.of_each(seed, names)]

    def keep(self, table: Table) -> None:
        """Write where a table stands, and its finished hands."""
        hands = table.hands
        shard = f"{self._out}/hands-{table.id}.parquet"
        if hands.over:
            hands.save(shard, {"seating": "serve", "run_seed": ""})  # the seed would reveal the deals to come
        record = SavedTable(
            game=_rules_of(table),
            wanted=table.options,
            seed=table.seed,
            watching=table.watching,
            chairs=[*table.seats.values()],
            decisions=hands.decisions,
            compared=[[seat, *one] for seat, found in table.compared.items() for one in found.items()],
        )
        storage.write_bytes_atomic(self._path(table.id), record.model_dump_json().encode())

    def read(self, name: str, token: str) -> SavedTable | None:
        """The file of the table of this id, on any thread; None where there is none that can be used, which the log
        explains, and where ``token`` is none of its secrets."""
        with _explained(path := self._path(name)):
            if not _ID.fullmatch(name):
                return None
            record = SavedTable.of(storage.read_json(path))
            secrets = [record.watching, *(seat.token for seat in record.chairs)]
            return record if any(same_secret(one, token) for one in secrets) else None
        return None

    def restored(self, name: str, record: SavedTable) -> Table | None:
        """The table of a file as it was left; None for one that cannot be used, which the log explains."""
        with _explained(self._path(name)):
            return self._restored(name, record)
        return None

    def _restored(self, name: str, record: SavedTable) -> Table:
        check_format(record.format, FORMAT)
        table = self._service.table_of(self._service.checked(record.wanted), record.seed)
        if record.game != _rules_of(table):
            raise ValueError(f"rules {record.game}")
        seats = {seat.seat: seat for seat in record.chairs}
        if set(seats) != set(table.seats):
            raise ValueError(f"seats {sorted(seats)}")
        table.id, table.watching, table.seats = name, record.watching, seats
        table.hands.resume(record.decisions)
        for seat, number, ahead in record.compared:
            table.compared.setdefault(int(seat), {})[int(number)] = ahead
        return table

    def _path(self, name: str) -> str:
        return f"{self._out}/table-{name}.json"


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Log why a file cannot be used; one that is not there needs no words."""
    try:
        yield
    except FileNotFoundError:
        pass
    except UserError as error:
        _LOG.warning("%s", error)
    except ValueError as error:
        _LOG.warning("%s: is damaged, or of other rules (%s); nobody can sit there", path, error)


def _rules_of(table: Table) -> list[Any]:
    """What a kept table must have been played by."""
    return [table.game.name, dict(table.game.options), table.game.rules_version]
