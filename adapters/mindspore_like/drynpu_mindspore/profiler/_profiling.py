"""The base of the profilers: state, messages, and calls into the session (mindspore_profiler.md 5)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar

from drynpu_mindspore.profiler._controller import Controller, completion
from drynpu_mindspore.profiler._guarded import guarded
from drynpu_mindspore.profiler._session import ProfilerState, Session
from drynpu_mindspore.profiler._values import ProfilerAction

if TYPE_CHECKING:
    from typing_extensions import Self


class Profiling(ABC):
    """The base of the profilers: a controller, a step counter, and metadata."""

    _session: ClassVar[Session]
    _called: ClassVar[str]
    """The name of the profiler in messages."""
    _state = ProfilerState()
    """Of an object whose construction failed; others have one each."""

    def _prepare(self, keywords: Mapping[str, object]) -> bool:
        """Read the keywords; return whether to start at once."""
        self._state = ProfilerState()
        with self._session.on_behalf_of(self._state):
            parameters = self._session.configure(keywords)
        self._controller = Controller(self._session, completion(self._session, parameters.on_trace_ready))
        self.step_num = 0
        return parameters.start_profile

    def _follow(self, schedule: Callable[[int], Any], *, shows_steps: bool) -> None:
        """Follow a schedule; with *shows_steps* each step is a range in the recording."""
        self.schedule = schedule
        self._shows_steps = shows_steps
        self.current_action = schedule(self.step_num)

    def _open_step(self) -> None:
        # Between two steps, so that the time that it takes belongs to none.
        self._session.save()
        if self._shows_steps:
            self._session.backend.open_step(self.step_num)

    def _close_step(self) -> None:
        if not self._shows_steps:
            return
        if self._session.recording:
            # A device is given its kernels in the step that calls them; the CPU computes them when it comes to it.
            self._session.settle()
        self._session.backend.close_step()

    def _begin(self) -> None:
        if self._has_started:
            self._session.user_log.warning(
                f"The {self._called} has already started. Do not turn on again in the open state."
            )
            return
        self._has_started = True
        self._controller.transit(ProfilerAction.NONE, self.current_action)
        self._open_step()

    def _advance(self) -> None:
        self._close_step()
        previous = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._controller.transit(previous, self.current_action)
        self._open_step()

    def _is_closed(self) -> bool:
        """Return whether nothing is there to stop, which is then logged."""
        if not self._has_started:
            self._session.user_log.error(
                f"The {self._called} has not started. Do not turn off again in the closed state."
            )
        return not self._has_started

    @guarded
    def start(self) -> None:
        """Start recording, or start the schedule."""
        self._begin()

    @abstractmethod
    def stop(self) -> None:
        """Stop recording."""

    @guarded
    def add_metadata(self, key: str, value: str) -> None:
        """Keep a text with the recording."""
        self._session.metadata.add(key, value)

    @guarded
    def add_metadata_json(self, key: str, value: str) -> None:
        """Keep a JSON document, given as text, with the recording."""
        self._session.metadata.add_json(key, value)

    _has_started = False

    def __enter__(self) -> Self:
        if not self._has_started:
            self.start()
        return self

    @guarded
    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._has_started:
            self.stop()
