"""The group ``search`` of ``conf/``: the settings of all players, each from its own folder."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from search.alphahearts.config import AlphaHeartsConfig, QValuesConfig
from search.go_mcts.config import GoMctsConfig
from search.is_mcts.config import IsMctsConfig
from search.openspiel.config import OpenSpielConfig
from search.pimc.config import PimcConfig
from search.players.config import ArgmaxValConfig, ImitationConfig
from search.scripted.hearts.config import HeartsComplexConfig
from search.scripted.skat.config import SkatRulesConfig
from search.single_agent.config import McTransformerConfig, MctsConfig, NrpaConfig, PolicyConfig, SpMctsConfig
from search.skat_policies.config import SkatPoliciesPlayerConfig


@dataclass
class SearchConfig:
    """The settings of all players; the group ``search`` of ``conf/``."""

    argmax_val: ArgmaxValConfig = field(default_factory=ArgmaxValConfig)
    imitation: ImitationConfig = field(default_factory=ImitationConfig)
    go_mcts: GoMctsConfig = field(default_factory=GoMctsConfig)
    pimc: PimcConfig = field(default_factory=PimcConfig)
    is_mcts: IsMctsConfig = field(default_factory=IsMctsConfig)
    alphahearts: AlphaHeartsConfig = field(default_factory=AlphaHeartsConfig)
    q_values: QValuesConfig = field(default_factory=QValuesConfig)
    mcts: MctsConfig = field(default_factory=MctsConfig)
    sp_mcts: SpMctsConfig = field(default_factory=SpMctsConfig)
    nrpa: NrpaConfig = field(default_factory=NrpaConfig)
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    mctransformer: McTransformerConfig = field(default_factory=McTransformerConfig)
    skat_rules: SkatRulesConfig = field(default_factory=SkatRulesConfig)
    hearts_complex: HeartsComplexConfig = field(default_factory=HeartsComplexConfig)
    skat_policies: SkatPoliciesPlayerConfig = field(default_factory=SkatPoliciesPlayerConfig)
    openspiel: OpenSpielConfig = field(default_factory=OpenSpielConfig)
    given: list[str] = field(default_factory=list)
    """Settings that the command or its presets give, as ``argmax_val.threshold``; filled in when they are composed
    (``cluster.composing``). The others a network may bring (``learner.model.checkpoint.read_players``)."""

    def record(self) -> dict[str, Any]:
        """All settings of all players."""
        return {name: settings for name, settings in asdict(self).items() if name != "given"}


REMOVED: Mapping[str, Mapping[str, Any]] = {
    "go_mcts": {"virtual_loss": 0.0, "prune_impossible": False, "keep_subtree": False, "selection": "uct"},
    "alphahearts": {"selection": "uct", "variance_penalty": 0.0, "candidates": 0, "beliefs": ""},
    "q_values": {"candidates": 0, "beliefs": ""},
}
"""Player -> settings that earlier versions recorded, with the defaults that they had."""


def without_removed(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """A record whose key ``search``, if any, holds all players' settings: without removed ones that have their default,
    so that it counts as today's. Others stay, and are found to differ."""
    search = recorded.get("search")
    if not isinstance(search, Mapping):
        return dict(recorded)
    known = {player: _without(search[player], gone) for player, gone in REMOVED.items() if player in search}
    return {**recorded, "search": {**search, **known}}


def _without(settings: Any, gone: Mapping[str, Any]) -> Any:
    if not isinstance(settings, Mapping):
        return settings
    return {key: value for key, value in settings.items() if key not in gone or value != gone[key]}
