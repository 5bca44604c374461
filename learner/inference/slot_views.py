"""What the rules tell of the histories in the KV cache: a view for every slot, advanced as its token is computed."""

import numpy as np
import torch

from learner.inference.packing import Pass
from learner.model.told import Rules, Told
from learner.observation_model import EMPTY


class SlotViews:
    """Views (``games.game.Game.views``) of histories by the slot of their last token."""

    def __init__(self, rules: Rules, num_slots: int) -> None:
        self._rules = rules
        self._empty = rules.game.views(np.zeros((1, 1), np.int64), np.zeros(1, np.int64))
        self._views = np.zeros(num_slots, self._empty.dtype)  # memory that is never written to costs nothing

    def tell(self, plan: Pass, valued: np.ndarray, look_ahead: bool) -> Told:
        """What is told of a pass: types and features of every packed token, the tokens that can follow behind each row
        (with ``look_ahead`` behind every answered token), the outcomes that can still come behind ``valued``.

        Args:
            plan: the pass.
            valued: ``int64[J + Z]`` places in ``plan.answered`` whose value is asked for.
            look_ahead: as ``learner.inference.trunk.Trunk`` has it.
        """
        rules, views = self._rules, self._views
        level = plan.position - plan.start[plan.row]  # behind a row's new tokens its candidates stand side by side
        for place in range(int(level.max()) + 1):
            here = np.flatnonzero(level == place)
            now = self._of(plan.parent[here])
            rules.game.advance(now, plan.ids[here])
            views[plan.slot[here]] = now
        types = features = tokens = outcomes = None
        if rules.types or rules.features:
            packed = views[plan.slot]
        if rules.types:
            types = torch.from_numpy(
                np.stack([rules.next_types(self._of(plan.parent)), rules.next_types(packed)], axis=1)
            )
        if rules.features:
            features = torch.from_numpy(rules.encode(packed))
        answered = plan.slot[plan.answered]
        if rules.tokens:
            asked = answered if look_ahead else answered[: len(plan.lengths)]
            tokens = torch.from_numpy(rules.tokens_to_come(views[asked]))
        if rules.outcomes:
            outcomes = torch.from_numpy(rules.outcomes_to_come(views[answered[valued]]))
        return Told(types, features, tokens, outcomes)

    def _of(self, slots: np.ndarray) -> np.ndarray:
        """A copy of the views of these slots, those of no history included."""
        views = self._views[slots]
        views[slots == EMPTY] = self._empty
        return views
