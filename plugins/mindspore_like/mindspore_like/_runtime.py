"""What the modules of the package share in one process: context, recorder, the profiler's surface and its host."""

from __future__ import annotations

import os

from attrs import frozen

from drynpu_mindspore.patching import chosen_device_id
from drynpu_mindspore.profiler import API_VARIABLE, Log, Surface, build_surface, generation_of
from drynpu_mindspore.recording import RecordingBackend
from mindspore_like import log as _log
from mindspore_like._call_capture import CallCapture
from mindspore_like._callback import Callback
from mindspore_like._context import Context

__version__ = "2.7.2"
"""The release of MindSpore whose surface this is; what ``profiler_info`` shows as its version."""


class Stream:
    """A stream of the device, for marks; operators here are reported in order, whatever the stream."""


@frozen
class LikeHost:
    """See ``drynpu_mindspore.profiler.Host``."""

    context: Context

    log: Log = _log
    """The log ``ME``."""

    @property
    def callback_base(self) -> type:
        """``mindspore.train.Callback``."""
        return Callback

    @property
    def stream_class(self) -> type:
        """The class of streams that marks take."""
        return Stream

    @property
    def version(self) -> str:
        """The release whose surface this is."""
        return __version__

    def device_target(self) -> str:
        """Return the device that the script chose."""
        return self.context.device_target

    def device_id(self) -> int:
        """Return the device's number."""
        return self.context.device_id

    def jit_level(self) -> str:
        """Return the level that the script set."""
        return self.context.jit_level

    def synchronize(self) -> None:
        """Do nothing: NumPy has computed when it returns."""


@frozen
class Runtime:
    """One process that uses the package."""

    context: Context
    recorder: CallCapture
    surface: Surface

    @classmethod
    def create(cls) -> Runtime:
        """Return a runtime that records nothing yet. Raises `OptionError` for a release without a known profiler."""
        generation = generation_of(os.environ.get(API_VARIABLE, ""))
        context, recorder = Context(device_id=chosen_device_id()), CallCapture()
        backend = RecordingBackend(recorder)
        surface = build_surface(LikeHost(context), backend, generation)
        backend.finish_at_exit(surface.finish)
        return cls(context, recorder, surface)


RUNTIME = Runtime.create()
"""Of this process, as every class and function that a script imports belongs to it."""
