"""
Plugins: the hooks that adapters and extensions implement, and the manager that finds and calls them.

A plugin is a module (or object) whose hook functions carry :data:`hookimpl`; it registers in the entry-point group
``drynpu.adapters``. The bundled adapters register in the same way and use nothing that others could not use;
``examples/third_party_adapter`` is a complete one. The hooks are documented where they are declared, in ``_spec.py``::

    from drynpu.plugins import hookimpl

    @hookimpl
    def drynpu_chips():
        return [Path(__file__).with_name("my_chip.yaml")]
"""

from __future__ import annotations

from drynpu._plugin_choice import PLUGINS_VARIABLE, PluginChoice
from drynpu.plugins._checks import HOOKS
from drynpu.plugins._discovery import ALWAYS_LOADED
from drynpu.plugins._manager import Plugins, build_manager, from_plugins
from drynpu.plugins._markers import ENTRY_POINT_GROUP, hookimpl
from drynpu.plugins._parts import join_parts, missing_part
from drynpu.plugins._values import (
    Activation,
    BlockRecorder,
    Exporter,
    Facade,
    FacadePart,
    KernelRule,
    Probe,
    RecordedCalls,
    StandIn,
    facade_folder,
)

__all__ = [
    "ALWAYS_LOADED",
    "ENTRY_POINT_GROUP",
    "HOOKS",
    "PLUGINS_VARIABLE",
    "Activation",
    "BlockRecorder",
    "Exporter",
    "Facade",
    "FacadePart",
    "KernelRule",
    "PluginChoice",
    "Plugins",
    "Probe",
    "RecordedCalls",
    "StandIn",
    "build_manager",
    "facade_folder",
    "from_plugins",
    "hookimpl",
    "join_parts",
    "missing_part",
]
