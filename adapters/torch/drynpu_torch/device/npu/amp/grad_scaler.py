"""Scaling of losses on the device."""

from __future__ import annotations

from typing import Any

import torch

from drynpu_torch.device._state import DEVICE_TYPE

__all__ = ["GradScaler"]


class GradScaler(torch.amp.GradScaler):
    """
    ``torch.amp.GradScaler("npu", ...)`` with the vendor's further option.

    Parameters
    ----------
    dynamic:
        False keeps the scale and never skips a step.
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        dynamic: bool = True,
        enabled: bool = True,
    ) -> None:
        super().__init__(DEVICE_TYPE, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
        self._dynamic = dynamic

    def _maybe_opt_step(
        self, optimizer: torch.optim.Optimizer, optimizer_state: dict[str, Any], *args: Any, **kwargs: Any
    ) -> float | None:
        if self._dynamic:
            return super()._maybe_opt_step(optimizer, optimizer_state, *args, **kwargs)
        loss: float | None = optimizer.step(*args, **kwargs)
        return loss

    def update(self, new_scale: float | torch.Tensor | None = None) -> None:
        """Update the scale after a step; a static one changes only to *new_scale*."""
        if self._enabled and not self._dynamic and new_scale is None:
            new_scale = self.get_scale()
        super().update(new_scale)
