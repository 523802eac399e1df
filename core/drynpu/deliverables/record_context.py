"""What the record builders of a group get, and what they give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from drynpu.arrays import Records
from drynpu.deliverables.dictionaries import TextIds, TypeIds
from drynpu.deliverables.host_rows import HostRows
from drynpu.options import ProfilingRequest
from drynpu.platforms import Chip
from drynpu.raw import ClockAnchors
from drynpu.simulate import Destination, Recording, Simulation


@frozen(eq=False, kw_only=True)
class RecordContext:
    """One recording on its way to disk: what was requested, what was captured, what the device did with it."""

    recording: Recording
    simulation: Simulation
    request: ProfilingRequest
    destination: Destination
    chip: Chip
    anchors: ClockAnchors
    host: HostRows
    seed: int

    @property
    def to_raw_ns(self) -> int:
        """Add this to Unix ns to get raw host time."""
        return self.host.to_raw_ns

    @property
    def launching(self) -> int:
        """Id of the thread that takes calls from the queue; it launches graphs, too."""
        return self.host.launching

    @property
    def loading(self) -> int:
        """Id of the thread that loads graphs."""
        return self.host.loading_thread

    @property
    def texts(self) -> TextIds:
        """Texts that records refer to, of all builders."""
        return self.host.texts

    @property
    def types(self) -> TypeIds:
        """Names of API calls and tasks, of all builders."""
        return self.host.types


@frozen(eq=False, kw_only=True)
class GroupRecords:
    """
    Records by the name of their kind, host side and device side; ``sample`` are further entries of sample.json.

    ``host_ageing`` are host records in files that may be deleted at the storage limit; the name of such a file says of
    operators that their shapes were dynamic (cann_msprof.md 7.2). ``host_text`` and ``device_text`` hold rows of text
    kinds; on the host also rows by process id, for kinds with a file for each process. ``notes`` are readable lines
    about requested data that is not written, or that the hardware cannot record.
    """

    host: Mapping[str, Records] = field(factory=dict)
    host_ageing: Mapping[str, Records] = field(factory=dict)
    device: Mapping[str, Records] = field(factory=dict)
    host_text: Mapping[str, Any] = field(factory=dict)
    device_text: Mapping[str, Any] = field(factory=dict)
    sample: Mapping[str, object] = field(factory=dict)
    notes: tuple[str, ...] = ()
