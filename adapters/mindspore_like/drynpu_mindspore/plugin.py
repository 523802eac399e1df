"""
The MindSpore adapter's hooks.

Cheap to import: neither MindSpore nor anything of the adapter is imported before a hook needs it.
"""

from __future__ import annotations

from collections.abc import Mapping

from drynpu.plugins import Activation, KernelRule, Probe, hookimpl


@hookimpl
def drynpu_activate(context: Activation) -> None:
    """Have ``import mindspore`` give the script an Ascend device and our profiler, with or without MindSpore."""
    del context
    from drynpu_mindspore.patching import serve_mindspore

    serve_mindspore()


_PROBE = """
import numpy as np
import mindspore as ms
from mindspore import Tensor, ops

ms.set_context(device_target="Ascend")
ones = Tensor(np.ones((2, 2), np.float32))
assert float(ops.matmul(ones, ones).sum().asnumpy()) == 8
"""


@hookimpl
def drynpu_probes() -> tuple[Probe, ...]:
    """Try an operator of MindSpore for Ascend."""
    advice = "pip install 'drynpu[mindspore]' brings the release that it works with"
    return (Probe(surface="MindSpore", framework="mindspore", extra="mindspore", code=_PROBE, advice=advice),)


@hookimpl
def drynpu_kernel_rules(framework: str) -> Mapping[str, KernelRule]:
    """Return the rules for MindSpore's primitives."""
    if framework != "mindspore":
        return {}
    from drynpu_mindspore.rules import RULES

    return RULES
