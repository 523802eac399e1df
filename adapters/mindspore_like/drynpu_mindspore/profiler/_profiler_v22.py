"""``Profiler`` until 2.3: one at a time, recorded once, errors raised (mindspore_profiler.md 1)."""

from __future__ import annotations

from drynpu_mindspore.profiler._guarded import guarded
from drynpu_mindspore.profiler._profiling import Profiling
from drynpu_mindspore.profiler._schedule import always_record
from drynpu_mindspore.profiler._values import ProfilerAction


class ProfilerV22(Profiling):
    """
    The profiler of MindSpore 1.6 to 2.3, with the keywords of ``V22_DEFAULTS``.

    Raises
    ------
    RuntimeError
        Another one has been constructed and not analysed, or the keywords contradict each other.
    """

    _called = "profiler"
    _was_started = False

    def __init__(self, **kwargs: object) -> None:
        if self._session.in_use:
            raise RuntimeError("Do not init twice in the profiler.")
        self._session.in_use = True
        starts = self._prepare(kwargs)
        self._follow(always_record, shows_steps=False)
        if starts:
            self.start()

    @guarded
    def start(self) -> None:
        """
        Start recording.

        Raises
        ------
        RuntimeError
            It records, or has recorded.
        """
        if self._has_started:
            raise RuntimeError(
                "The profiler has already started. Use profiler.start() only when start_profile value is set to False."
            )
        if self._was_started:
            raise RuntimeError("MindSpore Profiling has finished, repeated start and stop actions are not supported.")
        self._has_started = self._was_started = True
        self._controller.transit(ProfilerAction.NONE, self.current_action)

    @guarded
    def stop(self) -> None:
        """
        Stop recording.

        Raises
        ------
        RuntimeError
            It does not record.
        """
        if not self._has_started:
            raise RuntimeError(
                "The profiler has not started, so can not stop. Please call the start() method before calling "
                "the stop() method."
            )
        self._has_started = False
        self._session.stop()

    @guarded
    def analyse(self) -> None:
        """Stop, and write the deliverables; another profiler can be constructed after that."""
        self._session.in_use = False
        if self._has_started:
            self.stop()
        self._session.finalize()
        self._session.analyse()
        self._session.clear()
