"""The facade of ``torch_npu._C``: of the vendor's compiled module, what scripts take from it by name."""

from __future__ import annotations

from torch_npu._C import _distributed_c10d as _distributed_c10d
