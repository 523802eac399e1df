"""What is checked about a plugin when it is registered: a hook that nobody would ever call is an error."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from drynpu._errors import PluginError
from drynpu._spelling import did_you_mean
from drynpu.plugins import _spec
from drynpu.plugins._markers import PROJECT

HOOKS: tuple[str, ...] = tuple(_spec.__all__)
"""Names of all hooks."""


def check_hooks(plugin: object, place: str) -> None:
    """
    Check the names and markers of a plugin's hook functions.

    A function counts as one if it carries the hook marker or is called ``drynpu_*``.

    Raises
    ------
    PluginError
        With one line per problem: a misspelt hook, or a hook function without its marker.
    """
    problems = [f"{place}: {problem}" for problem in _problems(plugin)]
    if problems:
        raise PluginError("\n".join(problems))


def _problems(plugin: object) -> Iterator[str]:
    for name, function in inspect.getmembers(plugin, inspect.isroutine):
        options = getattr(function, f"{PROJECT}_impl", None)
        if options is None and not name.startswith(f"{PROJECT}_"):
            continue
        hook = (options or {}).get("specname") or name
        if hook not in HOOKS:
            yield f"{hook!r} is not a hook.{did_you_mean(hook, HOOKS)} Hooks: {', '.join(HOOKS)}"
        elif options is None:
            yield f"{name!r} lacks the marker @drynpu.plugins.hookimpl, so it would never be called"
