"""The facade of ``torch_npu.contrib``: of its modules, drynpu has ``transfer_to_npu``."""

from __future__ import annotations
