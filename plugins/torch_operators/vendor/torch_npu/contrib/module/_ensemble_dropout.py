"""The facade of ``torch_npu.contrib.module._ensemble_dropout``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.dropouts import NpuPreGenDropout
from drynpu_torch_operators.contrib.dropouts import PreGenDropoutTask as _PreGenDropoutTask

__all__ = ["NpuPreGenDropout", "_PreGenDropoutTask"]
