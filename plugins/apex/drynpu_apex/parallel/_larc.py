"""Layer-wise learning rates: LARC."""

from __future__ import annotations

from typing import Any

import torch
from torch.optim import Optimizer


class LARC:
    """
    An optimizer whose gradients are scaled for each parameter by the ratio of the norms of value and gradient.

    Parameters
    ----------
    optimizer:
        The optimizer that steps.
    trust_coefficient:
        What the ratio is multiplied with.
    clip:
        Whether the learning rate is the smaller of the local and the optimizer's, rather than their product.
    eps:
        What is added to the divisor.
    """

    def __init__(
        self, optimizer: Optimizer, trust_coefficient: float = 0.02, clip: bool = True, eps: float = 1e-8
    ) -> None:
        self.optim = optimizer
        self.trust_coefficient = trust_coefficient
        self.eps = eps
        self.clip = clip

    def __getstate__(self) -> Any:
        return self.optim.__getstate__()

    def __setstate__(self, state: Any) -> None:
        self.optim.__setstate__(state)

    def __repr__(self) -> str:
        return repr(self.optim)

    @property
    def state(self) -> Any:
        """Return the optimizer's state."""
        return self.optim.state

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """Return the optimizer's groups."""
        return self.optim.param_groups

    @param_groups.setter
    def param_groups(self, value: list[dict[str, Any]]) -> None:
        self.optim.param_groups = value

    def state_dict(self) -> dict[str, Any]:
        """Return the optimizer's state as it is saved."""
        return self.optim.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the optimizer's state."""
        self.optim.load_state_dict(state_dict)

    def zero_grad(self) -> None:
        """Clear the gradients."""
        self.optim.zero_grad()

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters to the optimizer."""
        self.optim.add_param_group(param_group)

    def step(self) -> None:
        """Scale the gradients, weight decay included, and step."""
        decays = [group.get("weight_decay", 0) for group in self.optim.param_groups]
        with torch.no_grad():
            for group, decay in zip(self.optim.param_groups, decays, strict=True):
                group["weight_decay"] = 0
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        self._scale(parameter, group["lr"], decay)
        self.optim.step()
        for group, decay in zip(self.optim.param_groups, decays, strict=True):
            group["weight_decay"] = decay

    def _scale(self, parameter: torch.Tensor, rate: float, decay: float) -> None:
        gradient = parameter.grad
        assert gradient is not None, "the caller has looked"
        value_norm, norm = torch.norm(parameter), torch.norm(gradient)
        if value_norm == 0 or norm == 0:
            return
        local = self.trust_coefficient * value_norm / (norm + value_norm * decay + self.eps)
        if self.clip:
            local = torch.clamp(local / rate, max=1)
        gradient += decay * parameter
        gradient *= local
