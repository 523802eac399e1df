"""Which implementations of attention PyTorch may choose: the switches equal ``torch.backends.cuda``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from attrs import define
from torch.backends import cuda

__all__ = [
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "fft_plan_cache",
    "flash_sdp_enabled",
    "math_sdp_enabled",
    "mem_efficient_sdp_enabled",
    "sdp_kernel",
]


def flash_sdp_enabled() -> bool:
    """Return whether fused attention may be chosen."""
    return bool(cuda.flash_sdp_enabled())  # type: ignore[no-untyped-call]


def enable_flash_sdp(enabled: bool) -> None:
    """Let fused attention be chosen, or not."""
    cuda.enable_flash_sdp(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Return whether attention that saves memory may be chosen."""
    return bool(cuda.mem_efficient_sdp_enabled())  # type: ignore[no-untyped-call]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Let attention that saves memory be chosen, or not."""
    cuda.enable_mem_efficient_sdp(enabled)


def math_sdp_enabled() -> bool:
    """Return whether attention of single products may be chosen."""
    return bool(cuda.math_sdp_enabled())  # type: ignore[no-untyped-call]


def enable_math_sdp(enabled: bool) -> None:
    """Let attention of single products be chosen, or not."""
    cuda.enable_math_sdp(enabled)


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True
) -> Iterator[None]:
    """Set the three switches inside a ``with`` block."""
    before = flash_sdp_enabled(), math_sdp_enabled(), mem_efficient_sdp_enabled()
    _set(enable_flash, enable_math, enable_mem_efficient)
    try:
        yield
    finally:
        _set(*before)


def _set(flash: bool, math: bool, mem_efficient: bool) -> None:
    enable_flash_sdp(flash)
    enable_math_sdp(math)
    enable_mem_efficient_sdp(mem_efficient)


@define
class _PlanCache:
    """The device's prepared Fourier transforms: a limit, which is kept, and none, as the CPU prepares each anew."""

    max_size: int = 4096
    """How many there may be; by default as for PyTorch's other devices."""

    @property
    def size(self) -> int:
        """How many there are."""
        return 0

    def clear(self) -> None:
        """Forget them."""


fft_plan_cache = _PlanCache()
