"""Damage to files: every kind that a run directory holds, cut short or with a bit flipped."""

import json
import random
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


def unit(path: Path) -> Path:
    """What is published, found damaged and made again as a whole: the file, or the checkpoint around it."""
    return next((parent for parent in path.parents if parent.name == "checkpoint"), path)


def damaged(path: Path, flip: bool, drawn: random.Random) -> bytes:
    """A file's content with one bit flipped, or cut short; what has no checksum so that it is not well-formed."""
    before = path.read_bytes()
    while True:
        content = _flipped(path, before, drawn) if flip else before[: drawn.randrange(len(before))]
        if path.suffix in (".parquet", ".safetensors") or unit(path) != path or not _well_formed(path, content):
            return content


def _flipped(path: Path, before: bytes, drawn: random.Random) -> bytes:
    content, first, last = bytearray(before), 0, len(before)
    if path.suffix == ".parquet":  # the end of the tokens' page; its header, long in small shards, has no checksum
        tokens = pq.ParquetFile(path).metadata.row_group(0).column(0)
        last = tokens.data_page_offset + tokens.total_compressed_size
        first = last - tokens.total_compressed_size // 4
    content[drawn.randrange(first, last)] ^= 1 << drawn.randrange(8)
    return bytes(content)


def _well_formed(path: Path, content: bytes) -> bool:
    try:
        text = content.decode()
        if path.suffix == ".yaml":
            return isinstance(yaml.safe_load(text), dict)
        for line in text.splitlines() if path.suffix == ".jsonl" else [text]:
            json.loads(line)
    except (ValueError, yaml.YAMLError):
        return False
    return True
