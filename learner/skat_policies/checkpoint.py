"""Reading a checkpoint of the networks of paper 004; ``learner.model.checkpoint`` writes it and knows its files."""

from pathlib import Path

from games.game import Game
from games.skat.policies.points import VERSION
from learner.model.checkpoint import CONFIG_FILE, check_record, filled, find, read_config
from learner.skat_policies.architecture import SkatPoliciesArchitecture
from learner.skat_policies.config import SKAT_POLICIES_MODEL_TYPE, VALUE_LABELS
from learner.skat_policies.network import SkatPolicies


def load_skat_policies(checkpoint: str | Path, game: Game) -> SkatPolicies:
    """The networks of a checkpoint (``learner.model.checkpoint.find``), on the CPU, float32.

    Raises ``ValueError`` naming the file and the reason where it is missing, broken or damaged, holds other networks,
    or was made for another game, other rule options or another version of features and labels.
    """
    directory = find(checkpoint)
    config, file = read_config(directory, str(checkpoint), SKAT_POLICIES_MODEL_TYPE), f"{checkpoint}/{CONFIG_FILE}"
    check_record(file, config, game, {})
    if config.get("version") != VERSION:
        raise ValueError(
            f"{file}: version is {config.get('version')!r}, and features and labels have {VERSION} by now; train again"
        )
    hidden, dropout, label = (config.get(key) for key in ("hidden", "dropout", "value_label"))
    shared = config.get("shared")
    fit = _are_widths(hidden) and isinstance(shared, bool)
    if not fit or not isinstance(dropout, float) or not 0 <= dropout < 1 or label not in VALUE_LABELS:
        raise ValueError(
            f"{file}: hidden={hidden!r}, dropout={dropout!r}, value_label={label!r}, shared={shared!r} are no networks "
            "of it"
        )
    arch = SkatPoliciesArchitecture(tuple(config["hidden"]), dropout, config["value_label"], bool(shared), VERSION)
    return filled(SkatPolicies, arch, directory)


def _are_widths(hidden: object) -> bool:
    return isinstance(hidden, list) and len(hidden) == 5 and all(type(each) is int and each > 0 for each in hidden)
