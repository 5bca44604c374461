"""What the rules tell of the histories in the KV cache: a view for every slot, advanced as its token is computed."""

import numpy as np
import torch

from learner.inference.packing import Pass
from learner.model.told import Rules, Told


class SlotViews:
    """Views (``games.game.Game.views``) of histories by the slot of their last token.

    They are kept as rows of bytes: numpy copies such a row at once, and a structured one field by field. Row ``n + 1``
    is that of slot ``n``; the first is the empty history, slot ``EMPTY`` = -1. Rows are added as slots are taken.
    """

    def __init__(self, rules: Rules) -> None:
        empty = rules.game.views(np.zeros((1, 1), np.int64), np.zeros(1, np.int64))
        self._rules, self._dtype = rules, empty.dtype
        self._rows = empty.view(np.uint8).reshape(1, -1)
        self._types = np.zeros(1, np.int64)  # of the token that comes next
        if rules.types:
            self._types[0] = rules.next_types(empty)[0]

    def tell(self, plan: Pass, valued: np.ndarray, look_ahead: bool) -> Told:
        """What is told of a pass: types and features of every packed token, the tokens that can follow behind each row
        and the features of actions there (with ``look_ahead`` behind every answered token), the outcomes that can
        still come behind ``valued``.

        Args:
            plan: the pass.
            valued: ``int64[J + Z]`` places in ``plan.answered`` whose value is asked for.
            look_ahead: as ``learner.inference.trunk.Trunk`` has it.
        """
        rules = self._rules
        self._make_room(int(plan.slot.max()) + 2)
        level = plan.position - plan.start[plan.row]  # behind a row's new tokens its candidates stand side by side
        for place in range(int(level.max()) + 1):
            here = np.flatnonzero(level == place)
            now = self._of(plan.parent[here])
            rules.game.advance(now, plan.ids[here])
            self._rows[plan.slot[here] + 1] = now.view(np.uint8).reshape(len(now), -1)
        types = features = tokens = outcomes = choices = None
        if rules.types or rules.features:
            packed = self._of(plan.slot)
        if rules.types:
            self._types[plan.slot + 1] = rules.next_types(packed)
            types = torch.from_numpy(self._types[np.stack([plan.parent, plan.slot], axis=1) + 1])
        if rules.features:
            features = torch.from_numpy(rules.encode(packed))
        asked = plan.answered if look_ahead else plan.answered[: len(plan.lengths)]
        if features is not None:
            choices = rules.choices(features, asked)
        if rules.tokens:
            tokens = torch.from_numpy(rules.tokens_to_come(self._of(plan.slot[asked])))
        if rules.outcomes:
            outcomes = torch.from_numpy(rules.outcomes_to_come(self._of(plan.slot[plan.answered[valued]])))
        return Told(types, features, tokens, outcomes, choices)

    def _of(self, slots: np.ndarray) -> np.ndarray:
        """A copy of the views of these slots."""
        return self._rows[slots + 1].view(self._dtype)[:, 0]

    def _make_room(self, num_rows: int) -> None:
        """Have so many rows at least, twice as many as before where there are fewer."""
        more = max(num_rows, 2 * len(self._rows)) - len(self._rows)
        if num_rows > len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros((more, self._rows.shape[1]), np.uint8)])
            self._types = np.concatenate([self._types, np.zeros(more, np.int64)])
