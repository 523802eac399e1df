"""
Devices of TensorFlow 2 (``npu_device``): options, opening, and recording of functions, Keras and eager code.

What scripts call is in :mod:`drynpu_tf.device2.api`; it computes on the CPU, as TensorFlow does.
"""

from __future__ import annotations

from drynpu_tf.device2._device import DEVICES, Devices, NpuDeviceHandle
from drynpu_tf.device2._hooks import npu_compat_function
from drynpu_tf.device2._option_values import DeprecatedValue, NpuBaseConfig, OptionValue
from drynpu_tf.device2._options import (
    GraphMemoryOptimizeConfig,
    LogicalDeviceDeployConfig,
    MemoryConfig,
    ModelDeployConfig,
    NpuAoeConfig,
    NpuConfig,
    NpuDumpConfig,
    NpuExperimentalConfig,
    NpuMultiBranchesConfig,
    NpuProfilingConfig,
    NpuRunContextOptions,
)

__all__ = [
    "DEVICES",
    "DeprecatedValue",
    "Devices",
    "GraphMemoryOptimizeConfig",
    "LogicalDeviceDeployConfig",
    "MemoryConfig",
    "ModelDeployConfig",
    "NpuAoeConfig",
    "NpuBaseConfig",
    "NpuConfig",
    "NpuDeviceHandle",
    "NpuDumpConfig",
    "NpuExperimentalConfig",
    "NpuMultiBranchesConfig",
    "NpuProfilingConfig",
    "NpuRunContextOptions",
    "OptionValue",
    "npu_compat_function",
]
