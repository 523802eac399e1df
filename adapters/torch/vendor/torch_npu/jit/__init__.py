"""The facade of ``torch_npu.jit``."""

from __future__ import annotations

import torch


def optimize(jit_mod: object) -> None:
    """Optimise a scripted module for inference; the vendor's fusion of GELU is not modelled."""
    if isinstance(jit_mod, torch.jit.ScriptModule):
        torch.jit.optimize_for_inference(jit_mod)


__all__ = ["optimize"]
