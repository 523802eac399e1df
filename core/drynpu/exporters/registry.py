"""The exporters that ``drynpu export`` knows: the core's, and what plugins add."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from drynpu.exporters.chrome import export_chrome
from drynpu.plugins import Exporter, Plugins

CORE_EXPORTERS: Mapping[str, Exporter] = MappingProxyType({"chrome": export_chrome})
"""Exporters that no plugin replaces, by the names that ``drynpu export --to`` takes."""


def all_exporters(plugins: Plugins) -> dict[str, Exporter]:
    """
    Return the core's exporters, then the exporters of *plugins*, by name.

    Raises
    ------
    PluginError
        A plugin has an exporter whose name is taken.
    """
    return {**CORE_EXPORTERS, **plugins.exporters(reserved=CORE_EXPORTERS)}
