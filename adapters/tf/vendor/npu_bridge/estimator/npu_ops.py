"""``npu_ops``: operators of the device."""

from __future__ import annotations

from drynpu_tf.bridge import generated as gen_npu_ops
from drynpu_tf.bridge.generated import adam_apply_one_assign, adam_apply_one_with_decay_assign, basic_lstm_cell
from drynpu_tf.bridge.generated import lars as LARS
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
    "LARS",
    "LARSV2",
    "NPUInit",
    "NPUShutdown",
    "adam_apply_one_assign",
    "adam_apply_one_with_decay_assign",
    "basic_lstm_cell",
    "dropout",
    "gen_npu_ops",
    "initialize_system",
    "npu_clear_float_status",
    "outfeed_dequeue_op",
    "outfeed_enqueue_op",
    "shutdown_system",
    "stop_outfeed_dequeue_op",
]
