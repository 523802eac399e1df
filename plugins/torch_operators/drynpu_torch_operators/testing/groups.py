"""Process groups of tests."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import torch
import torch.distributed as dist

from drynpu_torch.device import npu


class TestSkip(NamedTuple):
    """How a process says that its test is skipped."""

    exit_code: int
    message: str


TestSkip.__test__ = False  # type: ignore[attr-defined] # pytest would collect it

_NO_DEVICES = 75
TEST_SKIPS: Final = {
    "multi-npu": TestSkip(_NO_DEVICES, "Multi-NPU condition not satisfied"),
    **{f"multi-npu-{n}": TestSkip(_NO_DEVICES, f"Need at least {n} ASCEND devices") for n in range(1, 9)},
    "hccl": TestSkip(76, "c10d not compiled with HCCL support"),
    "known_issues": TestSkip(77, "Test skipped due to known issues"),
}


def init_pg(backend: str = "hccl", world_size: int = 1, rank: int = 0, file_name: str = "file://") -> None:
    """Join a group of ranks that meet in a file; with ``hccl`` each takes the device of its number."""
    if backend not in ("hccl", "gloo"):
        raise RuntimeError(f"Backend {backend} not supported!")
    if backend == "hccl" and npu.device_count() < world_size:
        raise RuntimeError(TEST_SKIPS[f"multi-npu-{world_size}"].message)
    dist.init_process_group(backend, init_method=f"file://{file_name}", world_size=world_size, rank=rank)
    if backend == "hccl":
        npu.set_device(rank)


def with_comms(func: Callable[..., Any] | None) -> Callable[..., Any]:
    """Let a method of a test case run in a group of ``world_size`` ranks."""
    if func is None:
        raise RuntimeError("Test function is None.")
    method = func

    @functools.wraps(method)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> None:
        backend = "hccl" if npu.is_available() and npu.device_count() >= self.world_size else "gloo"
        init_pg(backend, self.world_size, self.rank, self.file_name)
        torch.manual_seed(0)
        method(self, *args, **kwargs)
        self.destroy_pg()

    return wrapper
