"""``npu_ops``: operators of the device."""

from __future__ import annotations

from drynpu_tf.bridge.operators import (
    LARSV2,
    NPUInit,
    NPUShutdown,
    dropout,
    initialize_system,
    npu_clear_float_status,
    outfeed_dequeue_op,
    outfeed_enqueue_op,
    shutdown_system,
    stop_outfeed_dequeue_op,
)

__all__ = [
    "LARSV2",
    "NPUInit",
    "NPUShutdown",
    "dropout",
    "initialize_system",
    "npu_clear_float_status",
    "outfeed_dequeue_op",
    "outfeed_enqueue_op",
    "shutdown_system",
    "stop_outfeed_dequeue_op",
]
