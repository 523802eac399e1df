"""The facade of ``torch_npu.utils.cpp_extension``, for setup scripts."""

from __future__ import annotations

from drynpu_torch.services import describe_extension as NpuExtension

__all__ = ["NpuExtension"]
