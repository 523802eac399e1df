"""
Which plugins ``DRYNPU_PLUGINS`` lets load.

The finder of the vendor's names asks, too, and it asks before the room ``plugins`` is there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

PLUGINS_VARIABLE = "DRYNPU_PLUGINS"


class PluginChoice(NamedTuple):
    """
    Plugins by name: some of them alone, or all but some.

    Every facade imports this module, so it does without attrs.
    """

    only: frozenset[str] | None = None
    """The plugins that load; None where nothing limits them."""
    without: frozenset[str] = frozenset()
    """Plugins that do not load in any case."""

    def allows(self, name: str) -> bool:
        """Return whether the plugin *name* may load."""
        return (self.only is None or name in self.only) and name not in self.without


def needs_plugin(name: str, plugin: str) -> str:
    """Return the line about a name that a bundled plugin serves which is not loaded."""
    reason = f"{PLUGINS_VARIABLE} switches it off, or its package is not installed"
    return f"{name!r} is served by the plugin {plugin!r}, which is off: {reason}."


def chosen_plugins(environment: Mapping[str, str] | None = None) -> PluginChoice:
    """
    Return what ``DRYNPU_PLUGINS`` says.

    ``apex,pages`` loads these two alone, an empty value none, ``-acme`` all but one. Without the variable all load.
    """
    text = (os.environ if environment is None else environment).get(PLUGINS_VARIABLE)
    if text is None:
        return PluginChoice()
    names = [name.strip() for name in text.split(",") if name.strip()]
    without = frozenset(name[1:] for name in names if name.startswith("-"))
    only = frozenset(name for name in names if not name.startswith("-"))
    return PluginChoice(None if without and not only else only, without)
