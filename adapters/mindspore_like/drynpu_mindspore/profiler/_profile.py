"""``profile``: the profiler since 2.6 (mindspore_profiler.md 5.4)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from drynpu_mindspore.profiler._guarded import guarded
from drynpu_mindspore.profiler._profiling import Profiling
from drynpu_mindspore.profiler._schedule import always_record
from drynpu_mindspore.profiler._values import ProfilerAction


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
        experimental_config: object = None,
    ) -> None:
        # Before anything else is local: the keywords by name, as a profiler's parameters are read.
        keywords = {name: value for name, value in locals().items() if name != "self"}
        starts = self._prepare(keywords)
        chosen: Any = schedule
        if chosen and not callable(chosen):
            self._session.user_log.warning("schedule is not Callable, set by default.")
        has_schedule = bool(chosen) and callable(chosen)
        self._follow(chosen if has_schedule else always_record, shows_steps=has_schedule)
        if starts:
            self.start()

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
            self._session.user_log.error("profile is stopped, step takes no effect!")
            return
        self._advance()

    def __del__(self) -> None:
        if not self._has_started:
            return
        if sys.is_finalizing():
            self._session.user_log.warning(
                "profile is not stopped at the end of the program. The data may be incomplete."
            )
            return
        self.stop()
        self._session.user_log.warning("profile is stopped at the end of the program.")
