"""``npu_device.configs.model_deploy_config``."""

from __future__ import annotations

from drynpu_tf.device2.options import ModelDeployConfig

__all__ = [
    "ModelDeployConfig",
]
