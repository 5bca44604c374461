"""A checkpoint is a directory: ``config.json`` and ``model.safetensors``, as transformers' ``from_pretrained`` reads
them, plus ``training/`` for resuming and ``digests.json`` of all files. It appears whole or not at all, by renaming a
finished directory into place.

Networks of every kind are written here. This module reads the transformer; every other kind brings a reader of its own
(``learner.kinds``).
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import nn

from cluster.errors import first_line
from cluster.files import copies, storage
from cluster.files.digests import check_digests, digest_of, read_digests, write_digests
from cluster.foreign import check_format, parse_json
from games.game import Game
from games.registry import make_game
from learner.model.architecture import MODEL_TYPE, Architecture, check_architecture
from learner.model.network import PolicyValueNet
from learner.model.runs import newest

A = TypeVar("A")
N = TypeVar("N", bound=nn.Module)

SHIPPED = "kibitz"
"""Scheme of the networks that are installed with the package."""
NETWORKS = Path(__file__).parent.parent / "networks"
"""Their directory."""
FORMAT = 1
"""Format number of ``config.json``; increased whenever the meaning of its keys changes."""
CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
PLAYERS_FILE = "players.json"
TRAINING = "training"
"""Directory of a checkpoint with what a training goes on from, three times its weights."""
_MOST_PLAYERS = 65_536
"""Bytes of that file, which may be somebody else's."""

Players = Mapping[str, Mapping[str, Any]]
"""Kind of player -> setting -> value: what the network was measured with (``read_players``)."""
NO_PLAYERS: Players = MappingProxyType({})


class Network(Protocol):
    """The network of a checkpoint: a torch module with its architecture."""

    arch: Any
    """A dataclass that fixes its shape."""

    def config_record(self, game: Game) -> dict[str, Any]:
        """The contents of ``config.json`` besides those of every network (``config_record``)."""

    def state_dict(self) -> Mapping[str, Any]:
        """As in torch's modules, like the next two."""

    def parameters(self) -> Iterator[nn.Parameter]: ...

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...


def game_record(game: Game) -> dict[str, Any]:
    """Identity of a network's game: name, options, rules version, vocabulary."""
    return {
        "game": game.name,
        "game_options": dict(game.options),
        "rules_version": game.rules_version,
        "vocabulary_fingerprint": game.vocabulary.fingerprint,
    }


def config_record(net: Network, game: Game, dtype: torch.dtype = torch.float32) -> dict[str, Any]:
    """The contents of ``config.json``: the network's own record and the game's identity."""
    return {
        "format": FORMAT,
        **net.config_record(game),
        "dtype": str(dtype).removeprefix("torch."),
        **game_record(game),
    }


def write_model(
    directory: Path, net: Network, game: Game, dtype: torch.dtype = torch.float32, players: Players = NO_PLAYERS
) -> None:
    """Write ``config.json``, ``model.safetensors`` and, if there is anything to say, ``players.json`` into an existing
    directory."""
    (directory / CONFIG_FILE).write_text(json.dumps(config_record(net, game, dtype), indent=2) + "\n")
    tensors = {name: tensor.detach().to("cpu", dtype).contiguous() for name, tensor in net.state_dict().items()}
    # Raises OSError for a full disk, unlike save_file.
    (directory / WEIGHTS_FILE).write_bytes(save(tensors, metadata={"format": "pt"}))
    if players:
        (directory / PLAYERS_FILE).write_text(json.dumps(dict(players), indent=2) + "\n")


def save_weights(
    path: str | Path, net: Network, game: Game, dtype: torch.dtype = torch.float32, players: Players = NO_PLAYERS
) -> None:
    """Publish a checkpoint without training state. ``ValueError`` where ``path`` exists already."""

    def write(directory: Path) -> None:
        write_model(directory, net, game, dtype, players)
        write_digests(directory)

    storage.write_directory_atomic(path, write)


def find(checkpoint: str | Path) -> Path:
    """The local directory of a checkpoint: a directory, a URI (``s3://``, ``hf://``; copied to this machine once), a
    network that is installed with the package (``kibitz:hearts``), or a run, which stands for its newest accepted
    network (``learner.model.runs``). ``ValueError`` for a name that is not, and for a run without a network."""
    checkpoint = newest(checkpoint)
    kind, _, name = str(checkpoint).partition(":")
    if kind != SHIPPED:
        return copies.local_copy(checkpoint, without=TRAINING)
    if name not in installed():
        raise ValueError(f"{checkpoint}: no such network comes with Kibitz; there is {_offered() or 'none'}")
    return NETWORKS / name


def installed() -> list[str]:
    """Names of the networks that are installed with the package; a network with a game's name is the default of
    ``kibitz play``."""
    return sorted(path.parent.name for path in NETWORKS.glob(f"*/{CONFIG_FILE}"))


