"""The hooks of the plugin ``offline_inference``; the import is cheap."""

from __future__ import annotations

from drynpu.plugins import Facade, FacadePart, facade_folder, hookimpl


@hookimpl
def drynpu_facades() -> tuple[Facade, ...]:
    """Return the vendor's ``aclruntime``, and ``ais_bench`` that stands on it."""
    folder = facade_folder(__file__)
    return tuple(
        Facade(module=module, framework="onnx", extra="onnx", folder=folder) for module in ("aclruntime", "ais_bench")
    )


@hookimpl
def drynpu_facade_parts() -> tuple[FacadePart, ...]:
    """Add images (``acl.media``) to ``acl``."""
    return (FacadePart(package="acl", folder=facade_folder(__file__) / "acl", names="_part"),)
