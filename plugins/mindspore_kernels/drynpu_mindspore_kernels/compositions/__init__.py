"""Primitives that Ascend has and MindSpore's CPU build lacks, computed on the CPU as one kernel each."""

from __future__ import annotations

from drynpu_mindspore_kernels.compositions._attributes import Attributes
from drynpu_mindspore_kernels.compositions._bfloat import BFLOAT16_BITS, narrow, widen
from drynpu_mindspore_kernels.compositions._serve import COMPOSITIONS, serve_compositions

__all__ = ["BFLOAT16_BITS", "COMPOSITIONS", "Attributes", "narrow", "serve_compositions", "widen"]
