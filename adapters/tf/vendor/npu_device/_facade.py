"""Names of ``npu_device`` (TensorFlow 2): options, opening a device, and what goes with them."""

from __future__ import annotations

from npu_device import compat, configs, distribute, npu_device, ops, train

from drynpu_tf.bridge import generated as gen_npu_ops
from drynpu_tf.bridge.scopes import keep_dtype_scope, npu_recompute_scope
from drynpu_tf.device2._hooks import npu_compat_function
from drynpu_tf.device2.api import (
    global_options,
    is_inf_nan_enabled,
    npu_run_context,
    open,
    set_device_sat_mode,
    set_npu_loop_size,
)

__all__ = [
    "compat",
    "configs",
    "distribute",
    "gen_npu_ops",
    "global_options",
    "is_inf_nan_enabled",
    "keep_dtype_scope",
    "npu_compat_function",
    "npu_device",
    "npu_recompute_scope",
    "npu_run_context",
    "open",
    "ops",
    "set_device_sat_mode",
    "set_npu_loop_size",
    "train",
]
