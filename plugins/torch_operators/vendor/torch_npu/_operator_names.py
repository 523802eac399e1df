"""The operators of ``torch_npu``, by name; their types stand in the stub beside this."""

from __future__ import annotations

from drynpu_torch_operators.operators import TYPE_NUMBERS, exported

globals().update(exported() | TYPE_NUMBERS)

__all__ = [*exported(), *TYPE_NUMBERS]
