"""Mixed precision: CPU autocast and scaling, under the device's names and defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from drynpu_torch.device._state import DEVICE_TYPE, state

__all__ = [
    "GradScaler",
    "autocast",
    "custom_bwd",
    "custom_fwd",
    "get_amp_supported_dtype",
    "is_bf16_supported",
]


class autocast(torch.autocast):  # noqa: N801
    """``torch.autocast("npu", ...)`` with the vendor's order of arguments."""

    def __init__(
        self, enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool | None = True
    ) -> None:
        super().__init__(DEVICE_TYPE, enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


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


def custom_fwd(fwd: Callable[..., Any] | None = None, **kwargs: Any) -> Any:
    """Decorate the forward of an autograd function: ``torch.amp.custom_fwd`` for the device."""
    return torch.amp.custom_fwd(fwd, device_type=DEVICE_TYPE, **kwargs)


def custom_bwd(bwd: Callable[..., Any]) -> Any:
    """Decorate the backward of an autograd function: ``torch.amp.custom_bwd`` for the device."""
    return torch.amp.custom_bwd(bwd, device_type=DEVICE_TYPE)


def get_amp_supported_dtype() -> list[torch.dtype]:
    """Return the dtypes that autocast can compute in."""
    return [torch.float16, torch.bfloat16]


def is_bf16_supported() -> bool:
    """Return whether the chip computes in bfloat16, as chips with separate cube and vector cores do."""
    return state().chip.split
