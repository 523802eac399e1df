"""Programs over the profiler's surface, in JSON, and the machine that runs them on any implementation."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

__all__ = ["ASKED", "Machine", "decode", "plain"]

Json = Any

ASKED = ("parameters", "schedule_actions", "dynamic_file", "environment", "worker_name")
"""What programs ask of an implementation beside its classes: a function of keywords, whose answer is seen."""


def decode(value: Json, names: dict[str, Any]) -> Any:
    """Make the objects of one implementation from a value that was written for all."""
    if isinstance(value, list):
        return [decode(each, names) for each in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "enum":
        return getattr(names[content[0]], content[1])
    if kind == "tuple":
        return tuple(decode(each, names) for each in content)
    if kind in ("schedule", "_ExperimentalConfig"):
        return names[kind](**{name: decode(each, names) for name, each in content.items()})
    if kind == "actions":
        actions = [getattr(names["ProfilerAction"], each) for each in content]
        return lambda step: actions[step % len(actions)]
    assert kind == "handler"
    return names["handler"](content)


def plain(values: dict[str, Any]) -> Json:
    """Return values as texts, without the order of what the vendor keeps in sets."""
    return {
        name: sorted(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
        for name, value in sorted(values.items())
    }


class Machine:
    """
    Runs programs and returns what was seen: calls, log lines, warnings, what was raised.

    Parameters
    ----------
    names:
        The implementation's names: classes, enumerations, ``handler`` (makes an ``on_trace_ready``), ``parameters``
        (from keywords to what ``profiler_info`` would show).
    events:
        The list that the implementation's log and interface were made to write to.
    """

    def __init__(self, names: dict[str, Any], events: list[list[Json]]) -> None:
        self._names = names
        self._events = events
        self._profiler: Any = None

    def run(self, program: list[Json]) -> list[Json]:
        """Run a program from a state without a profiler, and end in one."""
        self._events.clear()
        for step in program:
            self._perform(*step)
        self._profiler = None
        return list(self._events)

    def _perform(self, verb: str, keywords: Json) -> None:
        given = {name: decode(value, self._names) for name, value in keywords.items()}
        if verb in ("Profiler", "profile"):
            self._profiler = None
            self._watch(lambda: self._construct(verb, given))
        elif verb in ASKED:
            self._watch(lambda: self._events.append([verb, self._names[verb](**given)]))
        else:
            self._watch(lambda: self._events.append(["returned", self._call(verb, given)]))

    def _construct(self, name: str, given: dict[str, Any]) -> None:
        self._profiler = self._names[name](**given)

    def _call(self, verb: str, given: dict[str, Any]) -> Json:
        returned = getattr(self._profiler, verb)(**given)
        return None if returned is None else type(returned).__name__

    def _watch(self, call: Callable[[], None]) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                call()
            except Exception as error:  # noqa: BLE001 - what is raised is compared
                self._events.append(["raised", type(error).__name__, str(error)])
        for each in caught:
            self._events.append(["warned", str(each.message)])
