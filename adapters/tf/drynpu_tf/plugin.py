"""
The TensorFlow adapter's hooks.

Cheap to import: neither TensorFlow nor anything of the adapter is imported before a hook needs it.
"""

from __future__ import annotations

from collections.abc import Mapping

from drynpu.plugins import Activation, Facade, KernelRule, facade_folder, hookimpl


@hookimpl
def drynpu_facades() -> tuple[Facade, ...]:
    """Return the vendor's modules: ``npu_bridge`` (TensorFlow 1), ``npu_device`` (2), ``hccl`` (ranks, for both)."""
    return tuple(
        Facade(module=module, framework="tensorflow", extra="tf", folder=facade_folder(__file__))
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
