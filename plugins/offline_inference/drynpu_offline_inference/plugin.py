"""The hooks of the plugin ``offline_inference``; the import is cheap."""

from __future__ import annotations

from drynpu.plugins import Facade, facade_folder, hookimpl


@hookimpl
def drynpu_facades() -> tuple[Facade, ...]:
    """Return the vendor's ``aclruntime``, and ``ais_bench`` that stands on it."""
    folder = facade_folder(__file__)
    return tuple(
        Facade(module=module, framework="onnx", extra="onnx", folder=folder) for module in ("aclruntime", "ais_bench")
    )
