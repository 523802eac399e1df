"""
The TensorFlow adapter's hooks.

Cheap to import: neither TensorFlow nor anything of the adapter is imported before a hook needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import drynpu
from drynpu.plugins import Activation, Facade, KernelRule, hookimpl


@hookimpl
def drynpu_facades() -> tuple[Facade, ...]:
    """Return the vendor's modules: ``npu_bridge`` (TensorFlow 1), ``npu_device`` (2), ``hccl`` (ranks, for both)."""
    return tuple(
        Facade(module=module, framework="tensorflow", extra="tf", folder=_vendor_folder())
        for module in ("npu_bridge", "npu_device", "hccl")
    )


@hookimpl
def drynpu_activate(context: Activation) -> None:
    """Serve ``tensorflow`` in its v1 face to a script that was written for TensorFlow 1."""
    from drynpu_tf.face import serve_script

    serve_script(context.script, context.environment)


@hookimpl
def drynpu_kernel_rules(framework: str) -> Mapping[str, KernelRule]:
    """Return the rules for TensorFlow's operators."""
    if framework != "tensorflow":
        return {}
    from drynpu_tf.rules import RULES

    return RULES


def _vendor_folder() -> Path:
    """Return the folder of the facades: inside the core in a wheel, beside the adapter in a checkout."""
    installed = Path(drynpu.__file__).with_name("_vendor")
    return installed if installed.is_dir() else Path(__file__).parents[1] / "vendor"
