"""The facade of ``torch_npu.utils.affinity``."""

from __future__ import annotations

from drynpu_torch.services import reset_thread_affinity as _reset_thread_affinity
from drynpu_torch.services import set_thread_affinity as _set_thread_affinity

__all__ = ["_reset_thread_affinity", "_set_thread_affinity"]
