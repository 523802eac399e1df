"""The state of the surface in one process: where results go, the current parameters, and the run under way."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import define, evolve, field

from drynpu import say
from drynpu.options.profiling_options import MODE_VARIABLE
from drynpu_mindspore.profiler._backend import Analysis, Backend, RunRequest
from drynpu_mindspore.profiler._directory_name import RunDirectoryName, checked_folder
from drynpu_mindspore.profiler._generation import Generation
from drynpu_mindspore.profiler._guarded import caught
from drynpu_mindspore.profiler._host import Host, UserLog
from drynpu_mindspore.profiler._legacy import normalise_v22, with_current_names
from drynpu_mindspore.profiler._metadata import Metadata
from drynpu_mindspore.profiler._parameters import Parameters, normalise
from drynpu_mindspore.profiler._schedule import Schedule
from drynpu_mindspore.profiler._values import DeviceTarget, _ExperimentalConfig

_OLD_INDENT = 4
"""Spaces by which ``profiler_metadata.json`` is indented until 2.5; later it is one line."""
_MODE_SET = "The environment variable 'PROFILING_MODE' has been set.Please execute 'unset PROFILING_MODE'."


@define(eq=False)
class ProfilerState:
    """
    The state of one profiler.

    Attributes
    ----------
    parameters, is_set_schedule, folder:
        As it was constructed; the folder is the absolute one of its runs.
    how:
        How its runs are analysed.
    run:
        Its current run directory; ``None`` when not initialised.
    recording:
        Whether the backend has been started and not stopped.
    refused:
        The environment forbids to record on the current run's device.
    held:
        What the backend has of the run, while another profiler is at it.
    """

    parameters: Parameters | None = None
    is_set_schedule: bool = False
    folder: Path = field(factory=Path)
    how: Analysis = field(factory=Analysis)
    run: Path | None = None
    recording: bool = False
    refused: bool = False
    held: object = None


@define
class Session:
    """
    The process-wide side of the profilers of one surface (mindspore_profiler.md 5.2, 5.6).

    Several profilers share it, as the vendor's share their interface, and each has its own state: what one leaves does
    not go into the run directory of the next one. One of them records at a time.

    Attributes
    ----------
    host, backend, generation:
        The framework served, what records, and the release whose behaviour holds.
    schedule_class:
        ``schedule`` of this surface.
    place:
        Where handlers have run directories go.
    current:
        The state of the profiler whose methods are under way, else of the one that records, else of the last one.
    in_use:
        Releases until 2.3: a profiler was constructed and not yet analysed.
    depth, failure:
        How many of the surface's calls are under way, one in another, and what the outermost has to raise.
    metadata:
        What the script added and no file holds yet.
    started:
        Profilers that the end of the process stops, if nobody has done so before.
    """

    host: Host
    backend: Backend
    generation: Generation
    schedule_class: type[Schedule]
    user_log: UserLog
    place: RunDirectoryName
    current: ProfilerState = field(factory=ProfilerState)
    in_use: bool = False
    depth: int = 0
    failure: Exception | None = None
    metadata: Metadata = field(init=False)
    started: weakref.WeakSet[Any] = field(factory=weakref.WeakSet)
    _outer: ProfilerState | None = None
    _lock: threading.RLock = field(factory=threading.RLock)

    def __attrs_post_init__(self) -> None:
        self.metadata = Metadata(self.user_log)

    @contextmanager
    def on_behalf_of(self, profiler: ProfilerState | None) -> Iterator[None]:
        """Have what follows concern a profiler, or none; another one that records goes on, unless this one starts."""
        with self._lock:
            if profiler is None or self.current is profiler:
                yield
                return
            before, self._outer = self._outer, self._exchange(profiler)
            try:
                yield
            finally:
                outer, self._outer = self._outer, before
                if outer.run is not None and not profiler.recording:
                    self._exchange(outer)

    def _exchange(self, profiler: ProfilerState) -> ProfilerState:
        """Make a profiler the current one, and return the one before."""
        before, self.current = self.current, profiler
        before.held = self.backend.exchange(profiler.held)
        return before

    def _end_other(self) -> None:
        """End what another profiler records, which its own `analyse` can still analyse."""
        other = self._outer
        if other is None or not other.recording:
            return
        starting = self._exchange(other)
        try:
            self.stop()
            self.finalize()
        finally:
            self._exchange(starting)
        say(f"another profiler starts, so the recording of the one before ends here: {other.run}")

    def configure(self, keywords: Mapping[str, object]) -> Parameters:
        """
        Take the keywords of a new profiler.

        Raises
        ------
        RuntimeError
            The script runs on a device that no profiler is made for; releases until 2.3: also when keywords
            contradict each other.
        OutputError
            ``output_path`` cannot be a folder.
        """
        self.backend.prepare()
        # What one profiler's `analyse` was told is not what the next one's handler is told.
        self.current.how = Analysis()
        device_target = self.host.device_target()
        if device_target not in {each.value for each in DeviceTarget}:
            raise RuntimeError(f"Profiling: unsupported backend: {device_target}")
        keywords = self.place.with_folder(keywords)
        if self.generation is Generation.V22:
            parameters = normalise_v22(keywords, self.user_log)
            self.current.is_set_schedule = False
        else:
            flat = self._with_config(with_current_names(keywords, self.generation))
            parameters = normalise(flat, self.user_log, self._default_schedule)
            self.current.is_set_schedule = isinstance(keywords.get("schedule"), Schedule)
        self.current.folder = checked_folder(parameters.output_path)
        self.current.parameters = parameters
        self.backend.configured(self._request(parameters))
        return parameters

    def _default_schedule(self) -> Schedule:
        return self.schedule_class(wait=0, active=1)

    def _with_config(self, keywords: Mapping[str, object]) -> dict[str, Any]:
        """Spread the experimental config over the keywords."""
        flat = {name: value for name, value in keywords.items() if name != "experimental_config"}
        config = keywords.get("experimental_config")
        if isinstance(config, _ExperimentalConfig):
            return {**flat, **config.describe()}
        if config is not None:
            self.user_log.warning(
                "For Profiler, experimental_config value must be the 'mindspore.profiler._ExperimentalConfig' class, "
                "reset to default value."
            )
        return flat

    # The vendor's interface, verb by verb.

    def init(self) -> None:
        """Make a run directory, unless there is one."""
        if self.current.run is not None or self.current.parameters is None:
            return
        self.current.refused = MODE_VARIABLE in os.environ and self.host.device_target() == DeviceTarget.NPU.value
        if self.current.refused:
            self.user_log.error(_MODE_SET)
        self.current.run = self.backend.init(self._request(self.current.parameters))

    def _request(self, parameters: Parameters) -> RunRequest:
        return RunRequest(
            folder=self.current.folder,
            worker_name=self.place.worker_name,
            parameters=parameters,
            is_set_schedule=self.current.is_set_schedule,
            rank_id=_digits(os.environ.get("RANK_ID", "0")),
            device_id=str(self.host.device_id()),
            jit_level=self.host.jit_level(),
            framework_version=self.host.version,
            device_target=self.host.device_target(),
        )

    def usual_request(self) -> RunRequest:
        """Return what a profiler with the default parameters would record."""
        parameters = Parameters(schedule=self.schedule_class.unsaid_default())
        return evolve(self._request(parameters), is_set_schedule=False)

    def start(self) -> None:
        """Start recording."""
        if not self._ready("start") or self.current.refused:
            return
        # What was called before the start must not run inside the recording.
        self.settle()
        self._end_other()
        self.backend.start()
        self.current.recording = True

    def stop(self) -> None:
        """Stop recording, after every operator has run."""
        if not self._ready("stop"):
            return
        self.settle()
        if self.current.recording:
            self.current.recording = False
            self.backend.stop()

    def analyse(self, **changes: object) -> None:
        """Analyse the run; *changes* are fields of `Analysis` that differ from what was set."""
        if self._ready("analyse") and not self.current.refused:
            asynchronous = changes.get("async_mode", self.current.how.asynchronous)
            how = evolve(self.current.how, asynchronous=bool(asynchronous))
            # Here, so that a run that cannot be analysed is let go of all the same.
            caught(self, "online_analyse", lambda: self.backend.analyse(how))

    def finalize(self) -> None:
        """Write what describes the run."""
        if self._ready("finalize"):
            if not self.current.refused:
                self.backend.finalize()
            self.write_metadata()

    def clear(self) -> None:
        """Forget the run; the next `init` makes another."""
        if self._ready("clear"):
            self.current.run = None
            self.current.recording = False
            self.backend.clear()

    def settle(self) -> None:
        """Wait until every operator that the script called has run; keep the error of one that failed."""
        try:
            self.host.synchronize()
        except Exception as error:  # noqa: BLE001 - the script's own, raised when the profiler is done
            self.failure = self.failure or error

    def save(self) -> None:
        """Have what was recorded saved for the case of a kill; the script is between two steps."""
        if self.current.recording:
            caught(self, "step", lambda: self.backend.save(self.settle, self.metadata.values))

    def raise_failure(self) -> None:
        """Raise the error of an operator of the script that failed, if one did."""
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure

    def delete_dir(self) -> None:
        """Tell the backend that the run directory holds nothing."""
        self.backend.delete_dir()

    def write_metadata(self) -> None:
        """Write what the script added, if anything, and forget it."""
        if self.metadata.values and self.current.run is not None:
            self.backend.write_metadata(self.metadata.take(), None if self.generation.is_current else _OLD_INDENT)

    @property
    def recording(self) -> bool:
        """Whether a profiler records."""
        return self.current.recording

    @property
    def collects_marks(self) -> bool:
        """Whether a mark that is set now is recorded."""
        parameters = self.current.parameters
        wanted = parameters is not None and parameters.mstx
        return self.current.recording and wanted and self.host.device_target() == DeviceTarget.NPU.value

    def _ready(self, verb: str) -> bool:
        if self.current.run is None:
            self.user_log.warning(f"ProfilerInterface {verb} failed, profiler has not been initialized.")
        return self.current.run is not None


def _digits(text: str) -> str:
    return text if text.isdigit() else "0"
