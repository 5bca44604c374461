"""The game's views of the histories in the KV cache: one for every slot, advanced when its token is computed."""

import numpy as np
import torch

from learner.inference.packing import Pass
from learner.model.rule_inputs import RuleInputs, Rules
from learner.observation_model import EMPTY


class SlotViews:
    """Views (``games.game.Game.views``) of histories by the slot of their last token, and the types of the tokens that
    come next.

    Row ``n + 1`` is that of slot ``n``; the first is the empty history, slot ``EMPTY`` = -1. Rows are added as slots
    are taken. Views are copied by ``take``: numpy's other ways copy a structured one field by field.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._views = rules.game.views(np.zeros((1, 1), np.int64), np.zeros(1, np.int64))
        self._types = rules.next_types(self._views)
        self._top = 1
        """One behind the row of the highest slot so far: no row from there on is that of a history which is held."""

    def inputs(self, plan: Pass, valued: np.ndarray, look_ahead: bool, begun: np.ndarray | None = None) -> RuleInputs:
        """Rule inputs of a pass: types and features of every packed token, the tokens that can follow behind each row
        and the features of actions there (with ``look_ahead`` behind every answered token), the outcomes that can
        still come behind ``valued``.

        Args:
            plan: the pass.
            valued: ``int64[J + Z]`` places in ``plan.answered`` whose value is asked for.
            look_ahead: see ``learner.inference.trunk.Trunk``.
            begun: ``[M]``: the view before the first token that the network reads, of every row that begins there; None
                where no row does, or where it reads all tokens.
        """
        rules, before, now = self._rules, plan.parent + 1, plan.slot + 1
        self._top = top = max(self._top, int(now.max()) + 1)
        self._make_room(top + (0 if begun is None else len(begun)))
        if begun is not None:
            before = np.where(plan.parent == EMPTY, top + plan.row, before)
            self._views[top : top + len(begun)] = begun
            self._types[top : top + len(begun)] = rules.next_types(begun)
        # A token that is computed again has its view; of a board's first one, that before it is not kept.
        rules.game.advance_into(self._views, before[plan.new], now[plan.new], plan.ids[plan.new])
        views = self._views.take(now)
        asked = plan.answered if look_ahead else plan.answered[: len(plan.lengths)]
        types = features = tokens = outcomes = choices = None
        if rules.types:
            self._types[now] = rules.next_types(views)
            types = torch.from_numpy(self._types[np.stack([before, now], axis=1)])
        if rules.features:
            features = torch.from_numpy(rules.encode(views))
            choices = rules.choices(features, asked)
        if rules.tokens:
            tokens = torch.from_numpy(rules.tokens_to_come(views.take(asked)))
        if rules.outcomes:
            outcomes = torch.from_numpy(rules.game.view_outcomes(views.take(plan.answered[valued])))
        return RuleInputs(types, features, tokens, outcomes, choices)

    def _make_room(self, num_rows: int) -> None:
        """Have so many rows at least, twice as many as before where there are fewer."""
        if num_rows > len(self._views):
            more = max(num_rows, 2 * len(self._views)) - len(self._views)
            self._views = np.concatenate([self._views, np.empty(more, self._views.dtype)])
            self._types = np.concatenate([self._types, np.empty(more, np.int64)])
