"""The facade of ``torch_npu.op_plugin.atb._atb_ops``."""

from __future__ import annotations

from drynpu_torch.deferred_operators import register_operators


def _register_atb_extensions() -> None:
    """Register the operators of the transformer boost library, which the vendor loads from a library of their own."""
    register_operators()
