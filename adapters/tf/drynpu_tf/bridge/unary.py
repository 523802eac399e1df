"""The generated operators (``npu_unary_ops.npu_unary_ops``, ``helper.get_gen_ops()``), as far as scripts call them."""

from __future__ import annotations
