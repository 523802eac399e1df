"""
The pyACL adapter's hooks.

Cheap to import: nothing of the adapter is imported before a hook needs it.
"""

from __future__ import annotations

from collections.abc import Mapping

from drynpu.plugins import Facade, KernelRule, Probe, facade_folder, hookimpl


@hookimpl
def drynpu_facades() -> tuple[Facade, ...]:
    """Return the vendor's module ``acl``."""
    return (Facade(module="acl", framework="onnx", extra="onnx", folder=facade_folder(__file__)),)


_PROBE = """
import importlib.util
import acl

assert acl.init() == acl.rt.set_device(0) == 0
pointer, error = acl.rt.malloc(32, 0)
assert error == acl.rt.free(pointer) == acl.rt.reset_device(0) == acl.finalize() == 0
if importlib.util.find_spec("onnx") is None:
    print("without: models, which need pip install 'drynpu[onnx]'")
"""


@hookimpl
def drynpu_probes() -> tuple[Probe, ...]:
    """Try memory of a device; models need a package of their own."""
    return (Probe(surface="pyACL", code=_PROBE, advice="pip install --force-reinstall drynpu"),)


@hookimpl
def drynpu_kernel_rules(framework: str) -> Mapping[str, KernelRule]:
    """Return the rules for the nodes of ONNX graphs."""
    if framework != "onnx":
        return {}
    from drynpu_acl.kernels import RULES

    return RULES
