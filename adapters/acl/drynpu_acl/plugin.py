"""
The pyACL adapter's hooks.

Cheap to import: nothing of the adapter is imported before a hook needs it.
"""

from __future__ import annotations

from collections.abc import Mapping

from drynpu.plugins import Facade, KernelRule, facade_folder, hookimpl


@hookimpl
def drynpu_facades() -> tuple[Facade, ...]:
    """Return the vendor's modules: ``acl``, and ``aclruntime`` that stands on it."""
    folder = facade_folder(__file__)
    return tuple(
        Facade(module=module, framework="onnx", extra="onnx", folder=folder)
        for module in ("acl", "aclruntime", "ais_bench")
    )


@hookimpl
def drynpu_kernel_rules(framework: str) -> Mapping[str, KernelRule]:
    """Return the rules for the nodes of ONNX graphs."""
    if framework != "onnx":
        return {}
    from drynpu_acl.kernels import RULES

    return RULES
