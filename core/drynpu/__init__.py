"""
Run Ascend NPU profiling code where there is no NPU.

This package is the framework-neutral core. Its rooms, in the order in which they may use each other: ``options``,
``chips``, ``plugins``, ``kernels``, ``device``, ``raw``, ``session``, ``tables``, ``analysis``, ``export``,
``views``, ``cli``. Import what you need from the rooms; the names here are the errors that every room raises and
the two helpers that adapters and facades need. Importing this package imports no room and no framework.
"""

from __future__ import annotations

from drynpu._errors import (
    CaptureError,
    ChipError,
    CommandError,
    DrynpuError,
    OptionError,
    OutputError,
    PluginError,
    RawFormatError,
)
from drynpu._extras import require
from drynpu._guard import find_genuine, hand_over
from drynpu._open import open_run
from drynpu._say import say, say_once

__version__ = "0.1.0"

__all__ = [
    "CaptureError",
    "ChipError",
    "CommandError",
    "DrynpuError",
    "OptionError",
    "OutputError",
    "PluginError",
    "RawFormatError",
    "__version__",
    "find_genuine",
    "hand_over",
    "open_run",
    "require",
    "say",
    "say_once",
]
