"""The facade of ``torchair.core``: what scripts take from it, the logger."""

from __future__ import annotations

from torch_npu.dynamo.torchair.core import utils

__all__ = ["utils"]
