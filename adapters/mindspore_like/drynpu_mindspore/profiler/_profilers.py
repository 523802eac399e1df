"""``Profiler`` and ``profile``: state, messages, and the calls they lead to (mindspore_profiler.md 5)."""

from __future__ import annotations

import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar

from drynpu_mindspore.profiler._analysing import DEFAULT_PROCESSES, analyse_folder, asked
from drynpu_mindspore.profiler._controller import Controller
from drynpu_mindspore.profiler._guarded import caught, guarded
from drynpu_mindspore.profiler._handlers import completion
from drynpu_mindspore.profiler._schedule import always_record
from drynpu_mindspore.profiler._session import Session
from drynpu_mindspore.profiler._values import ProfilerAction

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Profile", "Profiler", "Profiling"]

_DEPRECATED = (
    "'mindspore.Profiler' will be deprecated and removed in a future version. "
    "Please use the api 'mindspore.profiler.profile' instead."
)


class Profiling(ABC):
    """What both profilers share: a controller, a step counter, and metadata."""

    _session: ClassVar[Session]
    _called: ClassVar[str]
    """What messages call the profiler."""

    def _prepare(self, given: Mapping[str, Any]) -> bool:
        """Take the keywords; return whether to start at once."""
        parameters = self._session.configure(given)
        self._controller = Controller(self._session, completion(self._session, parameters.on_trace_ready))
        self.step_num = 0
        return parameters.start_profile

    def _follow(self, schedule: Callable[[int], Any], *, shows_steps: bool) -> None:
        """Take a schedule; *shows_steps*: each step is a range in the recording."""
        self.schedule = schedule
        self._shows_steps = shows_steps
        self.current_action = schedule(self.step_num)

    def _open_step(self) -> None:
        if self._shows_steps:
            self._session.backend.open_step(self.step_num)

    def _close_step(self) -> None:
        if self._shows_steps:
            self._session.backend.close_step()

    def _begin(self) -> None:
        if self._has_started:
            self._session.voice.warning(
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
        """Say that there is nothing to stop, if so."""
        if not self._has_started:
            self._session.voice.error(f"The {self._called} has not started. Do not turn off again in the closed state.")
        return not self._has_started

    @abstractmethod
    def start(self) -> None:
        """Record from now on, or begin with the schedule."""

    @abstractmethod
    def stop(self) -> None:
        """Record no longer."""

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

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._has_started:
            self.stop()


class Profiler(Profiling):
    """
    The profiler that all releases have.

    Keywords are those of :class:`~drynpu_mindspore.profiler.Parameters`, in older releases those of ``_legacy``.
    """

    _called = "profiler"
    _waits_for_step = False
    """A schedule was given, and `step` has not been called."""

    def __init__(self, **kwargs: Any) -> None:
        if self._session.generation.manners.deprecated:
            self._session.voice.warning(_DEPRECATED)
        starts = self._prepare(kwargs)
        self._has_schedule = kwargs.get("schedule") is not None
        self._waits_for_step = self._has_schedule
        parameters = self._session.parameters
        scheduled = self._has_schedule and parameters is not None
        self._follow(parameters.schedule if parameters and scheduled else always_record, shows_steps=scheduled)
        self._session.started.add(self)
        if starts:
            self.start()

    @guarded
    def start(self) -> None:
        """Record from now on, or begin with the schedule."""
        self._begin()

    @guarded
    def stop(self) -> None:
        """Record no longer; with a schedule the run is complete then."""
        if self._waits_for_step:
            self._session.voice.warning("The profiler has schedule. Please use step() to collect data.")
            return
        if self._is_closed():
            return
        self._has_started = False
        self._close_step()
        if self._has_schedule:
            self._controller.transit(self.current_action, None)
        else:
            self._session.stop()
            self._session.write_metadata()

    @guarded
    def step(self) -> None:
        """Go on to the next step of the schedule."""
        if not self._has_schedule:
            self._session.voice.error("With no schedule in the Profiler, step takes no effect!")
            return
        if not self._has_started:
            self._session.voice.error("Profiler is stopped, step takes no effect!")
            return
        self._advance()
        self._waits_for_step = False

    @guarded
    def analyse(
        self, offline_path: Any = None, pretty: bool = False, step_list: list[int] | None = None, mode: str = "sync"
    ) -> None:
        """Stop, and write the deliverables; not for a profiler with a schedule, whose handler does that."""
        session = self._session
        if self._has_started:
            session.stop()
            self._has_started = False
        if self._has_schedule:
            session.voice.warning("The profiler has schedule. Please use 'on_trace_ready' to analyse data.")
            return
        if session.generation.manners.analyses_first:
            session.analyse()
            session.finalize()
            return
        if offline_path:
            session.voice.warning(
                "The parameter 'offline_path' for Profiler.analyse() is deprecated, please use "
                "Profiler.offline_analyse() instead."
            )
        session.how = asked(session.how, pretty, step_list, mode, session.voice)
        session.finalize()
        session.analyse()
        session.clear()

    @classmethod
    def offline_analyse(
        cls,
        path: str,
        pretty: bool = False,
        step_list: list[int] | None = None,
        data_simplification: bool | None = None,
    ) -> None:
        """Analyse the run that *path* is, or the runs in it; left out, the release decides on simplification."""
        session = cls._session
        if data_simplification is None:
            data_simplification = session.generation.manners.offline_simplification
        caught(
            session,
            "offline_analyse",
            lambda: analyse_folder(session, path, DEFAULT_PROCESSES, pretty, step_list, data_simplification),
        )

    @guarded
    def op_analyse(self, op_name: str | list[str], device_id: int | None = None) -> str | None:
        """
        Raise, or log: on Ascend there is no analysis of single operators.

        Raises
        ------
        RuntimeError
            Always, once *op_name* is a name or names; since 2.6 it is logged.
        TypeError
            *op_name* is neither.
        """
        del device_id
        warnings.warn(
            "mindspore.Profiler.op_analyse is deprecated and will be removed in future versions.  ", stacklevel=4
        )
        if not isinstance(op_name, (str, list)):
            raise TypeError(
                f"For 'Profiler.op_analyse()', the parameter op_name must be str or list, but got type {type(op_name)}"
            )
        raise RuntimeError("The Interface 'Profiler.op_analyse()' is not supported on Ascend currently.")

    def __del__(self) -> None:
        if self._has_started:
            self.stop()
            self._session.voice.warning("Profiler is stopped at the end of the program.")


class Profile(Profiling):
    """The profiler since 2.6: always with a handler, stepped with or without a schedule."""

    _called = "profile"

    def __init__(
        self,
        activities: Iterable[Any] | None = None,
        with_stack: bool = False,
        profile_memory: bool = False,
        data_process: bool = False,
        parallel_strategy: bool = False,
        start_profile: bool = True,
        hbm_ddr: bool = False,
        pcie: bool = False,
        sync_enable: bool = True,
        record_shapes: bool = False,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        experimental_config: Any = None,
    ) -> None:
        starts = self._prepare(
            {
                "activities": activities,
                "with_stack": with_stack,
                "profile_memory": profile_memory,
                "data_process": data_process,
                "parallel_strategy": parallel_strategy,
                "start_profile": start_profile,
                "hbm_ddr": hbm_ddr,
                "pcie": pcie,
                "sync_enable": sync_enable,
                "record_shapes": record_shapes,
                "schedule": schedule,
                "on_trace_ready": on_trace_ready,
                "experimental_config": experimental_config,
            }
        )
        given: Any = schedule
        if given and not callable(given):
            self._session.voice.warning("schedule is not Callable, set by default.")
        has_schedule = bool(given) and callable(given)
        self._follow(given if has_schedule else always_record, shows_steps=has_schedule)
        if starts:
            self.start()

    @guarded
    def start(self) -> None:
        """Begin with the schedule; without one, record from now on."""
        self._begin()

    @guarded
    def stop(self) -> None:
        """End the run and call the handler."""
        if self._is_closed():
            return
        self._has_started = False
        self._close_step()
        self._controller.transit(self.current_action, None)

    @guarded
    def step(self) -> None:
        """Go on to the next step."""
        if not self._has_started:
            self._session.voice.error("profile is stopped, step takes no effect!")
            return
        self._advance()

    def __del__(self) -> None:
        if not self._has_started:
            return
        if sys.is_finalizing():
            self._session.voice.warning("profile is not stopped at the end of the program. The data may be incomplete.")
            return
        self.stop()
        self._session.voice.warning("profile is stopped at the end of the program.")
