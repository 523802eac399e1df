"""The recording that all monitors of a process share."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from attrs import define, field

from drynpu import CaptureError
from drynpu.options import Level, MetricGroup, ProfilingRequest, Switches
from drynpu.products import load_profile
from drynpu.recorder import CollectionCommand
from drynpu_mspti._records import RECORDS, Record

if TYPE_CHECKING:
    from drynpu_torch.profiler import ProcessRecording

Deliver = Callable[[Record], object]


_REQUEST = ProfilingRequest(level=Level.L1, aic_metrics=MetricGroup.NONE, switches=Switches(tx=True))


@define(eq=False)
class Listening:
    """
    Records what monitors ask for, and hands it over when one of them stops or asks for it.

    A device hands records over from threads of its own while the script runs; here they come in the thread that asks,
    because what the device does is simulated when a recording ends.
    """

    _listeners: dict[str, Deliver] = field(factory=dict)
    _folder: TemporaryDirectory[str] | None = None
    _recording: ProcessRecording | None = None

    def start(self, monitor: str, deliver: Deliver) -> bool:
        """Record for a monitor; return whether anything is recorded: not where a profiler of the script records."""
        if self._recording is None and not self._begin():
            return False
        self._listeners[monitor] = deliver
        return True

    def stop(self, monitor: str) -> None:
        """Hand over what was recorded, to all monitors, and record no more for this one."""
        self._deliver()
        self._listeners.pop(monitor, None)
        if self._listeners:
            self._begin()

    def flush(self) -> None:
        """Hand over what was recorded, to all monitors."""
        if self._recording is not None:
            self._deliver()
            self._begin()

    def _begin(self) -> bool:
        try:
            importlib.import_module("torch_npu")  # the device joins PyTorch
            from drynpu_torch.profiler import ProcessRecording
        except ImportError:
            return False
        folder, recording = TemporaryDirectory(prefix="drynpu-mspti-"), ProcessRecording()
        try:
            place = Path(folder.name)
            recording.begin(CollectionCommand(request=_REQUEST, directory=place, journal=place / "journal"))
        except CaptureError:
            folder.cleanup()
            return False
        self._folder, self._recording = folder, recording
        return True

    def _deliver(self) -> None:
        recording, folder, self._recording, self._folder = self._recording, self._folder, None, None
        if recording is None or folder is None:
            return
        with folder:
            if recording.end() is None:
                return
            profile = load_profile(Path(folder.name))
            for monitor, deliver in tuple(self._listeners.items()):
                for record in RECORDS[monitor](profile):
                    deliver(record)
