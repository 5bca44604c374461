"""``learner.policy.kind=labels``: the policy learns what another player would have done, where shards say it (DAgger,
Ross et al., AISTATS 2011)."""

from collections.abc import Sequence

import numpy as np
import torch

from games.game import Game
from games.shards import Sequences, shard_info
from learner.config import PolicyConfig
from learner.training.batch import Learned, Targets
from learner.training.policies.policy import Policy


class Labels(Policy):
    """Labels take the place of the actions played, as targets and with a weight of their own."""

    def __init__(self, game: Game, config: PolicyConfig) -> None:
        alone = config.kind == "labels"
        self._eos, self.reads = game.vocabulary.eos, config.reads
        self.weight = config.weight if alone else config.label_weight
        self._asked = f"learner.policy.{'kind=labels' if alone else f'label_weight={self.weight}'}"

    def check(self, sequences: Sequences, shards: Sequence[str]) -> None:
        """``ValueError`` where there are no labels to train on, or those of several players."""
        if sequences.labels is None or (sequences.labels == self._eos).all():
            raise ValueError(
                f"{self._asked}: shards {shards[0]}..{shards[-1]} hold no labels; make some with selfplay.labels "
                "(labels of python -m selfplay.generate) or kibitz label, or choose another learner.policy.kind"
            )
        by = {shard_info(shard).provenance.get("labels", ""): shard for shard in shards}
        by.pop("", None)
        if len(by) > 1:
            found = " and ".join(f"{player} ({shard})" for player, shard in by.items())
            raise ValueError(f"{self._asked}: labels of one player are learned, not of {found}")

    def targets(self, learned: Learned) -> Targets:
        labels = learned.data.labels
        assert labels is not None
        wanted, came = learned.behind(labels), learned.behind(learned.data.tokens)
        labelled = wanted != self._eos
        tokens = np.where(labelled, wanted, came).astype(np.int64)
        weights = np.where(labelled, np.float32(self.weight), learned.own_weights())
        return Targets(torch.from_numpy(weights), torch.from_numpy(tokens))
