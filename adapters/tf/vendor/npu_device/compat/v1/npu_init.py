"""``npu_device.compat.v1.npu_init``: the names of ``npu_bridge.npu_init``, with the ``tf`` of TensorFlow 2."""

from __future__ import annotations

from npu_bridge.npu_init import *
from npu_bridge.npu_init import __all__ as __all__

import tensorflow as tf  # type: ignore[no-redef]  # noqa: F401  # isort: skip
