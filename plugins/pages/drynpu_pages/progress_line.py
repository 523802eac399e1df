"""The line of a verb that takes long: stage, share, time that is left; and its end by Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from attrs import define, field

from drynpu import CommandError, Stage, listening

if TYPE_CHECKING:
    import click

_ENDED_BY_CTRL_C = 128 + signal.SIGINT
_SILENT_S, _EVERY_S = 2.0, 0.5
"""Work as short as that shows nothing, and how often the line is drawn afterwards."""
_LINES_EVERY_S = 10.0
"""How often a file gets a line, where somebody asks for progress in files."""


def show_progress(group: click.Group) -> None:
    """Let every verb of a group show where it is if it takes long, and end in one line at Ctrl-C."""
    plain = group.invoke

    def invoke(context: click.Context) -> object:
        with shown_progress():
            return plain(context)

    group.invoke = invoke  # type: ignore[assignment, method-assign]


@contextmanager
def shown_progress() -> Iterator[None]:
    """
    Show on stderr where the work in the block is, from two seconds on, and end it by one line where it is interrupted.

    A stderr that is no terminal gets nothing, unless ``DRYNPU_PROGRESS=1`` asks for it; ``0`` switches it off.

    Raises
    ------
    CommandError
        Ctrl-C was pressed; the status is 130.
    """
    wanted = os.environ.get("DRYNPU_PROGRESS", "")
    stream = sys.stderr
    line = _Line(stream, stream.isatty())
    try:
        with listening(line.hear if wanted == "1" or (line.terminal and wanted != "0") else line.keep):
            yield
    except KeyboardInterrupt:
        line.end()
        during = f" during: {line.stage.text}" if line.stage.text else ""
        text = f"cancelled{during}; what was written is whole"
        raise CommandError(text, exit_code=_ENDED_BY_CTRL_C) from None
    finally:
        line.end()


@define(eq=False)
class _Line:
    """One line on a terminal that is drawn again and again; lines one after the other elsewhere."""

    stream: TextIO
    terminal: bool
    stage: Stage = field(default=Stage(""))
    _begun_s: float = 0.0
    _stage_s: float = 0.0
    _drawn: int = 0
    """Characters that stand on the terminal now."""
    _ended: threading.Event = field(factory=threading.Event)
    _lock: threading.Lock = field(factory=threading.Lock)
    _thread: threading.Thread | None = None

    def keep(self, stage: Stage) -> None:
        """Remember a stage, and show nothing."""
        self.stage = stage

    def hear(self, stage: Stage) -> None:
        """Show a stage, if it lasts."""
        now = time.monotonic()
        with self._lock:
            if not self.stage.text:
                self._begun_s = now
            if stage.text != self.stage.text:
                self._stage_s = now
            self.stage = stage
            if not stage.text:
                self._clear()
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Take the line away."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self._clear()

    def _watch(self) -> None:
        while not self._ended.wait(_EVERY_S if self.terminal else _LINES_EVERY_S):
            with self._lock:
                if self.stage.text and time.monotonic() - self._begun_s >= _SILENT_S:
                    self._draw(progress_text(self.stage, time.monotonic() - self._stage_s))

    def _draw(self, text: str) -> None:
        if not self.terminal:
            self.stream.write(f"[drynpu] {text}\n")
        else:
            text = f"{text} - Ctrl-C cancels"[: _width(self.stream) - 1]
            self.stream.write("\r" + text.ljust(self._drawn))
            self._drawn = len(text)
        self.stream.flush()

    def _clear(self) -> None:
        if self._drawn:
            self.stream.write("\r" + " " * self._drawn + "\r")
            self.stream.flush()
            self._drawn = 0


def _width(stream: TextIO) -> int:
    return os.get_terminal_size(stream.fileno()).columns


def progress_text(stage: Stage, elapsed_s: float) -> str:
    """Return a stage in one line: what, how much of it, since when, and about how long it still takes."""
    since = f"{elapsed_s:.0f} s"
    if not stage.total:
        return f"{stage.text}, {since}"
    share = stage.done / stage.total
    rest = f", about {elapsed_s * (1 - share) / share:.0f} s left" if stage.done else ""
    return f"{stage.text}: {stage.done} of {stage.total}, {share:.0%}, {since}{rest}"
