"""The facade of ``torch_npu.atb``: operators of the Ascend transformer boost library."""

from __future__ import annotations

from drynpu_torch_operators.operators import boost_library

globals().update(boost_library())

__all__ = [*boost_library()]
