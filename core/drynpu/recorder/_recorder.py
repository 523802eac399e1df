"""One recording of a framework, from the settings it is opened with to its directory."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from attrs import define, evolve, field

from drynpu import DrynpuError, say, without_collections
from drynpu.layouts.result_files import METADATA_FILE
from drynpu.options import ProfilingRequest, Settings, to_mapping
from drynpu.platforms import Chip
from drynpu.products import deliver_toolkit
from drynpu.raw import ClockAnchors, new_prof_directory, write_document
from drynpu.recorder._chosen import load_chosen_chip
from drynpu.recorder._journal import Documents, Journal
from drynpu.recorder._parts import OptionalParts
from drynpu.recorder._recording import Outcome, Setup, write_devices
from drynpu.recorder._run_journal import RunJournal
from drynpu.recorder._sampler import HostSampler
from drynpu.simulate import Destination, HostSamples, Planner, Recording

_HOST_METRICS = "the metrics of the host"
_PROF_NUMBERS: Iterator[int] = itertools.count()
"""Numbers of the PROF directories of this process."""


def rank_number(rank: str | int | None) -> int:
    """Return a rank as records hold it; -1 without one, and for a text that is no number of 32 bits."""
    text = "" if rank is None else str(rank)
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text, re.ASCII) else -1


@define(kw_only=True)
class Recorder:
    """
    One recording of a framework.

    An adapter opens it, starts it, keeps what it captures until it stops it, and hands that over to be written. It may
    start and stop several times in one recording. Before :meth:`write` nothing is on disk but what :meth:`save` gets.

    Attributes
    ----------
    framework:
        Prefix of the files in ``FRAMEWORK/``.
    anchors:
        The clocks, read at the first start.
    host_samples:
        What was measured of the host between starts and stops; None if nothing was asked for.
    outcome:
        What :meth:`write` wrote last.
    parts:
        Gathers what the recording can do without; the metadata names what is lost.
    """

    framework: str
    request: ProfilingRequest
    settings: Settings
    chip: Chip
    anchors: ClockAnchors | None = None
    host_samples: HostSamples | None = None
    outcome: Outcome | None = None
    parts: OptionalParts = field(factory=OptionalParts)
    journal: Journal | None = None
    """Parts of the recording on disk while it runs; None before the first call of :meth:`save`."""
    _sampler: HostSampler | None = field(default=None, init=False)
    _reserved: tuple[Path, int] | None = field(default=None, init=False)
    """A PROF directory without records and its number."""

    @classmethod
    def open(
        cls,
        framework: str,
        request: ProfilingRequest,
        settings: Settings | None = None,
        warn: Callable[[str], object] = say,
    ) -> Recorder:
        """
        Return a recorder for what *request* asks for; without *settings* they come from the environment.

        *warn* shows a line about a part that is lost.

        Raises
        ------
        ChipError
            The chip of the settings does not exist.
        OptionError
            A setting cannot be.
        """
        settings = Settings.from_environ(os.environ) if settings is None else settings
        return cls(
            framework=framework,
            request=request,
            settings=settings,
            chip=load_chosen_chip(settings),
            parts=OptionalParts(warn),
        )

    @property
    def begin_ns(self) -> int:
        """When the recording was started first, Unix ns."""
        assert self.anchors is not None, "start comes first"
        return self.anchors.collection_begin_us * 1000

    def start(self, capture: Callable[[], Any] | None = None, *, host_hz: int = 0) -> None:
        """
        Read the clocks, start the capture, then sample the host.

        *host_hz* is the rate of the host's counter where records hold its counts, 0 where they hold nanoseconds. What
        *capture* raises comes back, and nothing is sampled then.
        """
        if self.anchors is None:
            anchors = ClockAnchors.now(self.chip.hwts_hz)
            self.anchors = evolve(anchors, host_hz=host_hz) if host_hz else anchors
        if capture is not None:
            capture()
        if self._sampler is None:
            sampler = HostSampler(self.request.sampling)
            self.parts.gather(_HOST_METRICS, sampler.start, None)
            self._sampler = sampler

    def stop(self) -> None:
        """Stop sampling the host; the adapter stops the capture."""
        sampler, self._sampler = self._sampler, None
        samples = None if sampler is None else self.parts.gather(_HOST_METRICS, sampler.stop, None)
        if samples is not None:
            known = [] if self.host_samples is None else [self.host_samples]
            self.host_samples = HostSamples.join([*known, samples])

    def end_ns(self, last_ns: int = 0) -> int:
        """Return when the recording ends, Unix ns: now, and not before its start nor before *last_ns*."""
        return max(time.time_ns(), self.begin_ns + 1, last_ns)

    def reserve(self, directory: Path) -> None:
        """
        Make the PROF directory in *directory* now, without records; :meth:`write` fills it if it writes there.

        Raises
        ------
        OutputError
            It cannot be created.
        """
        number = next(_PROF_NUMBERS)
        now = datetime.fromtimestamp(self.begin_ns / 1e9)
        self._reserved = (new_prof_directory(directory, index=number, pid=os.getpid(), now=now), number)

    def release(self) -> None:
        """Remove a reserved directory that has no files: nothing was written."""
        reserved, self._reserved = self._reserved, None
        if reserved is not None and not any(path.is_file() for path in reserved[0].rglob("*")):
            shutil.rmtree(reserved[0], ignore_errors=True)

    def save(
        self,
        build: Callable[[], Mapping[int, Recording]],
        find_plan: Callable[[], Planner],
        directory: Path,
        *,
        warn: Callable[[str], object],
        documents: Documents | None = None,
        **fields: Any,
    ) -> None:
        """
        Have what was captured since the last call saved in *directory*, for the case that the process is killed.

        Another thread calls *build*, which returns it by device id, and writes it. Nothing is raised: *warn* gets a
        line when it cannot be written. :meth:`settle` removes it again.

        Parameters
        ----------
        find_plan:
            Returns the plan of :meth:`write`; called once, in that thread.
        fields:
            As for :meth:`write`.
        documents:
            Documents of the run directory as they are now. Without any the result is a PROF directory alone.
        """
        part = "steps for the case of a kill"
        self.parts.gather(
            part, lambda: self._open_journal(find_plan, directory, warn, fields).add(build, documents), None
        )

    def _open_journal(
        self,
        find_plan: Callable[[], Planner],
        directory: Path,
        warn: Callable[[str], object],
        fields: Mapping[str, Any],
    ) -> Journal:
        if self.journal is None:
            assert self.anchors is not None, "start comes first"
            self.journal = Journal(
                destination=Destination(directory=directory, framework=self.framework, pid=os.getpid(), **fields),
                head={
                    "request": to_mapping(self.request),
                    "chip": self.chip.name,
                    "links": (self.chip.interconnect, self.chip.pcie_gbs),
                    "topology": self.settings.topology,
                    "clock": self.settings.clock.value,
                    "seed": self.settings.seed,
                    "anchors": self.anchors,
                },
                find_plan=find_plan,
                warn=warn,
            )
        return self.journal

    def settle(self) -> None:
        """Remove what :meth:`save` wrote: the result stands, or is not wanted."""
        journal, self.journal = self.journal, None
        if journal is not None:
            journal.discard()

    @without_collections()
    def write(self, recordings: Mapping[int, Recording], plan: Planner, directory: Path, **fields: Any) -> Outcome:
        """
        Simulate *recordings*, which are by device id, and write them below *directory*.

        *plan* maps operators to kernels; *fields* are further fields of `Destination`.

        Raises
        ------
        OutputError
            A file cannot be written.
        """
        assert self.anchors is not None, "start comes first"
        path, number = self._reserved or (None, None)
        place = Destination(
            directory=directory,
            framework=self.framework,
            pid=os.getpid(),
            device_id=next(iter(recordings)),
            prof_number=next(_PROF_NUMBERS) if number is None else number,
            prof_path=path if path is not None and path.parent == directory else None,
            **fields,
        )
        setup = Setup(
            request=self.request,
            chip=self.chip,
            clock=self.settings.clock,
            seed=self.settings.seed,
            anchors=self.anchors,
            plan=plan,
            topology=self.settings.topology,
        )
        lost = tuple(self.parts.lost)
        recordings = {
            each: evolve(recording, notes=(*recording.notes, *lost)) for each, recording in recordings.items()
        }
        self.outcome = write_devices(recordings, place, setup)
        journal = RunJournal.from_environ(os.environ)
        if journal is not None:
            journal.note(
                self.outcome.directory.absolute(), self.outcome.prof_path and self.outcome.prof_path.absolute()
            )
        return self.outcome

    @without_collections()
    def deliver(self) -> Path | None:
        """
        Write the metadata beside the records, and the deliverables if they are asked for; return the PROF directory.

        For frameworks whose result is a PROF directory.

        Raises
        ------
        OutputError
            A file cannot be written.
        """
        path = None if self.outcome is None else self.outcome.prof_path
        if self.outcome is not None and path is not None:
            write_document(path / METADATA_FILE, json.dumps({"drynpu": self.outcome.describe()}))
            if self.request.output.analyse:
                deliver_toolkit(path)
        return path

    def failure(self, error: Exception) -> str:
        """Return the line about a recording that could not be written, or not to its end."""
        reason = str(error) if isinstance(error, DrynpuError | OSError) else repr(error)
        path = None if self.outcome is None else self.outcome.prof_path
        if path is None:
            return f"no profile was written: {reason}"
        return f"results are missing beside the records: {reason}. `drynpu analyze {path}` writes them."
