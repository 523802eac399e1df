"""The parts that a recording can do without: what fails while one is gathered costs that part and nothing else."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TypeVar

from attrs import define, field

from drynpu import DrynpuError, say

V = TypeVar("V")


@define
class OptionalParts:
    """
    Gathers parts of one recording, and names those that are lost.

    Whatever a script has put into its process may raise while it is looked at. What a recording cannot do without, its
    operators, is not gathered here.

    Attributes
    ----------
    warn:
        Shows a line to the user, once for each part.
    lost:
        The same lines, for the metadata of the recording.
    """

    warn: Callable[[str], object] = say
    lost: list[str] = field(factory=list)
    _parts: set[str] = field(factory=set)

    def gather(self, part: str, build: Callable[[], V], instead: V) -> V:
        """Return what *build* returns, and *instead* where it raises; *part* says what the recording then lacks."""
        try:
            return build()
        except Exception as error:  # noqa: BLE001 - see the class: whatever it is, the recording goes on
            self._lose(part, error)
            return instead

    @contextlib.contextmanager
    def during(self, part: str, begin: Callable[[], AbstractContextManager[V]], instead: V) -> Iterator[V]:
        """Enter what *begin* returns for as long as this is entered; neither its start nor its end raises."""
        stack = contextlib.ExitStack()
        value = self.gather(part, lambda: stack.enter_context(begin()), instead)
        try:
            yield value
        except BaseException as error:
            raised = error
            self.gather(part, lambda: stack.__exit__(type(raised), raised, raised.__traceback__), None)
            raise
        self.gather(part, stack.close, None)

    def _lose(self, part: str, error: Exception) -> None:
        if part in self._parts:
            return
        self._parts.add(part)
        reason = str(error) if isinstance(error, DrynpuError) else repr(error)
        line = f"{part} cannot be recorded, everything else is: {reason}"
        self.lost.append(line)
        self.warn(line)
