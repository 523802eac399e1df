"""The operators of ``torch.ops._C_ascend`` that drynpu computes; every other one is refused by its name."""

from __future__ import annotations

from drynpu_vllm_ascend.operators._table import operator_names, register

__all__ = ["operator_names", "register"]
