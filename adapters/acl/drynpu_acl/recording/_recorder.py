"""One recording, from ``start`` to ``stop``."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from attrs import define, evolve, field

from drynpu.kernels import KernelPlan, Signature
from drynpu.options import ProfilingRequest, Settings
from drynpu.platforms import Chip
from drynpu.products import export_msprof, load_profile
from drynpu.raw import ClockAnchors, write_document
from drynpu.recorder import HostSampler, Outcome, Setup, write_devices
from drynpu.simulate import AclCalls, HostSamples, Recording, Target, TxMark
from drynpu_acl.recording._captured import Captured
from drynpu_acl.recording._timeline import (
    copies_and_steps,
    graph_plans,
    graph_runs,
    joined,
    launched_runs,
    stream_number,
    stream_switches,
    waits,
)

__all__ = ["Recorder"]

_FRAMEWORK = "acl"
_METADATA = "profiler_metadata.json"
"""Says what of the recording is modelled, as in the directories of other frameworks."""


@define(kw_only=True)
class Recorder:
    """
    What was captured so far, and where it will go. Nothing is on disk before :meth:`close`.

    ``plan`` tells what an operator of a model launches; ``devices`` are those that are recorded, the first one also
    where nothing ran.
    """

    request: ProfilingRequest
    directory: Path
    devices: tuple[int, ...]
    settings: Settings
    chip: Chip
    plan: Callable[[Signature], KernelPlan]
    captured: Captured = field(factory=Captured)
    _anchors: ClockAnchors = field(init=False)
    _sampler: HostSampler = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._anchors = ClockAnchors.now(round(self.chip.hwts_mhz * 1_000_000))
        self._sampler = HostSampler(self.request.sampling)
        self._sampler.start()

    @property
    def begin_ns(self) -> int:
        """When the recording began, Unix ns."""
        return self._anchors.collection_begin_us * 1000

    def close(self, number: int) -> Outcome:
        """
        Write the PROF directory with its results; *number* counts those of the process from 0.

        It has the devices that worked. What belongs to none is with the first of them.

        Raises
        ------
        OutputError
            A file cannot be written.
        """
        samples = self._sampler.stop()
        end_ns = time.time_ns()
        worked = sorted(self.captured.devices.intersection(self.devices)) or list(self.devices[:1])
        plan = graph_plans(self.plan)
        recordings = {
            device_id: self._recording(part, device_id, plan, end_ns, samples if device_id == worked[0] else None)
            for device_id, part in self.captured.by_device(worked).items()
        }
        request = self.request
        if not request.switches.tx and any(of.tx_marks for of in recordings.values()):
            request = evolve(request, switches=evolve(request.switches, tx=True))
        outcome = write_devices(
            recordings,
            Target(directory=self.directory, framework=_FRAMEWORK, pid=os.getpid(), prof_number=number),
            Setup(
                request=request,
                chip=self.chip,
                clock=self.settings.clock,
                seed=self.settings.seed,
                anchors=self._anchors,
                plan=plan,
            ),
        )
        outcome = evolve(outcome, notes=(*outcome.notes, *self._unnamed()))
        path = outcome.prof_path
        assert path is not None
        write_document(path / _METADATA, json.dumps({"drynpu": outcome.describe()}))
        if request.output.analyse:
            export_msprof(load_profile(path))
        return outcome

    def _unnamed(self) -> list[str]:
        """Return a line for each device that worked without being recorded."""
        named = ", ".join(map(str, self.devices))
        missed = sorted(self.captured.devices.difference(self.devices))
        return [f"device {each} worked and is not recorded: the configuration names {named}" for each in missed]

    def _recording(
        self,
        captured: Captured,
        device_id: int,
        plan: Callable[[Signature], KernelPlan],
        end_ns: int,
        samples: HostSamples | None,
    ) -> Recording:
        """Return what one device did."""
        runs = [run for run in captured.runs if run.start_ns >= self.begin_ns]
        launched = launched_runs(runs, plan)
        operators = joined([*(table for _, table in launched), copies_and_steps(captured)])
        calls = [call for call in captured.calls if call.start_ns >= self.begin_ns]
        return Recording(
            operators=operators,
            begin_ns=self.begin_ns,
            end_ns=max(end_ns, self.begin_ns + 1, int(operators.end_ns.max(initial=0))),
            marks=waits([call for call in calls if call.device_id == device_id]),
            streams=stream_switches(captured, runs),
            graphs=graph_runs(launched),
            tx_marks=_tx_marks(captured),
            host_samples=samples,
            calls=AclCalls.from_rows([(of.name, of.start_ns, of.end_ns, of.thread) for of in calls]),
        )

    def abandon(self) -> None:
        """End the recording and leave nothing."""
        self._sampler.stop()


def _tx_marks(captured: Captured) -> tuple[TxMark, ...]:
    return tuple(
        TxMark(
            kind=kind,
            message=message,
            start_ns=start_ns,
            end_ns=end_ns,
            thread=thread,
            stream=None if place is None else stream_number(place[1]),
        )
        for kind, message, start_ns, end_ns, thread, place in captured.marks
    )
