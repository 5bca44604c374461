"""The group ``search`` of ``conf/``: the settings of all players, each from its own folder."""

from dataclasses import asdict, dataclass, field
from typing import Any

from search.alphahearts.config import AlphaHeartsConfig, QValuesConfig
from search.go_mcts.config import GoMctsConfig
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
