"""The state behind ``torch_npu.profiler.dynamic_profile``: the steps, the edits of the file, and the recording."""

from __future__ import annotations

import atexit
import functools
import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from attrs import define, evolve, field
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook

from drynpu import DrynpuError, OutputError
from drynpu.options.experimental_config import CONFIG_FILE
from drynpu.raw import write_document
from drynpu_torch import device
from drynpu_torch.profiler._analyse import tensorboard_trace_handler
from drynpu_torch.profiler._messages import never_raises, print_error, print_info, print_warning
from drynpu_torch.profiler._process import check_path
from drynpu_torch.profiler._profile import profile
from drynpu_torch.profiler._schedule import schedule
from drynpu_torch.profiler.dynamic._config import (
    NEXT_STEP,
    DynamicConfig,
    parse_config,
    parse_document,
    template,
)
from drynpu_torch.profiler.dynamic._monitor import ConfigMonitor, open_log, rank_number

_MEASURED_STEP = 10
"""The file is polled once per step, as long as the step after this one takes."""


@define(eq=False)
class DynamicProfile:
    """
    Dynamic profiling of one process, with behaviour and messages of torch_npu_profiler.md 1.9.

    Attributes
    ----------
    step_number:
        Number of steps so far; the first call of :meth:`step` makes it 1.
    """

    step_number: int = 0
    _monitor: ConfigMonitor | None = None
    _log: logging.Logger = field(init=False)
    _waiting: DynamicConfig | None = None
    _running: profile | None = None
    _steps_left: int = 0
    _step_range: int = 0
    _measured_from: float = 0.0

    @_log.default
    def _silent(self) -> logging.Logger:
        """Return a log for the time before :meth:`init`, which has no file."""
        log = logging.Logger("dynamic_profile.py", logging.CRITICAL + 1)  # noqa: LOG001 - as in open_log
        log.addHandler(logging.NullHandler())
        return log

    def init(self, path: Any) -> bool:
        """Watch ``<path>/profiler_config.json``, which is written if it is missing; return whether that succeeded."""
        if self._monitor is not None:
            print_warning("Init dynamic profiling repeatedly")
            return False
        try:
            check_path(str(Path(path).expanduser()))
            directory = Path(os.path.realpath(Path(path).expanduser()))
            self._log = open_log(directory, "", "dynamic_profile.py")
            monitor_log = open_log(directory, "monitor_", "_dynamic_profiler_monitor.py")
            written = self._write_template(directory / CONFIG_FILE)
        except (OutputError, OSError, TypeError, ValueError):
            print_error(f"The path '{path}' is invalid, and profiler will not be enabled.")
            return False
        self._monitor = ConfigMonitor(directory / CONFIG_FILE, monitor_log)
        self._monitor.start(written)
        atexit.register(self.close)
        return True

    def close(self) -> None:
        """End the watch and close the log files."""
        if self._monitor is not None:
            self._monitor.stop()
            for log in (self._log, self._monitor.log):
                for handler in log.handlers:
                    handler.close()

    def step(self) -> None:
        """Count a step, and begin, continue or end a recording."""
        self.step_number += 1
        if self._running is not None:
            self._advance(self._running)
        elif self._waiting is not None or (self._monitor is not None and self._monitor.offered):
            self._pick_up()
        if self.step_number in (_MEASURED_STEP, _MEASURED_STEP + 1):
            self._measure()

    def start(self, config_path: Any = None) -> None:
        """Begin a recording now, with the given file, else with the file that is watched."""
        if self._running is not None:
            self._error("Profiler already started. Cannot call start interface while the profiler is active. ")
            return
        chosen = self._monitor.path if self._monitor is not None else None
        if config_path:
            reason = _unreadable(config_path)
            if reason:
                self._error(f"The provided config_path is invalid: {config_path}. Details: {reason}")
            else:
                chosen = Path(config_path).expanduser()
        print_info(f"The start interface profiler enable config path is set to {chosen}")
        try:
            document = parse_document(chosen.read_bytes()) if chosen is not None else None
        except (OSError, ValueError, RecursionError):
            document = None
        if document is None:
            self._error(f"Failed to read config from : {chosen}. Please check the config file. ")
        elif not document:
            self._error(f"The config data is empty from: {chosen}. Please check the config file. ")
        else:
            self._begin(parse_config(document, self._log))

    def set_state(self, state: object) -> None:
        """Set the number of steps so far, for training that continues from a checkpoint."""
        if not isinstance(state, Mapping):
            self._error("Dynamic profiler state_step must be dict.")
            return
        number = state.get("cur_step")
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            self._error("Dynamic profiler cur_step must be a non-negative integer.")
            return
        self.step_number = number

    def _write_template(self, path: Path) -> str | None:
        """Write the file where there is none, and return what was written."""
        if path.exists():
            return None
        text = template()
        write_document(path, text)
        self._log.info("Create profiler_config.json default.")
        return text

    def _measure(self) -> None:
        if self._monitor is None:
            return
        if self.step_number == _MEASURED_STEP:
            self._measured_from = time.monotonic()
        elif self._measured_from:
            interval = self._monitor.set_interval(time.monotonic() - self._measured_from)
            self._log.info("Dynamic profiling monitor process poll interval time change to %ds", interval)

    def _pick_up(self) -> None:
        """Read the newest edit, and begin a recording if this is its first step."""
        if self._monitor is not None and self._monitor.offered:
            self._waiting = self._for_this_rank(parse_config(self._monitor.offered.popleft(), self._log))
        waiting = self._waiting
        if waiting is None:
            return
        if waiting.start_step in (NEXT_STEP, self.step_number):
            self._waiting = None
            self._begin(waiting)
        elif waiting.start_step < self.step_number:
            self._waiting = None
            self._warn(
                f"Dynamic Profiler config is not effective. The start_step={waiting.start_step}, "
                f"current_step={self.step_number}"
            )
            self._log.info("A start_step of -1 records from the next step on, a later number from that step on.")

    def _for_this_rank(self, config: DynamicConfig) -> DynamicConfig | None:
        """Return *config* with the changes for this rank, ``None`` if the rank does not record."""
        if config.ranks is None:
            return config
        rank, listed = rank_number(), set(config.ranks)
        if rank not in listed:
            self._log.warning("Rank %d not in valid rank_list %s!", rank, listed)
            return None
        if config.async_mode:
            return config
        self._log.info("Rank %d is in valid rank_list %s, profiler data analyse will be closed !", rank, listed)
        return evolve(config, analyse=False)

    def _begin(self, config: DynamicConfig) -> None:
        running = profile(
            schedule=schedule(wait=0, warmup=config.warmup, active=config.active, repeat=1, skip_first=0),
            on_trace_ready=tensorboard_trace_handler(
                config.prof_dir, analyse_flag=config.analyse, async_mode=config.async_mode
            ),
            **config.arguments,
        )
        running._number_steps_from(self.step_number)
        running.start()
        for key, value in config.metadata.items():
            running.add_metadata_json(key, value)
        self._running, self._steps_left = running, config.active + config.warmup
        self._log.info("Start Dynamic Profiler at %d step.", self.step_number)
        self._begin_range()

    def _advance(self, running: profile) -> None:
        device.npu.mstx.range_end(self._step_range)
        running.step()
        self._steps_left -= 1
        if self._steps_left:
            self._begin_range()
            return
        running.stop()
        self._running = None
        self._log.info("Stop Dynamic Profiler at %d step.", self.step_number)

    def _begin_range(self) -> None:
        """Mark the step on the current stream, if the recording has marks."""
        self._step_range = 0
        if device.state().script_marks is not None:
            self._step_range = device.npu.mstx.range_start(f"step {self.step_number}", device.npu.current_stream())

    def _warn(self, message: str) -> None:
        self._log.warning(message)
        print_warning(message)

    def _error(self, message: str) -> None:
        self._log.error(message)
        print_error(message)


