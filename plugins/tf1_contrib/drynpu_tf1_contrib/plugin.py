"""The hooks of the plugin ``tf1_contrib``; the import is cheap."""

from __future__ import annotations

import sys

from drynpu.plugins import FacadePart, facade_folder, hookimpl


@hookimpl
def drynpu_facade_parts() -> tuple[FacadePart, ...]:
    """Add the recurrent layers to ``npu_bridge.estimator.npu``."""
    folder = facade_folder(__file__) / "npu_bridge" / "estimator" / "npu"
    return (FacadePart(package="npu_bridge.estimator.npu", folder=folder, names="_recurrent_part"),)


@hookimpl
def drynpu_activate() -> None:
    """Serve ``tf.contrib`` to a script that gets TensorFlow's v1 face; the adapter's hook has decided about that."""
    if "tensorflow" not in sys.modules:
        return
    from drynpu_tf.face import is_served
    from drynpu_tf1_contrib._finder import ContribFinder

    if is_served():
        sys.meta_path.insert(0, ContribFinder())
