"""The facade of ``torch_npu.optim``."""

from __future__ import annotations

from typing import NoReturn

from drynpu_torch.fused import (
    NpuFusedAdadelta,
    NpuFusedAdam,
    NpuFusedAdamW,
    NpuFusedOptimizerBase,
    NpuFusedRMSprop,
    NpuFusedSGD,
)


class _Refused:
    def __init__(self, *args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(
            f"torch_npu.optim.{type(self).__name__} exists in torch_npu, but drynpu does not provide it; "
            "NpuFusedAdamW and NpuFusedSGD are there, and any optimizer in plain PyTorch works"
        )


class NpuFusedLamb(_Refused): ...


class NpuFusedAdamP(_Refused): ...


class NpuFusedBertAdam(_Refused): ...


class NpuFusedRMSpropTF(_Refused): ...


__all__ = [
    "NpuFusedAdadelta",
    "NpuFusedAdam",
    "NpuFusedAdamP",
    "NpuFusedAdamW",
    "NpuFusedBertAdam",
    "NpuFusedLamb",
    "NpuFusedOptimizerBase",
    "NpuFusedRMSprop",
    "NpuFusedRMSpropTF",
    "NpuFusedSGD",
]
