"""``npu_device.npu_device``: the module behind the package's first names."""

from __future__ import annotations

from drynpu_tf.bridge import generated as gen_npu_ops
from drynpu_tf.device2._device import NpuDeviceHandle
from drynpu_tf.device2._hooks import npu_compat_function
from drynpu_tf.device2.api import (
    close,
    enable_v1,
    global_npu_ctx,
    global_options,
    is_inf_nan_enabled,
    npu_run_context,
    open,
    set_device_sat_mode,
    set_npu_loop_size,
)

__all__ = [
    "NpuDeviceHandle",
    "close",
    "enable_v1",
    "gen_npu_ops",
    "global_npu_ctx",
    "global_options",
    "is_inf_nan_enabled",
    "npu_compat_function",
    "npu_run_context",
    "open",
    "set_device_sat_mode",
    "set_npu_loop_size",
]
