"""Which plugins are installed: entry points, without importing anything they point to."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Collection, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from attrs import frozen

from drynpu._errors import PluginError
from drynpu._spelling import did_you_mean
from drynpu.plugins._markers import ENTRY_POINT_GROUP, PROJECT

DISABLED_VARIABLE = "DRYNPU_DISABLED_PLUGINS"


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
    def place(self) -> str:
        """Where it comes from, for messages."""
        return f"{ENTRY_POINT_GROUP}: {self.name} = {self.entry_point.value} ({self.distribution or 'no distribution'})"


def blocked_by_environment(environment: Mapping[str, str] | None = None) -> frozenset[str]:
    """Return the names in ``DRYNPU_DISABLED_PLUGINS`` (separated by commas)."""
    text = (os.environ if environment is None else environment).get(DISABLED_VARIABLE, "")
    return frozenset(name.strip() for name in text.split(",") if name.strip())


def candidates(
    names: Collection[str] | None, blocked: Collection[str], found: Iterable[EntryPoint] | None
) -> dict[str, Candidate]:
    """
    Return the plugins to consider by name: bundled ones first, then by name.

    Raises
    ------
    PluginError
        A bundled plugin is to be blocked, a name in *names* is not installed, or two distributions register the
        same name.
    """
    every = _installed(tuple(map(_version, sys.path))) if found is None else _sorted(found)
    bundled = sorted({each.name for each in every if each.bundled} & set(blocked))
    if bundled:
        raise PluginError(
            f"{DISABLED_VARIABLE}: {bundled[0]!r} is part of drynpu; only external plugins can be blocked"
        )
    chosen: dict[str, Candidate] = {}
    for each in every:
        if each.name in blocked or (names is not None and each.name not in names):
            continue
        if each.name in chosen:
            raise PluginError(
                f"two plugins are called {each.name!r}: {chosen[each.name].place} and {each.place}; uninstall one"
            )
        chosen[each.name] = each
    for name in sorted(set(names or ()) - set(chosen)):
        raise unknown_plugin(name, [each.name for each in every if each.name not in blocked])
    return chosen


@functools.lru_cache(maxsize=1)
def _installed(folders: tuple[tuple[str, int], ...]) -> tuple[Candidate, ...]:  # noqa: ARG001 - the cache's key
    """
    Return the installed plugins, where *folders* are those of ``sys.path`` in their present state.

    Looking for plugins opens a file of every installed distribution, and a recording asks a dozen times.
    """
    return _sorted(entry_points(group=ENTRY_POINT_GROUP))


def _sorted(points: Iterable[EntryPoint]) -> tuple[Candidate, ...]:
    found = [Candidate(point.name, point.dist.name if point.dist else "", point) for point in points]
    return tuple(sorted(found, key=lambda each: (not each.bundled, each.name)))


def _version(folder: str) -> tuple[str, int]:
    """Return a folder with its time of change (ns), which installing or removing a distribution moves on."""
    try:
        return folder, Path(folder).stat().st_mtime_ns
    except OSError:
        return folder, -1


def unknown_plugin(name: str, installed: Iterable[str]) -> PluginError:
    """Return the error for a plugin that is not there."""
    known = sorted(set(installed))
    return PluginError(
        f"no plugin is called {name!r}.{did_you_mean(name, known)} Installed: {', '.join(known) or 'none'}"
    )
