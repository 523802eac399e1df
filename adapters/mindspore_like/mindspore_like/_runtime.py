"""What the modules of the package share in one process: context, recorder and the profiler's surface."""

from __future__ import annotations

import atexit
import os
import sys

from attrs import frozen

from drynpu_mindspore.patching import chosen_device_id
from drynpu_mindspore.profiler import API_VARIABLE, Surface, build_surface, generation_of
from drynpu_mindspore.recording import RecordingBackend
from mindspore_like._call_capture import CallCapture
from mindspore_like._context import Context
from mindspore_like._host import LikeHost, TextLog

__all__ = ["RUNTIME", "Runtime"]


@frozen
class Runtime:
    """One process that uses the package."""

    context: Context
    recorder: CallCapture
    backend: RecordingBackend
    surface: Surface

    @classmethod
    def create(cls) -> Runtime:
        """Return a runtime that records nothing yet. Raises `OptionError` for a release without a known profiler."""
        text_log, recorder = TextLog(), CallCapture()
        context = Context(text_log, device_id=chosen_device_id())
        backend = RecordingBackend(recorder)
        generation = generation_of(os.environ.get(API_VARIABLE, ""))
        return cls(context, recorder, backend, build_surface(LikeHost(context, text_log), backend, generation))

    def finish(self) -> None:
        """Stop what still records, and show what the last run holds, unless the script is to be quiet."""
        self.surface.finish()
        if self.backend.finished:
            from drynpu.views import show_finished

            show_finished(self.backend.finished, lambda text: sys.stderr.write(f"[drynpu] {text}\n"))


RUNTIME = Runtime.create()
"""Of this process, as every class and function that a script imports belongs to it."""
os.register_at_fork(after_in_child=RUNTIME.backend.forked)
atexit.register(RUNTIME.finish)
