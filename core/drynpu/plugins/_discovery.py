"""Which plugins are installed: entry points, without importing anything they point to."""

from __future__ import annotations

import functools
import sys
from collections.abc import Collection, Iterable
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from attrs import frozen

from drynpu._errors import PluginError
from drynpu._plugin_choice import PLUGINS_VARIABLE, PluginChoice
from drynpu._spelling import did_you_mean
from drynpu.plugins._markers import ENTRY_POINT_GROUP, PROJECT

ALWAYS_LOADED = ("acl", "mindspore", "tf", "torch")
"""Names of the bundled adapters, which no variable switches off; everything else is a plugin."""


@frozen
class Candidate:
    """A plugin that is installed, imported or not."""

    name: str
    distribution: str
    """Name of the distribution that registers it."""
    entry_point: EntryPoint

    @property
    def bundled(self) -> bool:
        return self.distribution == PROJECT

    @property
    def can_be_switched_off(self) -> bool:
        return not (self.bundled and self.name in ALWAYS_LOADED)

    @property
    def is_here(self) -> bool:
        """Whether its package is: a bundled plugin may be left out of an installation, and then it is off."""
        if not (self.bundled and self.can_be_switched_off):
            return True
        return find_spec(self.entry_point.module.partition(".")[0]) is not None

    @property
    def place(self) -> str:
        """Where it comes from, for messages."""
        return f"{ENTRY_POINT_GROUP}: {self.name} = {self.entry_point.value} ({self.distribution or 'no distribution'})"


def candidates(
    names: Collection[str] | None, choice: PluginChoice, points: Iterable[EntryPoint] | None
) -> tuple[dict[str, Candidate], dict[str, Candidate]]:
    """
    Return the plugins to consider, and those that are switched off, both by name: adapters first, then bundled plugins.

    Raises
    ------
    PluginError
        An adapter is to be switched off, a name in *names* or in *choice* is not installed, or two distributions
        register the same name.
    """
    every = _installed(tuple(map(_version, sys.path))) if points is None else _sorted(points)
    _check(choice, every)
    chosen: dict[str, Candidate] = {}
    off: dict[str, Candidate] = {}
    for each in every:
        if names is not None and each.name not in names:
            continue
        if each.can_be_switched_off and not (choice.allows(each.name) and each.is_here):
            off[each.name] = each
            continue
        if each.name in chosen:
            raise PluginError(
                f"two plugins are called {each.name!r}: {chosen[each.name].place} and {each.place}; uninstall one"
            )
        chosen[each.name] = each
    for name in sorted(set(names or ()) - set(chosen)):
        raise unknown_plugin(name, [each.name for each in every], off)
    return chosen, off


def _check(choice: PluginChoice, every: Collection[Candidate]) -> None:
    fixed = sorted({each.name for each in every if not each.can_be_switched_off} & choice.without)
    if fixed:
        raise PluginError(f"{PLUGINS_VARIABLE}: {fixed[0]!r} is an adapter of drynpu; only plugins can be switched off")
    for name in sorted((choice.only or frozenset()) - {each.name for each in every}):
        known = [each.name for each in every if each.can_be_switched_off]
        raise PluginError(
            f"{PLUGINS_VARIABLE}: no plugin is called {name!r}.{did_you_mean(name, known)} "
            f"Plugins: {', '.join(known) or 'none'}"
        )


@functools.lru_cache(maxsize=1)
def _installed(folders: tuple[tuple[str, int], ...]) -> tuple[Candidate, ...]:  # noqa: ARG001 - the cache's key
    """
    Return the installed plugins, where *folders* are the folders of ``sys.path`` in their present state.

    Looking for plugins opens a file of every installed distribution, and a recording asks a dozen times.
    """
    return _sorted(entry_points(group=ENTRY_POINT_GROUP))


def _sorted(points: Iterable[EntryPoint]) -> tuple[Candidate, ...]:
    named = functools.cache(lambda distribution: distribution.name)  # which reads and parses a file each time
    every = [Candidate(point.name, named(point.dist) if point.dist else "", point) for point in points]
    return tuple(sorted(every, key=lambda each: (not each.bundled, each.can_be_switched_off, each.name)))


def _version(folder: str) -> tuple[str, int]:
    """Return a folder with its time of change (ns), which installing or removing a distribution moves on."""
    try:
        return folder, Path(folder).stat().st_mtime_ns
    except OSError:
        return folder, -1


def unknown_plugin(name: str, installed: Iterable[str], off: Iterable[str] = ()) -> PluginError:
    """Return the error for a plugin that is not there, or that is switched off."""
    if name in off:
        return PluginError(f"the plugin {name!r} is off: {PLUGINS_VARIABLE} leaves it out, or its package is not here")
    known = sorted(set(installed))
    return PluginError(
        f"no plugin is called {name!r}.{did_you_mean(name, known)} Installed: {', '.join(known) or 'none'}"
    )
