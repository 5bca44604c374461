"""A checkpoint is a directory: ``config.json`` and ``model.safetensors``, as transformers' ``from_pretrained`` reads
them, plus ``training/`` for resuming and ``digests.json`` of all files. It appears whole or not at all, by renaming a
finished directory into place.
"""

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from cluster.files import storage
from cluster.files.digests import check_digests, digest_of, write_digests
from games.game import Game
from learner.model.architecture import Architecture
from learner.model.network import PolicyValueNet

MODEL_TYPE = "kibitz_policy_value"
SHIPPED = "kibitz"
"""Scheme of the networks that are installed with the package."""
NETWORKS = Path(__file__).parent.parent / "networks"
"""Where they lie."""
CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"


def config_record(arch: Architecture, game: Game, dtype: torch.dtype = torch.float32) -> dict[str, Any]:
    """The contents of ``config.json``: the architecture in GPT-2's terms and what identifies the game."""
    return {
        "model_type": MODEL_TYPE,
        "architectures": ["PolicyValueModel"],
        "dtype": str(dtype).removeprefix("torch."),
        **arch.record(),
        "activation_function": "gelu_new",
        "attn_pdrop": 0.0,
        "tie_word_embeddings": False,
        "bos_token_id": None,
        "eos_token_id": game.vocabulary.eos,
        **game_record(game),
    }


def game_record(game: Game) -> dict[str, Any]:
    """What a network's game must agree in: name, options, rules version, vocabulary."""
    return {
        "game": game.name,
        "game_options": dict(game.options),
        "rules_version": game.rules_version,
        "vocabulary_fingerprint": game.vocabulary.fingerprint,
    }


def write_model(directory: Path, net: PolicyValueNet, game: Game, dtype: torch.dtype = torch.float32) -> None:
    """Write ``config.json`` and ``model.safetensors`` into an existing directory."""
    (directory / CONFIG_FILE).write_text(json.dumps(config_record(net.arch, game, dtype), indent=2) + "\n")
    tensors = {name: tensor.detach().to("cpu", dtype).contiguous() for name, tensor in net.state_dict().items()}
    # Unlike save_file, which has an error of its own, this says OSError of a full disk.
    (directory / WEIGHTS_FILE).write_bytes(save(tensors, metadata={"format": "pt"}))


def save_weights(path: str | Path, net: PolicyValueNet, game: Game, dtype: torch.dtype = torch.float32) -> None:
    """Publish a checkpoint without training state. ``ValueError`` where ``path`` exists already."""

    def write(directory: Path) -> None:
        write_model(directory, net, game, dtype)
        write_digests(directory)

    storage.write_directory_atomic(path, write)


def find(checkpoint: str | Path) -> Path:
    """The local directory of a checkpoint: a directory, a URI (``s3://``, ``hf://``; copied to this machine once), or a
    network that is installed with the package (``kibitz:hearts``). ``ValueError`` for a name that is not."""
    kind, _, name = str(checkpoint).partition(":")
    if kind != SHIPPED:
        return storage.local_copy(checkpoint)
    if name not in installed():
        raise ValueError(
            f"{checkpoint}: no such network comes with Kibitz; there is {', '.join(installed()) or 'none'}"
        )
    return NETWORKS / name


def installed() -> list[str]:
    """Names of the networks that are installed with the package; one is called as the game that it plays."""
    return sorted(path.parent.name for path in NETWORKS.glob(f"*/{CONFIG_FILE}"))


def load_weights(checkpoint: str | Path, game: Game) -> PolicyValueNet:
    """The network of a checkpoint (``find``), on the CPU, float32.

    Raises ``ValueError`` naming the file and the reason where it is missing, broken or damaged, or was made for another
    game, other rule options, another version of the rules or another vocabulary.
    """
    directory = find(checkpoint)
    config = read_config(directory)
    _check_game(directory / CONFIG_FILE, config, game)
    required = [field.name for field in fields(Architecture) if field.default is field.default_factory is MISSING]
    missing = [name for name in required if name not in config]
    if missing:
        raise ValueError(f"{directory / CONFIG_FILE}: has no {', '.join(missing)}")
    given = {field.name: config.get(field.name) for field in fields(Architecture)}
    net = PolicyValueNet(Architecture(**{name: value for name, value in given.items() if value is not None}))
    tensors = read_tensors(directory / WEIGHTS_FILE)
    _check_shapes(directory / WEIGHTS_FILE, tensors, net.state_dict())
    check_digests(directory, [CONFIG_FILE, WEIGHTS_FILE])  # last: what is known to be wrong has a message of its own
    net.load_state_dict(tensors)
    return net


