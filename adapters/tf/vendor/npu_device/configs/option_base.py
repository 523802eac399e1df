"""``npu_device.configs.option_base``."""

from __future__ import annotations

from drynpu_tf.device2._option_values import DeprecatedValue, NpuBaseConfig, OptionValue

__all__ = [
    "DeprecatedValue",
    "NpuBaseConfig",
    "OptionValue",
]
