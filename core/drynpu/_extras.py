"""One message for a framework that is not installed: the extra that brings it."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def require(module: str, extra: str) -> ModuleType:
    """
    Import *module*, or say in one line which extra of drynpu brings it.

    Parameters
    ----------
    module:
        Name of the top-level module, e.g. ``"torch"``.
    extra:
        Extra of this distribution that installs it, e.g. ``"torch"``.

    Returns
    -------
    ModuleType
        The imported module.

    Raises
    ------
    ImportError
        The module is not installed. An installed module that fails while it is imported keeps its own error.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
    raise ModuleNotFoundError(f"{module} is not installed; install it with: pip install 'drynpu[{extra}]'", name=module)