def _offered() -> str:
    """These networks as text, each with its game and the rule options that differ from the defaults."""
    offers = []
    for name in installed():
        config = _any_config(NETWORKS / name)
        other = _without_common(config["game_options"], make_game(config["game"]).options)
        options = ", ".join(f"{key}={value}" for key, value in other.items())
        offers.append(f"{name} ({config['game']}{' with ' if options else ''}{options})")
    return ", ".join(offers)


def load_weights(checkpoint: str | Path, game: Game) -> PolicyValueNet:
    """The network of a checkpoint (``find``), on the CPU, float32.

    Raises ``ValueError`` naming the file and the reason where it is missing, broken or damaged, or was made for another
    game, other rule options, another version of the rules or another vocabulary.
    """
    directory = find(checkpoint)
    config, file = read_config(directory, str(checkpoint)), f"{checkpoint}/{CONFIG_FILE}"
    check_record(file, config, game, {"vocab_size": game.vocabulary.size, "num_outcomes": game.outcomes.num_labels})
    names = [field.name for field in fields(Architecture)]
    if missing := [name for name in names if name not in config]:
        raise ValueError(f"{file}: has no {', '.join(missing)}")
    _check_versions(file, config, game)
    arch = Architecture(**{name: config[name] for name in names})
    try:
        check_architecture(arch, game)
    except ValueError as error:
        check_digests(directory, [CONFIG_FILE])  # a flipped bit is reported as one
        raise ValueError(f"{file}: {error}; restore {directory} or remove it") from error
    if arch.n_positions + arch.first < game.max_length:
        raise ValueError(f"{file}: n_positions is {arch.n_positions!r}, the game needs {game.max_length}")
    return filled(PolicyValueNet, arch, directory)


def load_network(checkpoint: str | Path, game: Game, kind: Any) -> Any:
    """The network of a checkpoint (``find``), on the CPU, float32, of a kind (``learner.network_kind.NetworkKind``)
    whose shape follows from the game and its configuration.

    Raises ``ValueError`` naming the file and the reason where it is missing, broken or damaged, holds another kind of
    network, or was made for another game, other rule options or another version of the rules or of its inputs.
    """
    directory = find(checkpoint)
    record, file = read_config(directory, str(checkpoint), kind.model_type), f"{checkpoint}/{CONFIG_FILE}"
    check_record(file, record, game, {})
    names = {each.name for each in fields(kind.config)} - {"kind"}
    try:
        arch = kind.architecture(game, kind.config(**{name: record[name] for name in names & record.keys()}))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{file}: {first_line(error).removeprefix('model.')}; restore {directory}") from error
    wanted: dict[str, Any] = json.loads(json.dumps(asdict(arch)))
    for key, now in wanted.items():
        if record.get(key) != now:
            raise ValueError(f"{file}: {key} is {record.get(key)!r}, and {game.name} has {now!r} by now; train again")
    return filled(kind.build, arch, directory)


def filled(build: Callable[[A], N], arch: A, directory: Path) -> N:
    """The network of an architecture with the weights of a checkpoint; ``ValueError`` where they are broken or damaged
    or do not fit. What ``config.json`` asks for takes no memory before the weights are found to have its shape."""
    try:
        with torch.device("meta"):
            net = build(arch)
    except (RuntimeError, TypeError, OverflowError) as error:  # sizes whose product is no size
        raise ValueError(
            f"{directory / CONFIG_FILE}: asks for no network that can be made ({first_line(error)}); restore "
            f"{directory} or remove it"
        ) from error
    tensors = read_tensors(directory / WEIGHTS_FILE)
    _check_shapes(directory / WEIGHTS_FILE, tensors, net.state_dict())
    check_digests(directory, [CONFIG_FILE, WEIGHTS_FILE])  # last: the other errors have better messages
    for name, tensor in tensors.items():  # else the network would play badly: every comparison with NaN is false
        if not tensor.isfinite().all():
            raise ValueError(f"{directory / WEIGHTS_FILE}: {name} has numbers that are not finite; train again")
    net.to_empty(device="cpu").load_state_dict(tensors)
    return net


def read_config(directory: Path, name: str, model_type: str = MODEL_TYPE) -> dict[str, Any]:
    """``config.json`` of a checkpoint, called ``name`` in messages; ``ValueError`` if the directory or a file is
    missing, or the type is not ``model_type``."""
    config = _any_config(directory)
    if (found := config.get("model_type")) != model_type:
        raise ValueError(f"{name}/{CONFIG_FILE}: model_type is {found!r}, not {model_type!r}")
    try:
        check_format(config.get("format"), FORMAT)
    except ValueError as error:
        raise ValueError(f"{name}/{CONFIG_FILE}: {error}; train again") from error
    return config


def model_type_of(checkpoint: str | Path) -> Any:
    """``model_type`` in ``config.json``, of any kind; ``ValueError`` if the file is missing."""
    return _any_config(find(checkpoint)).get("model_type")


