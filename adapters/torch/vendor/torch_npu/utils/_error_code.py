"""The facade of ``torch_npu.utils._error_code``."""

from __future__ import annotations

from drynpu_torch.device import ErrCode, dist_error, graph_error, ops_error, prof_error, pta_error

__all__ = ["ErrCode", "dist_error", "graph_error", "ops_error", "prof_error", "pta_error"]
