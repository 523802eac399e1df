"""``npu_device.configs.logical_device_deploy_config``."""

from __future__ import annotations

from drynpu_tf.device2.options import LogicalDeviceDeployConfig

__all__ = [
    "LogicalDeviceDeployConfig",
]
