"""The hooks of the plugin ``mspti``; the import is cheap."""

from __future__ import annotations

from drynpu.plugins import Facade, facade_folder, hookimpl

_NOTE = "the vendor's, for your own code"


@hookimpl
def drynpu_facades() -> tuple[Facade, ...]:
    """Return the vendor's ``mspti`` and ``mstx``."""
    folder = facade_folder(__file__)
    return tuple(
        Facade(module=module, framework="torch", extra="torch", folder=folder, note=lambda: _NOTE)
        for module in ("mspti", "mstx")
    )
