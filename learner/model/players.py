"""``players.json`` of a checkpoint: the settings that its network was measured with.

By kind of player, as in ``{"argmax_val": {"threshold": 0.02, "policy_weight": 0.1}}``; what transformers'
``generation_config.json`` is to a language model. A player of the network plays with them where nobody says otherwise
(``search.roster.registry``). A checkpoint need not have the file.
"""

from pathlib import Path

from cluster.files.digests import check_digests, read_digests
from cluster.foreign import parse_json
from learner.model.checkpoint import PLAYERS_FILE, Players, find

_MOST_BYTES = 65_536


def read_players(checkpoint: str | Path) -> Players:
    """The settings of a checkpoint; empty where it has none. ``ValueError`` naming the file where it is damaged or says
    something else."""
    directory = find(checkpoint)
    file = directory / PLAYERS_FILE
    if not file.is_file():
        return {}
    if file.stat().st_size > _MOST_BYTES:
        raise ValueError(f"{file}: has more than {_MOST_BYTES:,} bytes; remove it, or restore {directory}")
    if PLAYERS_FILE in read_digests(directory):
        check_digests(directory, [PLAYERS_FILE])
    try:
        players = parse_json(file.read_text())
        if not all(isinstance(part, dict) for part in (players, *players.values())):
            raise ValueError("no settings by kind of player")
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{file}: cannot be read ({error}); remove it, or restore {directory}") from error
    return dict(players)
