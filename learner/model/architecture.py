"""The shape of a network for a game, from its configuration."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, get_origin, get_type_hints

from games.game import Game
from learner.config import TransformerConfig

MODEL_TYPE = "kibitz_policy_value"
"""What ``config.json`` calls networks of this kind."""
_RULE_KEYS = ("token_types", "features", "num_features", "choices", "boards", "first", "mask_tokens", "mask_outcomes")


_SIZES = ("vocab_size", "num_outcomes", "n_positions", "n_layer", "n_head", "n_embd", "n_inner")
_MAX_LAYERS = 1000
"""Limit for files from anywhere; each takes time and memory, whatever its size."""
_RESOLVED = ("kind", "board_channels", "score_width", "score_layers")
"""Keys of the configuration that other fields replace."""


@dataclass(frozen=True)
class Architecture:
    """Everything that fixes the network's shape and arithmetic, all zeros of the configuration resolved."""

    vocab_size: int
    num_outcomes: int
    n_positions: int
    n_layer: int
    n_head: int
    n_embd: int
    n_inner: int
    embd_pdrop: float
    resid_pdrop: float
    outcome_init: str
    initializer_range: float
    layer_norm_epsilon: float
    token_types: int = 0
    """Number of token types that it reads; 0 for none."""
    features: dict[str, int] = field(default_factory=dict)
    """Feature sets that it reads at every position -> version."""
    num_features: int = 0
    """Total size of these features."""
    choices: dict[str, int] = field(default_factory=dict)
    """Features of actions: the ``offset`` of the first, the number of ``actions``, ``numbers`` of each, ``width`` of
    the layer that scores them, and how many ``layers`` come behind it; empty without any."""
    boards: dict[str, Any] = field(default_factory=dict)
    """A board that convolutions read: its ``rows``, ``columns`` and ``planes``, and their ``channels``; empty without
    any."""
    first: int = 0
    """Place of the first token of a history that it reads; the board shows those before it. Positions count from it."""
    mask_tokens: bool = False
    mask_outcomes: bool = False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Architecture):
            return NotImplemented
        return all(same_value(value, vars(other)[name]) for name, value in vars(self).items())

    @property
    def reads_rules(self) -> bool:
        """Whether it has rule inputs."""
        return any(getattr(self, name) for name in _RULE_KEYS)


def same_value(one: Any, other: Any) -> bool:
    """Whether two values of an architecture are the same. The order of ``features`` counts: it is that of their
    weights."""
    return bool(one == other) and (not isinstance(one, dict) or list(one) == list(other))


def architecture(game: Game, config: TransformerConfig) -> Architecture:
    """The network of this configuration for this game. ``ValueError`` where n_positions is shorter than the game."""
    features = feature_versions(game, _named(game, config.features))
    read = _of_features(game, list(features), config.score_width, config.score_layers, config.board_channels)
    first = read["first"]
    if 0 < config.n_positions < game.max_length - first:
        raise ValueError(
            f"model.n_positions={config.n_positions}: {game.name} has histories of {game.max_length - first} tokens; "
            "use 0 for the game's own length"
        )
    resolved = {
        **{key: value for key, value in asdict(config).items() if key not in _RESOLVED},
        "n_positions": config.n_positions or game.max_length - first,
        "n_inner": config.n_inner or 4 * config.n_embd,
        "token_types": len(game.token_types) if config.token_types else 0,
        "features": features,
        **read,
    }
    return Architecture(vocab_size=game.vocabulary.size, num_outcomes=game.outcomes.num_labels, **resolved)


