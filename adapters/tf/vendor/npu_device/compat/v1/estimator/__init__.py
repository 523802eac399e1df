"""``npu_device.compat.v1.estimator``: the modules of ``npu_bridge.estimator`` under another name."""

from __future__ import annotations

from drynpu_tf.bridge.aliases import alias_modules

alias_modules("npu_bridge.estimator", __name__)
