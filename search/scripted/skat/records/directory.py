"""The directory of a conversion: ``config.json`` says what it is of and is there before the first shard,
``conversion.json`` when all is done. What an interrupted conversion has left is made again."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from cluster.errors import UserError
from cluster.files import storage
from cluster.files.locks import run_lock
from cluster.foreign import check_format

CONFIG, RESULT, LEFT_OUT = "config.json", "conversion.json", "left_out.txt"
FORMAT = 1
"""Version of a directory's files; increased whenever the meaning of their keys changes."""


def check(out: Path, config: Mapping[str, object]) -> None:
    """``UserError`` where the directory was made of another file or with other settings."""
    try:
        theirs = dict(json.loads((out / CONFIG).read_text()))
        check_format(theirs.get("format"), FORMAT)
        key = next((key for key in config if theirs.get(key) != config[key]), None)
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"{out}: holds no readable {CONFIG} ({error}); take another --out") from None
    if key is not None:
        raise UserError(
            f"{out}: was converted with {key}={theirs.get(key)}, the command says {config[key]}; take another --out"
        )


@contextmanager
def prepared(out: Path, config: Mapping[str, object]) -> Iterator[None]:
    """The directory of this conversion, without what an interrupted one has left; others are kept out."""
    out.mkdir(parents=True, exist_ok=True)
    if (out / CONFIG).exists():
        check(out, config)
    elif any(not path.name.endswith(".tmp") for path in out.iterdir()):
        raise UserError(f"{out}: holds files, and no {CONFIG} of a conversion; take another --out")
    else:
        storage.write_json_atomic(out / CONFIG, {"format": FORMAT, **config})
    with run_lock(out):
        for pattern in ("shard_*.parquet", "partial/partial_*.parquet", ".*.tmp", "partial/.*.tmp"):
            for path in out.glob(pattern):
                path.unlink()
        yield
