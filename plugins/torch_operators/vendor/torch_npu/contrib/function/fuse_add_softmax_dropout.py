"""The facade of ``torch_npu.contrib.function.fuse_add_softmax_dropout``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.functions import fuse_add_softmax_dropout

__all__ = ["fuse_add_softmax_dropout"]
