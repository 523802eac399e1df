"""Autocast of the device, and the decorators of autograd functions for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from drynpu_torch.device._state import DEVICE_TYPE, state

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(torch.autocast):  # noqa: N801
    """``torch.autocast("npu", ...)`` with the vendor's order of arguments."""

    def __init__(
        self, enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool | None = True
    ) -> None:
        super().__init__(DEVICE_TYPE, enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


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
