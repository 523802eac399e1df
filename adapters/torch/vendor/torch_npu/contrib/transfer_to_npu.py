"""The facade of ``torch_npu.contrib.transfer_to_npu``: importing it lets a CUDA script run as an NPU script."""

from __future__ import annotations

from drynpu_torch.transfer import transfer

transfer()
