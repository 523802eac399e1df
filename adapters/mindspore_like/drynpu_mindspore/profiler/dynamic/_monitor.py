"""The monitor: looks at the file between steps, and drives a profiler (mindspore_profiler.md 7)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar

from drynpu_mindspore.profiler._guarded import caught, guarded
from drynpu_mindspore.profiler._host import UserLog
from drynpu_mindspore.profiler._profile import Profile
from drynpu_mindspore.profiler._schedule import Schedule
from drynpu_mindspore.profiler._session import Session
from drynpu_mindspore.profiler._values import _ExperimentalConfig
from drynpu_mindspore.profiler.dynamic._config import DynamicOptions
from drynpu_mindspore.profiler.dynamic._file import ConfigFile

_OUTPUT = "./dyn_profile_data"
_POLL_S = 2
_DAEMON_VARIABLE = "MSMONITOR_USE_DAEMON"
_NO_DAEMON = "MSMONITOR_USE_DAEMON is set, but drynpu has no dynolog daemon; nothing is profiled dynamically."

_NO_WINDOW = (-1, -1)


class DynamicMonitor:
    """
    Starts and stops a profiler as a JSON file says, as a callback of ``Model.train`` or by `step`.

    Parameters
    ----------
    cfg_path:
        Folder of ``profiler_config.json``; rank 0 writes one that starts nothing where there is none.
    output_path:
        Folder of the runs, each in ``rank<R>_start<S>_stop<E>``.
    poll_interval:
        Least time in seconds between two looks at the file. The vendor looks from a process of its own; here the
        training loop does, between two steps.

    Raises
    ------
    TypeError
        *cfg_path* is no text.
    """

    _session: ClassVar[Session]
    _make_profile: ClassVar[Callable[..., Profile]]
    _make_handler: ClassVar[Callable[..., Any]]
    _make_schedule: ClassVar[Callable[..., Schedule]]

    def __init__(
        self, cfg_path: object = None, output_path: object = _OUTPUT, poll_interval: object = _POLL_S, **kwargs: object
    ) -> None:
        super().__init__()
        del kwargs
        user_log = self._session.user_log
        rank = os.environ.get("RANK_ID", "0")
        self._rank = int(rank) if rank.isdigit() else 0
        self._profiler: Profile | None = None
        self._recorded = _NO_WINDOW
        """First and last step of the recording that was begun last."""
        self._is_started = False
        self._steps = 0
        self._file: ConfigFile | None = None
        if _asks_for_daemon(user_log):
            if cfg_path is not None:
                user_log.warning(f"If you export '{_DAEMON_VARIABLE}=1', your 'cfg_path' parameter will be invalid!")
            user_log.warning(_NO_DAEMON)
            return
        if not isinstance(cfg_path, str):
            raise TypeError(f"If you set '{_DAEMON_VARIABLE}' to not 1, The cfg_path must be a string.")
        if not isinstance(output_path, str):
            user_log.warning(
                f"The output_path must be a string, but got type {type(output_path)}, it will be set to '{_OUTPUT}'."
            )
            output_path = _OUTPUT
        self._output = output_path
        self._file = ConfigFile.in_folder(cfg_path, _checked_interval(poll_interval, user_log), user_log)
        caught(self._session, "_init_cfg_json", self._init_file)
        self._session.started.add(self)

    def _init_file(self) -> None:
        assert self._file is not None  # there is no daemon
        if self._rank == 0:
            self._file.write_default()
        _print(f"Init config json file: {self._file.path}")

    # As a callback.

    @guarded
    def step_begin(self, run_context: Any) -> None:
        """Begin to record, if the file says so for this step."""
        options = self._options()
        if options is None or options.start_step in (-1, self._recorded[0]):
            return
        step = run_context.original_args().cur_step_num
        first, last = self._window(options, step)
        if step != first:
            return
        if self._is_started:
            self._session.user_log.error(
                f"Dynamic profiler is already started at step {self._recorded[0]}, "
                f"please wait the first profiler finished at step {self._recorded[1]}."
            )
            return
        self._profiler = self._make_for_window(options, start_profile=False, skip_first=0)
        self._profiler.start()
        self._is_started = True
        self._recorded = first, last
        self._say_begin(first, last)

    @guarded
    def step_end(self, run_context: Any) -> None:
        """Go on to the next step; after the last step that the file asks for the run is complete."""
        options = self._options()
        if options is None or options.stop_step == -1:
            return
        if self._profiler is not None:
            self._profiler.step()
        step = run_context.original_args().cur_step_num
        if self._is_started and step == self._recorded[1]:
            self._profiler, self._is_started = None, False
            _print(f"Rank {self._rank} Dynamic profiler stop at step {step}")

    @guarded
    def on_train_end(self, run_context: Any) -> None:
        """Complete a run that training has ended before its last step."""
        del run_context
        self._finish()

    def _window(self, options: DynamicOptions, step: int) -> tuple[int, int]:
        """Return the first and the last step to record, as far as *step* is not behind them; the log hears if it is."""
        first, last = options.start_step, options.stop_step
        if first <= 0 or last <= 0:
            return _NO_WINDOW
        problem = ""
        if first > last:
            problem = f"start_step must be less than stop_step, but get start_step = {first}, stop_step = {last}"
        elif first < step and first != self._recorded[0]:
            problem = f"start_step must be greater than step_num, but get start_step = {first}, stop_step = {last}"
        if not problem:
            return first, last
        self._session.user_log.error(problem if first > last else f"{problem}, step_num = {step}")
        return _NO_WINDOW

    # In a loop of the user's.

    @guarded
    def step(self) -> None:
        """End a step of the script; the first call ends step 1, and a window begins with the step after its first."""
        self._steps += 1
        options = self._options()
        if options is None:
            return
        self._set_up(options)
        if self._profiler is not None:
            self._profiler.step()

    def _set_up(self, options: DynamicOptions) -> None:
        """Make a profiler for a window that has begun and has none yet; it records from its first `step` on."""
        first, last = options.start_step, options.stop_step
        if first < 0 or last < 0 or self._steps < first:
            return
        if self._steps > last and last != self._recorded[1]:
            self._session.user_log.warning(
                f"stop_step must be greater than step_num, but get start_step = {first}, stop_step = {last}, "
                f"step_num = {self._steps}"
            )
            return
        if self._recorded == (first, last):
            return
        self._recorded = first, last
        if first > last:
            self._profiler = None
            self._session.user_log.error(
                f"Rank {self._rank} Dynamic profiler start at step {first} and stop at step {last} must be "
                "greater than or equal to 0, and stop step should not be less than start step"
            )
            return
        self._profiler = self._make_for_window(options, start_profile=True, skip_first=1)
        self._say_begin(first, last)

    # Both.

    def _finish(self) -> None:
        """Complete the run that is under way at the end of the training, or of the process."""
        profiler, self._profiler = self._profiler, None
        if profiler is not None:
            profiler.stop()
            self._session.finalize()
            self._session.clear()
            self._session.user_log.warning(f"Rank {self._rank} Dynamic profiler stop at end of training")

    def _options(self) -> DynamicOptions | None:
        return None if self._file is None else self._file.options()

    def _make_for_window(self, options: DynamicOptions, *, start_profile: bool, skip_first: int) -> Profile:
        first, last = options.start_step, options.stop_step
        folder = self._output if options.prof_path == "./" else options.prof_path
        place = os.path.join(folder, f"rank{self._rank}_start{first}_stop{last}")  # noqa: PTH118 - shown as given
        profile = self._make_profile(
            **options.profile,
            start_profile=start_profile,
            schedule=self._make_schedule(wait=0, warmup=0, active=last - first + 1, repeat=1, skip_first=skip_first),
            on_trace_ready=self._make_handler(place, analyse_flag=options.analyses, async_mode=options.asynchronous),
            experimental_config=_ExperimentalConfig(**options.config),
        )
        _print(f"Rank {self._rank} create output path {place}")
        return profile

    def _say_begin(self, first: int, last: int) -> None:
        _print(f"Rank {self._rank} Dynamic profiler start at step {first}, will stop at step {last}")


def _asks_for_daemon(user_log: UserLog) -> bool:
    text = os.environ.get(_DAEMON_VARIABLE, "0")
    try:
        return int(text) == 1
    except ValueError:
        user_log.error(f"Environment variable '{_DAEMON_VARIABLE}' value not valid, will be set to 0 !")
        return False


def _checked_interval(value: object, user_log: UserLog) -> int:
    if not isinstance(value, int):
        user_log.error("Poll interval must be an integer, reset to 2.")
        return _POLL_S
    if value < 1:
        user_log.error("Poll interval must be greater than 1, reset to 2.")
        return _POLL_S
    return value


def _print(text: str) -> None:
    print(f"[Dynamic Profiler] {text}", flush=True)  # noqa: T201 - the vendor prints
