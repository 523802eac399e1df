"""The ``*_ascend_pt`` directories of torch_npu's profiler."""

from __future__ import annotations
