"""The object behind ``prof.prof_if``: carries out the steps of the action table on one result at a time."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drynpu import ChipError
from drynpu.arrays import I64
from drynpu.options import Activity, Level, ProfilingRequest, Settings
from drynpu.options.experimental_config import (
    EXPORTS,
    Flags,
    InterfaceValues,
    build_parsed,
    normalise_interface,
    noted_variables,
)
from drynpu.platforms import DEFAULT_CHIP
from drynpu.recorder import CHECK_VARIABLE, OptionalParts, load_chosen_chip
from drynpu_torch.distributed import parallel_group_info
from drynpu_torch.profiler._analyse import analyse_beside, analyse_result
from drynpu_torch.profiler._config import _ExperimentalConfig
from drynpu_torch.profiler._messages import print_error, print_warning, show
from drynpu_torch.profiler._metadata import Metadata, trace_id, usable_callback
from drynpu_torch.profiler._process import PROCESS, RAW_ONLY_DIRECTORY
from drynpu_torch.profiler._values import ExportType, ProfilerActivity, supported_activities

if TYPE_CHECKING:
    from drynpu_torch.profiler._result import Result

_NEUTRAL_ACTIVITY = {ProfilerActivity.CPU: Activity.HOST, ProfilerActivity.NPU: Activity.DEVICE}


class ProfInterface:
    """
    Recording, metadata and analysis of one profiler object.

    ``schedule`` returns the schedule as profiler_info.json shows it: the six numbers, ``{}`` without a schedule,
    ``None`` for ``_KinetoProfile``. ``enabled`` is False where another collector records the process.
    """

    def __init__(
        self,
        *,
        activities: Any,
        experimental_config: Any,
        custom_trace_id_callback: Any,
        schedule: Callable[[], dict[str, int] | None],
        **flags: Any,
    ) -> None:
        values, notices = normalise_interface(
            activities=activities,
            host_activity=ProfilerActivity.CPU,
            device_activity=ProfilerActivity.NPU,
            supported=supported_activities(),
            config_given=experimental_config is not None,
            config_valid=isinstance(experimental_config, _ExperimentalConfig),
            **flags,
        )
        show(notices)
        self.enabled = not _collected_elsewhere()
        self.config: _ExperimentalConfig = experimental_config if values.config_accepted else _ExperimentalConfig()
        if self.config.with_gc and ProfilerActivity.CPU not in values.activities:
            print_warning("GC detect will not take effect while ProfilerActivity.CPU is not set.")
        self.metadata = Metadata()
        self.trace_id_callback = usable_callback(custom_trace_id_callback)
        self.trace_id = ""
        self.raw_only = False
        self._exported: set[Path] = set()
        self._analysed: set[Path] = set()
        self._process = os.getpid()
        self._values = values
        self._schedule = schedule
        self._result = self._new_result()

    @property
    def prof_path(self) -> str:
        """Path of the current or last result directory; empty before the first."""
        return str(self._result.path) if self._result.path else ""

    @property
    def recording(self) -> bool:
        """Whether operators are being recorded right now."""
        return self._result.recording

    def flag(self, name: str) -> bool:
        """Return whether an option such as ``with_stack`` is on."""
        return bool(getattr(self._values, name))

    @property
    def has_timeline(self) -> bool:
        """Whether the memory timeline is among the exports of this recording (torch_npu_profiler.md 3.6)."""
        with_tasks = self._result.request.level is not Level.NONE
        without_device = ProfilerActivity.NPU not in self._values.activities
        return (with_tasks or without_device) and self.config.export_type != [ExportType.Db]

    @property
    def memory(self) -> tuple[Sequence[object], Callable[[I64], I64]]:
        """The results of Kineto for the last recording, and the map of their times to times in the files."""
        outcome = self._result.outcome
        return (self._result.results, outcome.time_map) if outcome is not None else ((), lambda time_ns: time_ns)

    @property
    def parts(self) -> OptionalParts:
        """What gathers the parts that the current recording can do without."""
        return self._result.parts

    @property
    def operators(self) -> int:
        """Number of operators recorded and not written yet."""
        return self._result.operators

    def init_trace(self) -> None:
        """Create the result directory."""
        if self.raw_only:
            PROCESS.reset()
        self._result = self._new_result()
        self._result.init()
        self.trace_id = trace_id(self.trace_id_callback)

    def warmup_trace(self) -> None:
        """Load the libraries of the tracer, so that the first recorded step does not take that time."""
        self._result.warm_up()

    def start_trace(self) -> None:
        """
        Start recording, in a new directory if the current one is finished or could not be written.

        So it is after RECORD and WARMUP, and after an exception where the next directory was to be made.
        """
        if self._result.pending:
            print_error(f"The recording before this one could not be written to {self.prof_path} and is lost.")
        if self._result.finished or self._result.pending:
            self.init_trace()
        self._result.start()

    def step_trace(self) -> None:
        """End a step of the recording."""
        self._result.step()

    def stop_trace(self) -> None:
        """Stop recording."""
        self._result.stop()
        if self._result.taken_over:
            print_warning(
                "PyTorch's own profiler was started during this recording and took it over: operators are missing. "
                "Use one of the two at a time."
            )
        if not self._result.follows_threads and any(enabled for *_, enabled in PROCESS.child_threads):
            print_warning("drynpu records child threads only without profile_memory; they are not in this recording.")

    def finalize_trace(self) -> None:
        """Write the raw data, the information and the metadata of the recording."""
        self._result.finalize(*self._describe())
        self.metadata.clear()

    def _describe(self) -> tuple[dict[str, object], dict[str, object]]:
        """Return the information on the recording, and its metadata, as they are now."""
        metadata = dict(self.metadata.values)
        if ExportType.Text in self.config.export_type:
            metadata["ENV_VARIABLES"] = noted_variables(os.environ)
        groups = self.parts.gather("parallel groups", parallel_group_info, dict[str, dict[str, object]]())
        if groups:
            metadata["parallel_group_info"] = groups
        metadata["trace_id"] = self.trace_id
        return self._info(), metadata

    def delete_trace(self) -> None:
        """Remove the result directory."""
        self._result.delete()

    def discard_trace(self) -> None:
        """Remove the result directory of a recording that holds nothing."""
        self._result.discard()

    def note_export(self) -> None:
        """Note that the script has got from the last recording what it asked for."""
        if self.raw_only and self._result.path is not None and self._result.outcome is not None:
            self._exported.add(self._result.path)

    def discard_exported(self) -> None:
        """
        Remove raw data that was exported, if it lies where raw data only waits for its export.

        What nobody exported stays, and so does what was analysed, and what the script had put below ASCEND_WORK_PATH.
        """
        exported, self._exported = self._exported - self._analysed, set()
        if self._process != os.getpid():  # a forked child has not recorded them
            return
        for path in exported:
            if path.parent.name == RAW_ONLY_DIRECTORY:
                shutil.rmtree(path, ignore_errors=True)

    def analyse(self, async_mode: bool = False) -> None:
        """Turn the raw data of the last recording into deliverables, with ``async_mode`` in a process beside this."""
        if self._result.path is None or self._result.outcome is None:
            return
        self._analysed.add(Path(self._result.path))
        run = analyse_beside if async_mode else analyse_result
        run(
            Path(self._result.path),
            simplify=bool(self.config.values.data_simplification),
            forms=[EXPORTS[name] for name in self.config.export_type],
        )

    def _request(self) -> ProfilingRequest:
        values = self._values
        return build_parsed(
            self.config.values,
            keywords=self.config.given,
            chip=_platform_version(),
            activities=[_NEUTRAL_ACTIVITY[a] for a in ProfilerActivity if a in values.activities],
            flags=Flags(**{name: getattr(values, name) for name in _FLAGS}),
        ).request

    def _new_result(self) -> Result:
        # It takes a quarter of a second to import, which a process that records nothing saves.
        from drynpu_torch.profiler._result import Result

        return Result(request=self._request(), raw_only=self.raw_only, describe=self._describe)

    def _info(self) -> dict[str, object]:
        return {
            "config": {
                "common_config": {
                    "activities": [str(a) for a in ProfilerActivity if a in self._values.activities],
                    "schedule": self._schedule(),
                    **{name: getattr(self._values, name) for name in _FLAGS},
                },
                "experimental_config": self.config.values.dump(),
            }
        }


@functools.cache
def _collected_elsewhere() -> bool:
    """Return whether the environment gives this process to another collector, which is printed once, or to a check."""
    if os.environ.get(CHECK_VARIABLE):
        return True
    for name, message in _OTHER_COLLECTORS.items():
        if os.environ.get(name):
            print_warning(message)
            return True
    return False


_OTHER_COLLECTORS = {
    "PROFILER_SAMPLECONFIG": "If performance data is collected using the 'msprof' tool. torch_npu profiler api is not "
    "effective.",
    "PROFILING_MODE": "Environment variable 'PROFILING_MODE' is set. torch_npu profiler api is not effective. Please "
    "execute 'unset PROFILING_MODE'.",
}
"""Variables that switch the profiler off when they are not empty (torch_npu_profiler.md 1.5)."""
_FLAGS = tuple(name for name in InterfaceValues.__annotations__ if name not in ("activities", "config_accepted"))


def _platform_version() -> str:
    """Return the number of the chip's platform; an unknown chip is reported when a recording begins."""
    try:
        return load_chosen_chip(Settings.from_environ(os.environ)).platform_version
    except ChipError:
        return DEFAULT_CHIP
