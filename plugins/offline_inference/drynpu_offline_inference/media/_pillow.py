"""Pillow, which decodes, encodes and scales images, where it is installed."""

from __future__ import annotations

import importlib
from types import ModuleType


class MissingPillowError(Exception):
    """Pillow is not installed."""


def pillow() -> ModuleType:
    """Return ``PIL.Image``. Raises ``MissingPillowError``."""
    try:
        return importlib.import_module("PIL.Image")
    except ImportError as error:
        raise MissingPillowError("images need Pillow: pip install 'drynpu[media]'") from error
