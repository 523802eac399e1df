"""The facade of ``torch_npu.testing._npu_testing_utils``: drynpu skips none of PyTorch's tests of operators."""

from __future__ import annotations

from drynpu_torch_operators.testing.generic import get_decorators, update_skip_list

__all__ = ["get_decorators", "update_skip_list"]
