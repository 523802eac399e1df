"""What parsing says on the console (mindspore_profiler.md 12.1)."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from attrs import define, field

_LENGTH = 20
_BLANKS = 20
_DONE = "Done"


def begin(path: Path, *, device: bool, mode: str) -> None:
    """Print that parsing begins."""
    where = f"data in {mode} mode at: {path}" if device else f"data: {path}"
    _print(f"[{os.getpid()}] Start parsing profiling {where}\n")


def parsers(*, host: bool, device: bool, shapes: bool, text: bool) -> tuple[str, ...]:
    """Return the names of the parsers that the vendor's progress bar shows, in order."""
    if not text:
        return ("AscendMsprofParser",) if device else ()
    relation = "FrameworkCannRelationParser"
    names = ["AscendMsprofParser"] * device + ["FrameworkParser"] * host + [relation] * (host and shapes)
    return (*names, relation) if host or device else ()


@define
class Bar:
    """The progress bar: one line that is drawn again for each parser."""

    names: tuple[str, ...]
    _begun: float = field(factory=time.monotonic)
    _count: int = 0

    def show(self) -> None:
        """Draw the bar; nothing where there is nothing to parse."""
        total = len(self.names)
        if not total:
            return
        filled = round(_LENGTH * self._count / total)
        bar = "#" * filled + " " * (_LENGTH - filled)
        name = self.names[self._count] if self._count < total else _DONE
        elapsed = int(time.monotonic() - self._begun)
        line = f"[{os.getpid()}] Parsing: [{bar}] {self._count}/{total} {name} Elapsed: {elapsed}s"
        _print(f"\r{line}{' ' * _BLANKS}\r")

    def advance(self) -> None:
        """Go on to the next parser."""
        self._count = min(self._count + 1, len(self.names))
        self.show()

    def finish(self) -> None:
        """Show that all is done, and end the line."""
        self._count = len(self.names)
        self.show()
        if self.names:
            _print("\n")


def _print(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
