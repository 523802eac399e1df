"""``npu_config``: configuration classes."""

from __future__ import annotations

from drynpu_tf.bridge.config import (
    DumpConfig,
    DynamicInputConfig,
    ExperimentalConfig,
    GraphMemoryOptimizeConfig,
    MemoryConfig,
    NpuExecutePlacement,
    ProfilingConfig,
)
from drynpu_tf.bridge.init import (
    decorator_tf_session,
    set_npu_default_config,
)
from drynpu_tf.bridge.run_config import (
    NPURunConfig,
)

__all__ = [
    "DumpConfig",
    "DynamicInputConfig",
    "ExperimentalConfig",
    "GraphMemoryOptimizeConfig",
    "MemoryConfig",
    "NPURunConfig",
    "NpuExecutePlacement",
    "ProfilingConfig",
    "decorator_tf_session",
    "set_npu_default_config",
]
