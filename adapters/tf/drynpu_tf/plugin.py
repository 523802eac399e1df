"""
The TensorFlow adapter's hooks.

Cheap to import: neither TensorFlow nor anything of the adapter is imported before a hook needs it.
"""

from __future__ import annotations

from collections.abc import Mapping

from drynpu.plugins import Activation, Facade, KernelRule, Probe, facade_folder, hookimpl


@hookimpl
def drynpu_facades() -> tuple[Facade, ...]:
    """Return the vendor's modules: ``npu_bridge`` (TensorFlow 1), ``npu_device`` (2), ``hccl`` (ranks, for both)."""
    return tuple(
        Facade(module=module, framework="tensorflow", extra="tf", folder=facade_folder(__file__))
        for module in ("npu_bridge", "npu_device", "hccl")
    )


_PROBE = """
import tensorflow as tf
import npu_device

npu_device.open().as_default()
ones = tf.ones((2, 2))
assert float(tf.reduce_sum(tf.matmul(ones, ones))) == 8
"""


@hookimpl
def drynpu_probes() -> tuple[Probe, ...]:
    """Try the device of TensorFlow 2."""
    advice = "pip install 'drynpu[tf]' brings the release that it works with"
    return (Probe(surface="TensorFlow", framework="tensorflow", extra="tf", code=_PROBE, advice=advice),)


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
