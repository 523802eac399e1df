"""``npu_device.configs.multi_branches_config``."""

from __future__ import annotations

from drynpu_tf.device2.options import NpuMultiBranchesConfig

__all__ = [
    "NpuMultiBranchesConfig",
]
