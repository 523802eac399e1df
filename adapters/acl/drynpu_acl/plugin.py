"""
The pyACL adapter's hooks.

Cheap to import: nothing of the adapter is imported before a hook needs it.
"""

from __future__ import annotations

from pathlib import Path

import drynpu
from drynpu.plugins import Facade, hookimpl

__all__ = ["drynpu_facades"]


@hookimpl
def drynpu_facades() -> tuple[Facade, ...]:
    """Return the vendor's module ``acl``."""
    return (Facade(module="acl", framework="onnx", extra="onnx", folder=_vendor_folder()),)


def _vendor_folder() -> Path:
    """Return the folder of the facade: inside the core in a wheel, beside the adapter in a checkout."""
    installed = Path(drynpu.__file__).with_name("_vendor")
    return installed if installed.is_dir() else Path(__file__).parents[1] / "vendor"
