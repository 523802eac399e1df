"""The facade of ``torch_npu._C``, the vendor's compiled module: the names in it that scripts import."""

from __future__ import annotations

from torch_npu._C import _distributed_c10d as _distributed_c10d
