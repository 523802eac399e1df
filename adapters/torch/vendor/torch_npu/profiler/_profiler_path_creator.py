"""``torch_npu.profiler._profiler_path_creator``: imported by handlers that users write after the vendor's FAQ."""

from __future__ import annotations

from drynpu_torch.profiler import ProfPathCreator

__all__ = ["ProfPathCreator"]