def _any_config(directory: Path) -> dict[str, Any]:
    if not directory.is_dir():
        raise ValueError(f"{directory}: no such directory; a checkpoint holds {CONFIG_FILE} and {WEIGHTS_FILE}")
    if not any((directory / name).exists() for name in (CONFIG_FILE, WEIGHTS_FILE)):
        raise ValueError(
            f"{directory}: is neither a checkpoint, which holds {CONFIG_FILE} and {WEIGHTS_FILE}, nor a run; name one"
        )
    for name in (CONFIG_FILE, WEIGHTS_FILE):
        _check_there(directory / name)
    try:
        config: dict[str, Any] = dict(parse_json((directory / CONFIG_FILE).read_text()).items())
    except (ValueError, AttributeError) as error:
        raise ValueError(
            f"{directory / CONFIG_FILE}: is no JSON object ({error}); restore {directory} or remove it"
        ) from error
    return config


def _check_there(file: Path) -> None:
    if not file.is_file():
        holds = f"a checkpoint holds {CONFIG_FILE} and {WEIGHTS_FILE}"
        raise ValueError(f"{file}: no such file; {holds}; restore {file.parent} or remove it")


def read_players(checkpoint: str | Path) -> Players:
    """``players.json`` of a checkpoint: the settings that its network was measured with, by kind of player, as in
    ``{"argmax_val": {"threshold": 0.02}}``; empty where it has none. A player of the network has them where nobody says
    otherwise (``search.roster.registry``). ``ValueError`` naming the file where it is damaged or says something else.
    """
    directory = find(checkpoint)
    file = directory / PLAYERS_FILE
    if not file.is_file():
        return {}
    if file.stat().st_size > _MOST_PLAYERS:
        raise ValueError(f"{file}: has more than {_MOST_PLAYERS:,} bytes; remove it, or restore {directory}")
    if PLAYERS_FILE in read_digests(directory):
        check_digests(directory, [PLAYERS_FILE])
    try:
        players = parse_json(file.read_text())
        if not all(isinstance(part, dict) for part in (players, *players.values())):
            raise ValueError("no settings by kind of player")
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{file}: cannot be read ({error}); remove it, or restore {directory}") from error
    return dict(players)


def read_tensors(file: Path) -> dict[str, torch.Tensor]:
    """All tensors of a safetensors file; ``ValueError`` naming the file where it is broken or cut short."""
    try:
        return load_file(file)
    except (SafetensorError, OSError) as error:
        raise ValueError(
            f"{file}: cannot be read as safetensors ({error}); restore {file.parent} or remove it"
        ) from error


def checkpoint_id(checkpoint: str | Path, loaded_later: bool = False) -> str:
    """16 hex digits of BLAKE2b over ``model.safetensors``: equal weights, equal id. ``ValueError`` if it is missing or
    damaged; ``loaded_later`` leaves the check for damage to the loading of the weights."""
    weights = find(checkpoint) / WEIGHTS_FILE
    _check_there(weights)
    digests = read_digests(weights.parent) if loaded_later else check_digests(weights.parent, [WEIGHTS_FILE])
    return digests.get(WEIGHTS_FILE) or digest_of(weights)


def check_record(file: str, config: Mapping[str, Any], game: Game, more: Mapping[str, Any]) -> None:
    """``ValueError`` naming the first key of ``game_record`` and of ``more`` in which a ``config.json`` differs."""
    for key, expected in {**game_record(game), **more}.items():
        found = config.get(key)
        if key == "game_options" and isinstance(found, dict):  # a network plays whatever deals come
            found, expected = _without(found, game.dealing_options), _without(expected, game.dealing_options)
        if found != expected:
            if isinstance(found, dict) and isinstance(expected, dict):  # options: only those that differ
                found, expected = _without_common(found, expected), _without_common(expected, found)
            raise ValueError(
                f"{file}: {key} is {found!r}, the game in use has {expected!r}; "
                "use the checkpoint with the game and rule options it was trained on"
            )


def _without(options: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key not in names}


def _without_common(record: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in other or other[key] != value}


def _check_versions(file: str, config: Mapping[str, Any], game: Game) -> None:
    read = config.get("features") or {}
    known = game.features if isinstance(read, dict) else {}
    features = {name: feature.version for name, feature in known.items() if name in read}
    for key, now in {"token_types": len(game.token_types), "features": features}.items():
        if config.get(key) and config[key] != now:
            raise ValueError(f"{file}: {key} is {config[key]!r}, and {game.name} has {now!r} by now; train again")


def _check_shapes(file: Path, tensors: Mapping[str, torch.Tensor], expected: Mapping[str, torch.Tensor]) -> None:
    missing, foreign = sorted(expected.keys() - tensors.keys()), sorted(tensors.keys() - expected.keys())
    mend = f"restore {file.parent} or remove it"
    if missing or foreign:
        raise ValueError(
            f"{file}: does not fit its config.json; missing {missing[:3]}, not expected {foreign[:3]}; {mend}"
        )
    for name, tensor in expected.items():
        if tensors[name].shape != tensor.shape:
            shapes = f"{name} has shape {tuple(tensors[name].shape)}, config.json asks for {tuple(tensor.shape)}"
            raise ValueError(f"{file}: {shapes}; {mend}")
