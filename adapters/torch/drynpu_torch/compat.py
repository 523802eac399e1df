"""
What differs between the releases of PyTorch that drynpu runs with, 2.7.1 to the newest.

A difference is recognised by what a release has, not by its version, so that a release which nobody has tried is
served, too. In C++ the same is ``adapters/torch/native/compat.h``.
"""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["with_fx_traces"]


def with_fx_traces(snapshot: dict[str, Any]) -> dict[str, Any]:
    """Return a snapshot of memory whose stacks lead to places in FX graphs, where PyTorch adds these (from 2.11)."""
    augment = getattr(torch._utils, "_augment_memory_snapshot_stack_traces", None)
    return snapshot if augment is None else augment(snapshot)
