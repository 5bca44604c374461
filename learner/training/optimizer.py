"""The optimiser of a training: AdamW, or Muon for the matrices inside the network and AdamW for the rest.

Muon (Jordan et al. 2024) makes the momentum of a weight matrix nearly orthogonal before it steps. The small networks of
the demos learn sooner with it (docs/results/networks.md, "The optimiser").
"""

from collections.abc import Sequence

import torch
from torch import nn

from learner.config import LearnerConfig
from learner.training.muon import Muon

_ADAMW = ("exp_avg", "exp_avg_sq")
_MUON = ("momentum_buffer",)


class Optimizer:
    """Steps of all parameters of a network, and the moments that a training resumes with."""

    def __init__(self, net: nn.Module, config: LearnerConfig) -> None:
        self._names = {parameter: name for name, parameter in net.named_parameters()}
        muon: list[torch.Tensor] = net.hidden_matrices() if config.optimizer == "muon" else []  # type: ignore[operator]
        hidden, decay = {id(parameter) for parameter in muon}, config.weight_decay  # Adam where there is none
        rest = [parameter for parameter in self._names if id(parameter) not in hidden]
        on_gpu = rest[0].is_cuda  # there the rate is a tensor, as steps are captured
        adamw = torch.optim.AdamW(rest, betas=config.betas, weight_decay=decay, fused=True, capturable=on_gpu)
        self._parts: list[tuple[torch.optim.Optimizer, Sequence[str]]] = [(adamw, _ADAMW)]
        if muon:
            self._parts.append((Muon(muon, weight_decay=decay), _MUON))
        for optimizer, _ in self._parts:
            optimizer.param_groups[0]["lr"] = torch.zeros((), device=rest[0].device) if on_gpu else 0.0

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for optimizer, _ in self._parts:
            optimizer.zero_grad()

    def set_rate(self, learning_rate: float) -> None:
        """Set the rate of the steps to come."""
        for optimizer, _ in self._parts:
            group = optimizer.param_groups[0]
            group["lr"] = group["lr"].fill_(learning_rate) if torch.is_tensor(group["lr"]) else learning_rate

    def step(self) -> None:
        """Follow the gradients."""
        for optimizer, _ in self._parts:
            optimizer.step()

    def moments(self, steps: int) -> dict[str, torch.Tensor]:
        """All moments after ``steps`` steps, by ``moment.parameter``; zeros before the first."""
        found: dict[str, torch.Tensor] = {}
        for optimizer, moments in self._parts:
            for parameter in optimizer.param_groups[0]["params"]:
                if not optimizer.state[parameter]:
                    step = {"step": torch.tensor(float(steps), device=parameter.device)} if moments is _ADAMW else {}
                    optimizer.state[parameter] = step | {moment: torch.zeros_like(parameter) for moment in moments}
                name = self._names[parameter]
                found |= {f"{moment}.{name}": optimizer.state[parameter][moment] for moment in moments}
        return found
