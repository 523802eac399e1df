"""One recording of the device, from the graph engine's start to its end."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from attrs import define, field

from drynpu.kernels import Allocations, Operators, build_rule_book
from drynpu.options import ProfilingRequest, Settings
from drynpu.platforms import Chip, load_chip
from drynpu.plugins import build_manager
from drynpu.products import export_msprof, load_profile
from drynpu.raw import ClockAnchors, write_document
from drynpu.recorder import HostSampler, Outcome, Setup, write_recording
from drynpu.simulate import Recording, Target
from drynpu_tf.recording._plans import node_plans
from drynpu_tf.recording._timeline import Part, Step, Timeline, join
from drynpu_tf.rules import FALLBACKS

__all__ = ["Recorder"]

_FRAMEWORK = "tensorflow"
_METADATA = "profiler_metadata.json"
"""Says what of the recording is modelled, as in the directories of other frameworks."""


@define(kw_only=True)
class Recorder:
    """
    What was captured so far, and where it will go.

    Make one with :meth:`open`; :meth:`close` writes. Nothing is on disk before that, except the directory.
    """

    request: ProfilingRequest
    directory: Path
    device_id: int
    _settings: Settings
    _chip: Chip
    _anchors: ClockAnchors
    _sampler: HostSampler
    _parts: list[Part] = field(factory=list)
    _sources: list[Callable[[], None]] = field(factory=list)
    outcome: Outcome | None = None

    @classmethod
    def open(cls, request: ProfilingRequest, output_dir: Path, *, device_id: int = 0) -> Recorder:
        """
        Begin a recording that will leave a ``PROF_*`` directory in *output_dir*.

        Raises
        ------
        ChipError
            The chip of the settings does not exist.
        """
        settings = Settings.from_environ(os.environ)
        chip = load_chip(settings.chip, extra_files=build_manager().chip_files())
        anchors = ClockAnchors.now(round(chip.hwts_mhz * 1_000_000))
        sampler = HostSampler(request.sampling)
        sampler.start()
        return cls(
            request=request,
            directory=output_dir,
            device_id=device_id,
            settings=settings,
            chip=chip,
            anchors=anchors,
            sampler=sampler,
        )

    @property
    def split_cores(self) -> bool:
        """Whether the chip has cube and vector cores apart."""
        return self._chip.split

    def add(self, operators: Operators, step: Step | None = None) -> None:
        """Take over captured operators: those of one run of a graph, or (no *step*) launched one by one."""
        self._parts.append(Part(operators, step))

    def before_close(self, source: Callable[[], None]) -> None:
        """Have *source* called when the recording ends: it adds what it still holds."""
        self._sources.append(source)

    def close(self, prof_number: int = 0) -> Path | None:
        """
        Write the PROF directory with its results and return it; ``None``, and nothing is left, if nothing was added.

        Raises
        ------
        OutputError
            A file cannot be written.
        """
        samples = self._sampler.stop()
        for source in self._sources:
            source()
        self._sources.clear()
        if not self._parts:
            return None
        end_ns = time.time_ns()
        rules = build_rule_book(build_manager().kernel_rules(_FRAMEWORK), fallbacks=FALLBACKS)
        plan = node_plans(rules.plan)
        timeline = join(self._parts, plan)
        begin_ns = self._anchors.collection_begin_us * 1000
        recording = Recording(
            operators=timeline.operators,
            allocations=Allocations.empty(),
            begin_ns=begin_ns,
            end_ns=max(end_ns, begin_ns + 1, _last_ns(timeline)),
            marks=timeline.marks,
            graphs=timeline.graphs,
            dataset=timeline.dataset,
            host_samples=samples,
        )
        self.outcome = write_recording(
            recording,
            Target(
                directory=self.directory,
                framework=_FRAMEWORK,
                pid=os.getpid(),
                device_id=self.device_id,
                rank_id=_rank_id(),
                prof_number=prof_number,
                host_data=False,
            ),
            Setup(
                request=self.request,
                chip=self._chip,
                clock=self._settings.clock,
                seed=self._settings.seed,
                anchors=self._anchors,
                plan=plan,
            ),
        )
        self._parts.clear()
        path = self.outcome.prof_path
        if path is not None:
            write_document(path / _METADATA, json.dumps({"drynpu": self.outcome.describe()}))
            if self.request.output.analyse:
                export_msprof(load_profile(path))
        return path


def _last_ns(timeline: Timeline) -> int:
    return max((graph.iterations[-1].end_ns for graph in timeline.graphs), default=0)


def _rank_id() -> int:
    text = os.environ.get("RANK_ID", "")
    return int(text) if text.isdecimal() else -1
