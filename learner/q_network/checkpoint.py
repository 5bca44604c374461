"""Reading the checkpoint of a Q-network; ``learner.model.checkpoint`` writes it and knows its files."""

from pathlib import Path

from games.game import Game
from learner.config import Q_NETWORKS
from learner.model.checkpoint import CONFIG_FILE, check_record, filled, find, read_config
from learner.q_network.architecture import Q_MODEL_TYPE, QArchitecture, state_features
from learner.q_network.network import QNet


def load_q_network(checkpoint: str | Path, game: Game) -> QNet:
    """The network of a checkpoint (``learner.model.checkpoint.find``), on the CPU, float32.

    Raises ``ValueError`` naming the file and the reason where it is missing, broken or damaged, is no Q-network, or was
    made for another game, other rule options, another version of the rules or of the numbers of a state.
    """
    directory = find(checkpoint)
    config, file = read_config(directory, str(checkpoint), Q_MODEL_TYPE), f"{checkpoint}/{CONFIG_FILE}"
    features = state_features(game)
    sizes = {"vocab_size": game.vocabulary.size, "num_features": features.size}
    check_record(file, config, game, sizes)
    if config.get("features_version") != features.version:
        raise ValueError(
            f"{file}: features_version is {config.get('features_version')!r}, and {game.name} has {features.version} "
            "by now; train again"
        )
    layers, width = config.get("architecture"), config.get("width")
    if not isinstance(layers, str) or layers not in Q_NETWORKS or not isinstance(width, int) or width < 1:
        these = ", ".join(Q_NETWORKS)
        raise ValueError(f"{file}: architecture {layers!r} of width {width!r} is no Q-network; there are {these}")
    arch = QArchitecture(layers, width, features.size, features.version, game.vocabulary.size)
    return filled(QNet, arch, directory)
