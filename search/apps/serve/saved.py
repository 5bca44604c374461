"""Tables that outlive the server: what people did at each, and the secrets of its links, in a file of its own, and its
finished hands as a shard beside it."""

import logging
import re
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
        service.passed_over(sum(name.startswith("table-") for name in storage.list_names(out)))

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

    def find(self, name: str, token: str | None = None) -> Table | None:
        """The table of this id as it was left; None where there is none that can be used, which the log explains, and
        where ``token`` is given and is none of its secrets: then nothing is played again."""
        if not _ID.fullmatch(name):
            return None
        path = self._path(name)
        try:
            record = SavedTable.of(storage.read_json(path))
            secrets = [record.watching, *(seat.token for seat in record.chairs)]
            if token is not None and not any(same_secret(one, token) for one in secrets):
                return None
            return self._restored(name, record)
        except FileNotFoundError:
            return None
        except UserError as error:
            _LOG.warning("%s", error)
        except ValueError as error:
            _LOG.warning("%s: is damaged, or of other rules (%s); nobody can sit there", path, error)
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


def _rules_of(table: Table) -> list[Any]:
    """What a kept table must have been played by."""
    return [table.game.name, dict(table.game.options), table.game.rules_version]
