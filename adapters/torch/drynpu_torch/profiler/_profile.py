"""``torch_npu.profiler.profile`` and ``_KinetoProfile``."""

from __future__ import annotations

import atexit
import functools
import math
import os
import weakref
from collections.abc import Callable
from typing import Any

import torch

from drynpu.options.experimental_config import normalise_profile
from drynpu_torch import device
from drynpu_torch.profiler import _exports
from drynpu_torch.profiler._actions import ProfActionController
from drynpu_torch.profiler._analyse import summarise_at_exit
from drynpu_torch.profiler._interface import ProfInterface
from drynpu_torch.profiler._messages import never_raises, print_warning, show
from drynpu_torch.profiler._metadata import usable_callback
from drynpu_torch.profiler._process import PROCESS
from drynpu_torch.profiler._schedule import schedule as schedule_class
from drynpu_torch.profiler._schedule import warn_never_records, warn_nothing_recorded
from drynpu_torch.profiler._values import ProfilerAction

_STARTED = "Profiler is already started, start takes no effect!"
_NOT_STARTED = "Profiler is not started, stop takes no effect!"


def _always_record(_: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def _no_schedule() -> None:
    return None


class _KinetoProfile:
    """
    A recording that the script starts and stops, without schedule and handler; it is raw until exported.

    With the object goes the raw data that the script has exported. The vendor's removes all, also what nobody has seen.
    """

    def __init__(
        self,
        *,
        activities: Any = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        custom_trace_id_callback: Any = None,
    ) -> None:
        self.prof_if = ProfInterface(
            activities=activities,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            experimental_config=experimental_config,
            custom_trace_id_callback=custom_trace_id_callback,
            # No method of this object: a cycle would delay ``__del__``, which removes raw data.
            schedule=_no_schedule,
        )
        self._started_by = 0
        self._stop_at_exit()

    def __del__(self) -> None:
        if getattr(self, "_started_by", 0) == os.getpid():
            self.stop()
        self._discard_raw()

    def _discard_raw(self) -> None:
        if hasattr(self, "prof_if"):
            self.prof_if.discard_exported()

    @property
    def metadata(self) -> dict[str, object]:
        """Metadata added since the last recording."""
        return self.prof_if.metadata.values

    @never_raises
    def start(self) -> None:
        """Start recording."""
        if self._started_by:
            print_warning(_STARTED)
            return
        self._started_by = os.getpid()
        if not self.prof_if.enabled:
            return
        self.prof_if.raw_only = True
        self.prof_if.init_trace()
        self.prof_if.start_trace()

    @never_raises
    def stop(self) -> None:
        """Stop recording and write the raw data."""
        if not self._started_by:
            print_warning(_NOT_STARTED)
            return
        self._started_by = 0
        if not self.prof_if.enabled:
            return
        self.prof_if.stop_trace()
        self.prof_if.finalize_trace()

    @never_raises
    def add_metadata(self, key: str, value: str) -> None:
        """Add a text to profiler_metadata.json."""
        self.prof_if.metadata.add(key, value)

    @never_raises
    def add_metadata_json(self, key: str, value: str) -> None:
        """Add a JSON document, given as text, to profiler_metadata.json."""
        self.prof_if.metadata.add_json(key, value)

    @never_raises
    def export_chrome_trace(self, output_path: str) -> None:
        """Write the trace of the last recording to *output_path*, packed if that ends in ``.gz``."""
        _exports.export_chrome_trace(self.prof_if, output_path)

    @never_raises
    def export_stacks(self, output_path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the call stacks of the last recording with each operator's own time, for flame graphs."""
        _exports.export_stacks(self.prof_if, output_path, metric)

    @never_raises
    def export_memory_timeline(self, output_path: str, device: str | None = None) -> None:
        """Write memory by category over time, as a page, as sums or as single events."""
        _exports.export_memory_timeline(self.prof_if, output_path, device)

    def _stop_at_exit(self) -> None:
        """
        Have a recording that nobody stops stopped when the process ends, and no later.

        ``__del__`` of a global runs when the interpreter is being torn down, too late to write anything. The function
        that is registered first runs last, so the summary shows this recording too. Forked children do not stop it.
        """
        summarise_at_exit()
        reference = weakref.ref(self)

        def stop() -> None:
            living = reference()
            if living is not None:
                living.__del__()

        atexit.register(stop)


def _described(schedule: object) -> dict[str, int]:
    return schedule.describe() if isinstance(schedule, schedule_class) else {}


class profile(_KinetoProfile):  # noqa: N801 - the vendor's name
    """
    Record a training loop, by a schedule or from start to stop.

    Parameters, warnings and the actions between steps follow torch_npu_profiler.md 1.5 and 2. An
    ``execution_trace_observer`` observes while this records, as the one of PyTorch's own profiler does.
    """

    def __init__(
        self,
        *,
        activities: Any = None,
        schedule: Any = None,
        on_trace_ready: Any = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        custom_trace_id_callback: Any = None,
        use_cuda: Any = None,
    ) -> None:
        self._given_schedule = schedule
        arguments: dict[str, Any] = {
            "activities": activities,
            "record_shapes": record_shapes,
            "profile_memory": profile_memory,
            "with_stack": with_stack,
            "with_flops": with_flops,
            "with_modules": with_modules,
            "experimental_config": experimental_config,
            "custom_trace_id_callback": custom_trace_id_callback,
        }
        super().__init__(**arguments)
        # The vendor builds the interface a second time, so its messages appear twice (torch_npu_profiler.md 1.5). No
        # method of this object here either: a recording that runs would keep a profiler that the script has dropped.
        self.prof_if = ProfInterface(schedule=functools.partial(_described, schedule), **arguments)
        values, notices = normalise_profile(schedule=schedule, on_trace_ready=on_trace_ready, use_cuda=use_cuda)
        show(notices)
        self.schedule: Callable[[int], ProfilerAction] = values.schedule or _always_record
        self.record_steps = values.schedule is not None
        self.on_trace_ready = values.on_trace_ready
        self.execution_trace_observer = execution_trace_observer
        self.step_num = 0
        self.current_action = self.schedule(self.step_num)
        self.stopped = False
        self._marker: Any = None
        self._marker_range = 0
        self._step_offset: int | None = None
        self._recorded = False
        self._idle_until = self._next_active_step()
        if self.record_steps and not isinstance(self.schedule, schedule_class):
            warn_never_records(self.schedule)

    def __enter__(self) -> profile:
        self.start()
        return self

    @never_raises
    def __exit__(self, *_: object) -> None:
        self.stop()
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.cleanup()

    @property
    def action_controller(self) -> ProfActionController:
        """The steps between two actions. A new object each time: a cycle would delay ``__del__`` of this profiler."""
        return ProfActionController(self)

    @never_raises
    def start(self) -> None:
        """Begin with the action of the current step, 0 in a new object."""
        if self._started_by:
            print_warning(_STARTED)
            return
        self.stopped, self._started_by = False, os.getpid()
        if self.on_trace_ready is None:
            self.prof_if.raw_only = True
        self.action_controller.transit_action(ProfilerAction.NONE, self.current_action)
        self._open_step()

    @never_raises
    def stop(self) -> None:
        """End the recording at any step of the schedule, and keep the steps recorded so far."""
        if not self._started_by:
            print_warning(_NOT_STARTED)
            return
        self.stopped, self._started_by = True, 0
        self._close_step()
        self.action_controller.transit_action(self.current_action, None)
        if self.prof_if.enabled and not self._recorded:
            warn_nothing_recorded(self.schedule, self.step_num)

    @never_raises
    def step(self) -> None:
        """Begin the next step."""
        if not self._started_by:
            print_warning("Profiler is stopped, step takes no effect!")
            return
        if self._marker is not None:
            self._close_step()
        previous = self.current_action
        self.step_num += 1
        if previous is ProfilerAction.NONE and self.step_num < self._idle_until:
            return
        self.current_action = following = self.schedule(self.step_num)
        if following is ProfilerAction.NONE:
            self._idle_until = self._next_active_step()
        self.action_controller.transit_action(previous, following)
        self._open_step()

    @never_raises
    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Set the function that returns the ids of later recordings."""
        self.prof_if.trace_id_callback = usable_callback(callback)

    @never_raises
    def get_trace_id(self) -> str:
        """Return the id of the current or last recording."""
        return self.prof_if.trace_id

    @classmethod
    @never_raises
    def enable_profiler_in_child_thread(
        cls,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
    ) -> None:
        """Record the calling thread too, with the options of the profiler; the arguments are only checked."""
        flags = {name: value for name, value in locals().items() if name != "cls"}
        for name in (name for name, value in flags.items() if not isinstance(value, bool)):
            print_warning(f"{name} in enable_profiler_in_child_thread is not bool, reset it to False.")
        PROCESS.switch_child_thread(enabled=True)

    @classmethod
    @never_raises
    def disable_profiler_in_child_thread(cls) -> None:
        """Record the calling thread no longer."""
        PROCESS.switch_child_thread(enabled=False)

    def _discard_raw(self) -> None:
        """Keep the raw data, as the vendor's class does."""

    def _next_active_step(self) -> float:
        """Return the step up to which nothing happens, so that a step without an action costs one comparison."""
        if not isinstance(self.schedule, schedule_class):
            return self.step_num
        following = self.schedule.neutral().idle_until(self.step_num)
        return math.inf if following is None else following

    def _number_steps_from(self, step: int) -> None:
        """Let the names of steps count from *step*, for dynamic profiling, which sets the ranges of steps itself."""
        self._step_offset = step

    def _open_step(self) -> None:
        if self.record_steps and self.prof_if.recording:
            name = f"ProfilerStep#{self.step_num + (self._step_offset or 0)}"
            self._marker = torch.autograd.profiler.record_function(name)
            self._marker.__enter__()
            if self._step_offset is None and device.state().script_marks is not None:
                self._marker_range = device.npu.mstx.range_start(name, device.npu.current_stream())

    def _close_step(self) -> None:
        marker, self._marker = self._marker, None
        if marker is not None:
            range_id, self._marker_range = self._marker_range, 0
            device.npu.mstx.range_end(range_id)
            marker.__exit__(None, None, None)
