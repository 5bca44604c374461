"""Damage to files: every kind that a run directory holds, cut short or with a bit flipped."""

import json
import random
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import yaml

KINDS = {
    "shard": "iterations/*/shards/*.parquet",
    "weights": "iterations/*/checkpoint/model.safetensors",
    "network's config.json": "iterations/*/checkpoint/config.json",
    "optimizer": "iterations/*/checkpoint/training/optimizer.safetensors",
    "training state": "iterations/*/checkpoint/training/state.json",
    "digests.json": "iterations/*/checkpoint/digests.json",
    "partial checkpoint": "iterations/*/checkpoint.partial/step-*[0-9]/**/*.*",
    "metrics.json": "iterations/*/metrics.json",
    "gate.json": "iterations/*/gate.json",
    "tournament.json": "iterations/*/tournament.json",
    "last tournament.json": "results/tournament.json",
    "successes.json": "iterations/*/successes.json",
    "state.json": "state.json",
    "config.yaml": "config.yaml",
    "provenance.json": "provenance.json",
    "metrics.jsonl": "metrics.jsonl",
}
"""Kind of file -> where its files lie."""
_TRIES = 200


@dataclass(frozen=True)
class Damaged:
    """A file that was damaged."""

    path: Path
    before: bytes
    """What it held."""

    @property
    def unit(self) -> Path:
        """What is published, found damaged and made again as a whole: the file, or the checkpoint around it."""
        for parent in self.path.parents:
            if parent.name == "checkpoint" or parent.name.startswith("step-"):
                return parent
        return self.path

    def restore(self) -> None:
        """Give it back what it held."""
        self.path.write_bytes(self.before)


def candidates(run: Path) -> dict[str, list[Path]]:
    """Files that can be damaged, by kind; kinds without any are left out."""
    found = {kind: sorted(path for path in run.glob(where) if path.is_file()) for kind, where in KINDS.items()}
    return {kind: files for kind, files in found.items() if files}


def damage(path: Path, flip: bool, drawn: random.Random) -> Damaged:
    """Flip one bit of a file, or cut it short; what has no checksum so that it is not well-formed any more."""
    before = path.read_bytes()
    for _ in range(_TRIES):
        content = _flipped(path, before, drawn) if flip else before[: drawn.randrange(len(before))]
        if not _well_formed(path, content):
            break
    path.write_bytes(content)
    return Damaged(path, before)


def _flipped(path: Path, before: bytes, drawn: random.Random) -> bytes:
    content, first, last = bytearray(before), 0, len(before)
    if path.suffix == ".parquet":  # the end of the tokens' page; its header, long in small shards, has no checksum
        tokens = pq.ParquetFile(path).metadata.row_group(0).column(0)
        last = tokens.data_page_offset + tokens.total_compressed_size
        first = last - tokens.total_compressed_size // 4
    content[drawn.randrange(first, last)] ^= 1 << drawn.randrange(8)
    return bytes(content)


def _well_formed(path: Path, content: bytes) -> bool:
    """Whether nothing tells that a file was damaged; what has a digest or a checksum always does."""
    if path.suffix in (".parquet", ".safetensors") or "checkpoint" in str(path):
        return False
    try:
        text = content.decode()
        if path.suffix == ".yaml":
            return isinstance(yaml.safe_load(text), dict)
        for line in text.splitlines() if path.suffix == ".jsonl" else [text]:
            json.loads(line)
    except (ValueError, yaml.YAMLError):
        return False
    return True
