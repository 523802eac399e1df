"""The facade of ``apex.contrib``: combined tensors; the rest of it is NVIDIA's kernels."""

from __future__ import annotations

from apex.contrib import combine_tensors

__all__ = ["combine_tensors"]
