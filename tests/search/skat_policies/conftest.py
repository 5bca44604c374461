"""Networks of paper 004 with random weights."""

import pytest
import torch

from learner.config import EngineConfig
from learner.model.checkpoint import save_weights
from learner.skat_policies.architecture import skat_policies_architecture
from learner.skat_policies.config import SkatPoliciesConfig
from learner.skat_policies.engine import SkatPoliciesEngine
from learner.skat_policies.kind import KIND
from learner.skat_policies.network import SkatPolicies, initialise
from tests.search.skat_policies.material import GAME


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Networks with random weights, of policies that are sure enough to have actions above 0.1."""
    net = SkatPolicies(skat_policies_architecture(GAME, SkatPoliciesConfig(hidden=[32] * 5)))
    initialise(net, 5)
    with torch.no_grad():
        for part in net.nets:
            part.layers[-1].weight.mul_(8)
    path = tmp_path_factory.mktemp("policies") / "net"
    save_weights(path, net, GAME)
    return str(path)


@pytest.fixture(scope="module")
def engine(network: str) -> SkatPoliciesEngine:
    return SkatPoliciesEngine(KIND.load(network, GAME), EngineConfig(device="cpu"))
