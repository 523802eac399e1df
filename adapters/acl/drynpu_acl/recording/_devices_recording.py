"""One recording of some devices, from ``start`` to ``stop``."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

from attrs import define, evolve, field

from drynpu import say
from drynpu.recorder import SAVE_INTERVAL_NS, Outcome, Planner, Recorder
from drynpu.simulate import HostSamples, Recording
from drynpu_acl.recording._assembly import assemble
from drynpu_acl.recording._captured import CapturedCalls
from drynpu_acl.recording._timeline import graph_plans

FRAMEWORK = "acl"


@define(kw_only=True)
class DevicesRecording:
    """
    What was captured so far, and where it will go. Before :meth:`close` that is on disk which :meth:`save` took.

    ``recorder`` has been started; ``plan`` maps the operators of models to kernels; ``devices`` are those that are
    recorded, the first one also where nothing ran.
    """

    recorder: Recorder
    directory: Path
    devices: tuple[int, ...]
    plan: Planner
    captured: CapturedCalls = field(factory=CapturedCalls)
    _saved: tuple[int, ...] = field(factory=lambda: CapturedCalls().counts)
    _saving: threading.Lock = field(factory=threading.Lock)
    _saved_ns: int = field(factory=time.time_ns)

    def save(self) -> None:
        """Have what happened since the last time saved for the case of a kill; at most every half second."""
        now_ns = time.time_ns()
        if now_ns - self._saved_ns < SAVE_INTERVAL_NS or not self._saving.acquire(blocking=False):
            return
        with contextlib.ExitStack() as stack:
            stack.callback(self._saving.release)
            self._save(now_ns)

    def _save(self, now_ns: int) -> None:
        self._saved_ns, begin, self._saved = now_ns, self._saved, self.captured.counts
        part, plan, devices = self.captured.between(begin, self._saved), graph_plans(self.plan), self.devices

        def build() -> dict[int, Recording]:
            worked = sorted(part.devices.intersection(devices)) or list(devices[:1])
            return {
                device_id: self._recording(each, device_id, plan, now_ns, None)
                for device_id, each in part.by_device(worked).items()
            }

        self.recorder.save(build, lambda: plan, self.directory, warn=say, host_data=False)

    def close(self) -> Outcome:
        """
        Write the PROF directory with its results.

        It has the devices that worked. What belongs to none is with the first of them.

        Raises
        ------
        OutputError
            A file cannot be written.
        """
        recorder = self.recorder
        recorder.stop()
        end_ns = recorder.end_ns()
        worked = sorted(self.captured.devices.intersection(self.devices)) or list(self.devices[:1])
        plan = graph_plans(self.plan)
        samples = dict.fromkeys(worked[:1], recorder.host_samples)
        recordings = {
            device_id: self._recording(part, device_id, plan, end_ns, samples.get(device_id))
            for device_id, part in self.captured.by_device(worked).items()
        }
        switches = recorder.request.switches
        if not switches.tx and any(recording.marks for recording in recordings.values()):
            recorder.request = evolve(recorder.request, switches=evolve(switches, tx=True))
        outcome = recorder.write(recordings, plan, self.directory, host_data=False)
        recorder.outcome = outcome = evolve(outcome, notes=(*outcome.notes, *self._unnamed()))
        recorder.deliver()
        recorder.settle()
        return outcome

    def _unnamed(self) -> list[str]:
        """Return a line for each device that worked without being recorded."""
        named = ", ".join(map(str, self.devices))
        missed = sorted(self.captured.devices.difference(self.devices))
        return [f"device {each} worked and is not recorded: the configuration names {named}" for each in missed]

    def _recording(
        self, captured: CapturedCalls, device_id: int, plan: Planner, end_ns: int, samples: HostSamples | None
    ) -> Recording:
        """Return what one device did."""
        return assemble(captured, device_id, plan, begin_ns=self.recorder.begin_ns, end_ns=end_ns, samples=samples)
