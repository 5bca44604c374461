"""The group ``search`` of ``conf/``: the settings of all players, each from its own folder."""

from dataclasses import dataclass, field

from search.alphahearts.config import AlphaHeartsConfig, QValuesConfig
from search.go_mcts.config import GoMctsConfig
from search.is_mcts.config import IsMctsConfig
from search.openspiel.config import OpenSpielConfig
from search.pimc.config import PimcConfig
from search.players.config import ArgmaxValConfig, ImitationConfig
from search.scripted.hearts.config import HeartsComplexConfig
from search.scripted.skat.config import SkatRulesConfig


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
    skat_rules: SkatRulesConfig = field(default_factory=SkatRulesConfig)
    hearts_complex: HeartsComplexConfig = field(default_factory=HeartsComplexConfig)
    openspiel: OpenSpielConfig = field(default_factory=OpenSpielConfig)
