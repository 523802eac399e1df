"""The facade of ``torch_npu.testing``; importing it lets PyTorch's device-generic tests run on the npu."""

from __future__ import annotations

from drynpu_torch_operators.testing.generic import choose_npu

choose_npu()

__all__: list[str] = []