def read_config(directory: Path) -> dict[str, Any]:
    """``config.json`` of a checkpoint; ``ValueError`` where the directory, a file or the model type is not there."""
    if not directory.is_dir():
        raise ValueError(f"{directory}: no such directory; a checkpoint holds {CONFIG_FILE} and {WEIGHTS_FILE}")
    for name in (CONFIG_FILE, WEIGHTS_FILE):
        if not (directory / name).is_file():
            raise ValueError(
                f"{directory / name}: no such file; a checkpoint holds {CONFIG_FILE} and {WEIGHTS_FILE}; restore "
                f"{directory} or remove it"
            )
    try:
        config: dict[str, Any] = json.loads((directory / CONFIG_FILE).read_text())
    except ValueError as error:
        raise ValueError(
            f"{directory / CONFIG_FILE}: is not JSON ({error}); restore {directory} or remove it"
        ) from error
    if config.get("model_type") != MODEL_TYPE:
        raise ValueError(f"{directory / CONFIG_FILE}: model_type is {config.get('model_type')!r}, not {MODEL_TYPE!r}")
    return config


def read_tensors(file: Path) -> dict[str, torch.Tensor]:
    """All tensors of a safetensors file; ``ValueError`` naming the file where it is broken or cut short."""
    try:
        return load_file(file)
    except (SafetensorError, OSError) as error:
        raise ValueError(
            f"{file}: cannot be read as safetensors ({error}); restore {file.parent} or remove it"
        ) from error


def checkpoint_id(checkpoint: str | Path) -> str:
    """16 hex digits of BLAKE2b over ``model.safetensors``: equal weights, equal id. ``ValueError`` where it is missing
    or damaged."""
    weights = find(checkpoint) / WEIGHTS_FILE
    if not weights.is_file():
        raise ValueError(
            f"{weights}: no such file; a checkpoint holds {CONFIG_FILE} and {WEIGHTS_FILE}; restore "
            f"{weights.parent} or remove it"
        )
    check_digests(weights.parent, [WEIGHTS_FILE])
    return digest_of(weights)


def _check_game(file: Path, config: Mapping[str, Any], game: Game) -> None:
    sizes = {"vocab_size": game.vocabulary.size, "num_outcomes": game.outcomes.num_labels}
    for key, expected in {**game_record(game), **sizes}.items():
        if config.get(key) != expected:
            raise ValueError(
                f"{file}: {key} is {config.get(key)!r}, the game in use has {expected!r}; "
                "use the checkpoint with the game and rule options it was trained on"
            )
    told = config.get("features") or {}
    features = {name: feature.version for name, feature in game.features.items() if name in told}
    for key, now in {"token_types": len(game.token_types), "features": features}.items():
        if config.get(key) and config[key] != now:
            raise ValueError(f"{file}: {key} is {config[key]!r}, and {game.name} has {now!r} by now; train again")
    if not config.get("n_positions", 0) >= game.max_length:
        raise ValueError(f"{file}: n_positions is {config.get('n_positions')!r}, the game needs {game.max_length}")


def _check_shapes(file: Path, tensors: Mapping[str, torch.Tensor], expected: Mapping[str, torch.Tensor]) -> None:
    missing, foreign = sorted(expected.keys() - tensors.keys()), sorted(tensors.keys() - expected.keys())
    if missing or foreign:
        raise ValueError(f"{file}: does not fit its config.json; missing {missing[:3]}, not expected {foreign[:3]}")
    for name, tensor in expected.items():
        if tensors[name].shape != tensor.shape:
            raise ValueError(
                f"{file}: {name} has shape {tuple(tensors[name].shape)}, config.json asks for {tuple(tensor.shape)}"
            )
