"""The facade of ``torchair.scope``: blocks that give attributes to operators of a graph."""

from __future__ import annotations

import torch

from drynpu_torch_operators.graph_backend import Scope


def npu_wait_tensor(self: torch.Tensor, dependency: torch.Tensor) -> torch.Tensor:
    return self


def npu_stream_switch(stream_tag: str, stream_priority: int = 0, enable_inner_parallel: bool = True) -> Scope:
    return Scope(stream_tag, stream_priority, enable_inner_parallel)


def super_kernel(scope: str, options: str = "") -> Scope:
    return Scope(scope, options)


def limit_core_num(op_aicore_num: int, op_vectorcore_num: int) -> Scope:
    return Scope(op_aicore_num, op_vectorcore_num)


def op_never_timeout(enable: bool = True) -> Scope:
    return Scope(enable)


__all__ = ["limit_core_num", "npu_stream_switch", "npu_wait_tensor", "op_never_timeout", "super_kernel"]