def _unreadable(path: Any) -> str:
    """Return why the file cannot be read, "" if it can."""
    try:
        with Path(path).expanduser().open("rb"):
            return ""
    except (OSError, TypeError, ValueError, DrynpuError) as error:
        return str(error)


DYNAMIC = DynamicProfile()
"""The dynamic profiling of this process: the vendor's functions have no object that could hold it."""


@define(eq=False)
class _OptimizerSteps:
    """Counts a step of training whenever an optimizer has stepped more often than every other one so far."""

    most: int = 0
    counts: WeakKeyDictionary[Optimizer, int] = field(factory=WeakKeyDictionary)

    def __call__(self, optimizer: Optimizer, *_: object) -> None:
        count = self.counts.get(optimizer, 0) + 1
        self.counts[optimizer] = count
        if count > self.most:
            self.most = count
            DYNAMIC.step()


class NonIntrusiveProfile:
    """Dynamic profiling of a script without a call for it; the vendor's package calls this when it is imported."""

    @staticmethod
    def init() -> None:
        """Watch the directory that ``PROF_CONFIG_PATH`` names, if it is set; later calls change nothing."""
        path = os.environ.get("PROF_CONFIG_PATH")
        if path:
            _watch(path)


@functools.cache
@never_raises
def _watch(path: str) -> None:
    if DYNAMIC.init(path):
        register_optimizer_step_post_hook(never_raises(_OptimizerSteps().__call__))
