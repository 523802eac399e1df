"""
Run Ascend NPU profiling code where there is no NPU.

This package is the framework-neutral core. Its rooms, in the order in which they may use each other: ``platforms``,
``options``, ``plugins``, ``kernels``, ``device``, ``raw``, ``writers``, ``simulate``, ``tables``, ``analysis``,
``deliverables``, ``products``, ``recorder``, ``exporters``, ``views``, ``cli``. Import what you need from the rooms.
The names here are the errors that every room raises, the helpers that adapters and facades need, and ``open_run``.
Importing this package imports no room and no framework.
"""

from __future__ import annotations

from drynpu._collections import without_collections
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
from drynpu._guard import facade_version, find_genuine, hand_over
from drynpu._lazy import lazy_room
from drynpu._modules import modules_with, own_names
from drynpu._open import load_ipython_extension, open_run
from drynpu._plugin_choice import needs_plugin
from drynpu._printable import printable
from drynpu._progress import Listener, Stage, at_part, at_stage, listening, staged
from drynpu._say import say, say_once
from drynpu._toolkit import TOOLKIT_VARIABLES, cann_release, toolkit_folder

__version__ = "0.2.0"

__all__ = [
    "TOOLKIT_VARIABLES",
    "CaptureError",
    "ChipError",
    "CommandError",
    "DrynpuError",
    "Listener",
    "OptionError",
    "OutputError",
    "PluginError",
    "RawFormatError",
    "Stage",
    "__version__",
    "at_part",
    "at_stage",
    "cann_release",
    "facade_version",
    "find_genuine",
    "hand_over",
    "lazy_room",
    "listening",
    "load_ipython_extension",
    "modules_with",
    "needs_plugin",
    "open_run",
    "own_names",
    "printable",
    "require",
    "say",
    "say_once",
    "staged",
    "toolkit_folder",
    "without_collections",
]
