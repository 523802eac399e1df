"""The monitor: looks at the file between steps, and drives a profiler (mindspore_profiler.md 7)."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from drynpu_mindspore.profiler._config import _ExperimentalConfig
from drynpu_mindspore.profiler._profilers import Profile
from drynpu_mindspore.profiler._schedule import Schedule
from drynpu_mindspore.profiler._session import Session
from drynpu_mindspore.profiler.dynamic._config import DEFAULT_DOCUMENT, DynamicOptions, read_options

__all__ = ["DynamicMonitor"]

_FILE = "profiler_config.json"
_OUTPUT = "./dyn_profile_data"
_POLL_S = 2
_DAEMON_VARIABLE = "MSMONITOR_USE_DAEMON"
_NO_DAEMON = "MSMONITOR_USE_DAEMON is set, but drynpu has no dynolog daemon; nothing is profiled dynamically."


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
        self, cfg_path: Any = None, output_path: Any = _OUTPUT, poll_interval: Any = _POLL_S, **kwargs: Any
    ) -> None:
        super().__init__()
        del kwargs
        voice = self._session.voice
        rank = os.environ.get("RANK_ID", "0")
        self._rank = int(rank) if rank.isdigit() else 0
        self._profiler: Profile | None = None
        self._options: DynamicOptions | None = None
        self._seen: tuple[int, int] | None = None
        self._looked_s = -float("inf")
        self._steps = 0
        self._file: Path | None = None
        if os.environ.get(_DAEMON_VARIABLE) == "1":
            voice.warning(_NO_DAEMON)
            return
        if not isinstance(cfg_path, str):
            raise TypeError("If you set 'MSMONITOR_USE_DAEMON' to not 1, The cfg_path must be a string.")
        if not isinstance(output_path, str):
            voice.warning(f"The output_path must be a string, reset to {_OUTPUT}.")
            output_path = _OUTPUT
        self._output = Path(output_path).expanduser().absolute()
        self._poll_s = self._checked_interval(poll_interval)
        self._file = Path(cfg_path).expanduser().absolute() / _FILE
        self._write_default(self._file)

    def _checked_interval(self, value: Any) -> int:
        if not isinstance(value, int):
            self._session.voice.error("Poll interval must be an integer, reset to 2.")
            return _POLL_S
        if value < 1:
            self._session.voice.error("Poll interval must be greater than 1, reset to 2.")
            return _POLL_S
        return value

    def _write_default(self, file: Path) -> None:
        if self._rank != 0 or file.exists():
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(DEFAULT_DOCUMENT, indent=4), encoding="utf-8")
        _print(f"Init config json file: {file}")

    # As a callback.

    def step_begin(self, run_context: Any) -> None:
        """Begin to record, if the file says so for this step."""
        self._begin(run_context.original_args().cur_step_num, skip_first=0)

    def step_end(self, run_context: Any) -> None:
        """Go on to the next step; after the last one that was asked for the run is complete."""
        self._advance(run_context.original_args().cur_step_num)

    def on_train_end(self, run_context: Any) -> None:
        """Complete a run that training has ended before its last step."""
        del run_context
        self._finish()

    # In a loop of the user's.

    def step(self) -> None:
        """Tell that a step has ended; the first call counts as 1, and recording begins with the step after it."""
        self._steps += 1
        self._begin(self._steps, skip_first=1)
        if self._profiler is not None:
            self._advance(self._steps - 1)

    def _begin(self, step: int, *, skip_first: int) -> None:
        self._look()
        options = self._options
        if self._profiler is not None or options is None or not options.is_due(step):
            return
        folder = self._output if options.prof_path == "./" else Path(options.prof_path).expanduser().absolute()
        first, last = options.start_step, options.stop_step
        self._last = last
        handler = self._make_handler(
            str(folder / f"rank{self._rank}_start{first}_stop{last}"),
            analyse_flag=options.analyses,
            async_mode=options.asynchronous,
        )
        self._profiler = self._make_profile(
            **options.profile,
            start_profile=True,
            schedule=self._make_schedule(wait=0, warmup=0, active=last - first + 1, repeat=1, skip_first=skip_first),
            on_trace_ready=handler,
            experimental_config=_ExperimentalConfig(**options.config),
        )
        _print(f"Rank {self._rank} Dynamic profiler start at step {first}, will stop at step {last}")

    def _advance(self, step: int) -> None:
        if self._profiler is None:
            return
        self._profiler.step()
        if step >= self._last:
            self._finish()

    def _finish(self) -> None:
        profiler, self._profiler = self._profiler, None
        if profiler is not None:
            profiler.stop()
            _print(f"Rank {self._rank} Dynamic profiler stop at step {self._last}")

    def _look(self) -> None:
        """Take what the file says, if it has changed and the last look was long enough ago."""
        now_s = time.monotonic()
        if self._file is None or now_s - self._looked_s < self._poll_s:
            return
        self._looked_s = now_s
        try:
            status = self._file.stat()
            version = (status.st_mtime_ns, status.st_size)
            if version == self._seen:
                return
            document = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            self._session.voice.error(f"Failed to load {self._file}: {error}")
            return
        self._seen = version
        self._options = read_options(document, self._session.voice) if isinstance(document, dict) else None


def _print(text: str) -> None:
    print(f"[Dynamic Profiler] {text}", flush=True)  # noqa: T201 - the vendor prints
