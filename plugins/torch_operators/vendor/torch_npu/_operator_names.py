"""The operators of ``torch_npu``, by name; their types stand in the stub beside this."""

from __future__ import annotations

from drynpu_torch.deferred_operators import register_operators
from drynpu_torch_operators.operators import TYPE_NUMBERS, exported

register_operators()
globals().update(exported() | TYPE_NUMBERS)

__all__ = [*exported(), *TYPE_NUMBERS]