def check_architecture(arch: Architecture, game: Game) -> None:
    """``ValueError`` naming a value that an architecture from a file has and none of this game's can have. The
    shapes of the weights are checked elsewhere."""
    kinds = get_type_hints(Architecture)
    for name, value in vars(arch).items():
        kind = get_origin(kinds[name]) or kinds[name]
        fits = isinstance(value, kind) and (kind is bool or type(value) is not bool)
        if kind is float:
            fits = type(value) in (int, float) and 0 <= value < 1
        elif kind is int:
            fits = fits and (1 if name in _SIZES else 0) <= value < 2**31
        elif kind is dict:
            fits = fits and all(_whole(number) for each in value.values() for number in _listed(each))
        if not fits:
            raise ValueError(f"{name} is {str(value)[:80]}, and no network has that")
    if arch.n_embd % arch.n_head or arch.n_layer > _MAX_LAYERS or not arch.layer_norm_epsilon:
        given = f"n_layer={arch.n_layer}, n_head={arch.n_head}, n_embd={arch.n_embd}"
        raise ValueError(f"{given}, layer_norm_epsilon={arch.layer_norm_epsilon} make no network")
    layers, channels = arch.choices.get("layers", 0), arch.boards.get("channels", [])
    for name, value in _of_features(game, list(arch.features), arch.choices.get("width", 0), layers, channels).items():
        if getattr(arch, name) != value:
            raise ValueError(
                f"{name} is {str(getattr(arch, name))[:80]}, and its features in {game.name} make it {value}"
            )
    if max(layers, len(channels)) > _MAX_LAYERS:
        raise ValueError(f"more than {_MAX_LAYERS} layers make no network")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _whole(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**31


def _named(game: Game, names: Sequence[str]) -> list[str]:
    """The feature sets of ``model.features``. ``all`` stands for those that are not by strategy, less the one about
    actions where another one is named beside it."""
    if "all" not in names:
        return list(names)
    more = [name for name in names if name != "all"]
    other = any(name in game.features and game.features[name].of_actions for name in more)
    sets = [name for name, each in game.features.items() if not (each.by_strategy or (other and each.of_actions))]
    return [*(name for name in sets if name not in more), *more]


def feature_versions(game: Game, names: Sequence[str]) -> dict[str, int]:
    """Name -> version of feature sets; ``ValueError`` for one that the game does not have."""
    unknown = [name for name in names if name not in game.features]
    if unknown:
        known = ", ".join(game.features) or "none"
        raise ValueError(f"model.features: {game.name} has no {', '.join(map(repr, unknown))}; it has {known}")
    return {name: game.features[name].version for name in names}


def _of_features(
    game: Game, names: list[str], width: int, score_layers: int, channels: Sequence[int]
) -> dict[str, Any]:
    """The fields of an architecture that follow from its feature sets."""
    return {
        "num_features": sum(game.features[name].size for name in names),
        "choices": _choices(game, names, width, score_layers),
        "boards": _boards(game, names, channels),
        "first": max((game.features[name].tells for name in names), default=0),
    }


def _choices(game: Game, names: list[str], width: int, score_layers: int) -> dict[str, int]:
    """``Architecture.choices`` of the feature sets of these names."""
    scored = [name for name in names if game.features[name].of_actions]
    if not scored:
        return {}
    if len(scored) > 1:
        raise ValueError(f"model.features: of {game.name}'s sets about actions take one: {', '.join(scored)}")
    actions, numbers = game.features[scored[0]].shape
    offset = sum(game.features[name].size for name in names[: names.index(scored[0])])
    return {"offset": offset, "actions": actions, "numbers": numbers, "width": width, "layers": score_layers}


def _boards(game: Game, names: list[str], channels: Sequence[int]) -> dict[str, Any]:
    """``Architecture.boards`` of the feature sets of these names."""
    boards = [name for name in names if game.features[name].of_board]
    if not boards:
        return {}
    others = [name for name in names[1:] if not game.features[name].of_actions]
    if names[0] != boards[0] or others:
        raise ValueError(
            f"model.features: {boards[0]} is read by convolutions, so name it first, with no others than sets about "
            "actions behind it"
        )
    rows, columns, planes = game.features[boards[0]].shape
    return {"rows": rows, "columns": columns, "planes": planes, "channels": list(channels)}
