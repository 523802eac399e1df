"""Primitives that Ascend has and MindSpore's CPU build lacks, computed on the CPU as one kernel each."""

from __future__ import annotations

from drynpu_mindspore.compositions._serve import COMPOSITIONS, serve_compositions

__all__ = ["COMPOSITIONS", "serve_compositions"]
