"""``npu_cpu_ops``: rows of embedding tables in the memory of other devices, of which there is none here."""

from __future__ import annotations

from drynpu_tf.bridge.generated import (
    embeddingrankid,
)

__all__ = [
    "embeddingrankid",
]
