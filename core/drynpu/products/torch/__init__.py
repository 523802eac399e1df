"""The ``*_ascend_pt`` directories of torch_npu's profiler."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from drynpu.products._product import Product
from drynpu.products.torch._export import export_torch, requested_forms, trace_blocks
from drynpu.products.torch._framework_files import write_torch
from drynpu.products.torch._framework_tables import load_torch, torch_clock

__all__ = ["TORCH_PRODUCT", "export_torch", "requested_forms"]


def _recognise(directory: Path, info: Mapping[str, object]) -> bool:
    del info
    return directory.name.endswith("_ascend_pt")


TORCH_PRODUCT = Product(
    name="torch",
    recognise=_recognise,
    read=load_torch,
    clock=torch_clock,
    write=write_torch,
    forms=requested_forms,
    export=export_torch,
    trace=trace_blocks,
)
"""The product of PyTorch."""
