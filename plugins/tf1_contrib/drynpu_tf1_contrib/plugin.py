"""The hooks of the plugin ``tf1_contrib``; the import is cheap."""

from __future__ import annotations

import sys

from drynpu.plugins import hookimpl


@hookimpl
def drynpu_activate() -> None:
    """Serve ``tf.contrib`` to a script that gets TensorFlow's v1 face; the adapter's hook has decided about that."""
    if "tensorflow" not in sys.modules:
        return
    from drynpu_tf.face import is_served
    from drynpu_tf1_contrib._finder import ContribFinder

    if is_served():
        sys.meta_path.insert(0, ContribFinder())
