"""Reading a ``PROF_XXX`` directory, whoever wrote it (cann_msprof.md 2 and 7)."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from drynpu._errors import OutputError, RawFormatError
from drynpu.arrays import Array, Records
from drynpu.raw._clock import NS_PER_S, ClockAnchors
from drynpu.raw._clock_files import collection_end, collection_start, counter_base, reading, require
from drynpu.raw._dictionaries import read_hashes, read_types
from drynpu.raw._info import DeviceInfo, HostInfo
from drynpu.raw._record_kind import RecordKind
from drynpu.raw._record_kinds import NO_KINDS, RecordKinds
from drynpu.raw._text_files import processes, read_rows
from drynpu.raw._text_kind import TextKind
from drynpu.raw.controls import read_json
from drynpu.raw.sane import Bounds, bounds_of, only_sane
from drynpu.raw.slices import PART_BYTES, join_parts, note_cut, record_parts

_DEVICE = re.compile(r"device_(0|[1-9][0-9]{0,4})", re.ASCII)
"""Device ids have 16 bits in records; `device_007` is no name of device 7."""


class ProfReader:
    """
    A ``PROF_XXX`` directory.

    What can be read is read; whatever had to be skipped or replaced on the way is one line in ``notes``. A control
    file is only asked for when something needs it.

    Parameters
    ----------
    prof_dir:
        The directory: it holds ``host``, ``device_<id>`` or both.
    kinds:
        The kinds of records that can be read; without any only control files and dictionaries.
    possible_only:
        Leave out, with a note, records that hold what no recording can: times days away from it, sizes beyond 2^53.
        Note files that are shorter than they were.

    Raises
    ------
    OutputError
        If it is no such directory.
    """

    def __init__(self, prof_dir: Path, kinds: RecordKinds = NO_KINDS, *, possible_only: bool = False) -> None:
        self.path = Path(prof_dir)
        self._kinds = kinds
        self.notes: list[str] = []
        self._possible_only = possible_only
        self._known_bounds: dict[int | None, Bounds] = {}
        if not self.path.is_dir():
            message = f"{self.path} is no directory: a PROF_XXX directory is expected."
            raise OutputError(message)
        names = (_DEVICE.fullmatch(entry.name) for entry in self.path.iterdir() if entry.is_dir())
        self.device_ids: tuple[int, ...] = tuple(sorted(int(match[1]) for match in names if match))
        if not self.device_ids and not (self.path / "host").is_dir():
            message = f"{self.path} holds neither host nor device_<id>: it is no PROF_XXX directory."
            raise OutputError(message)

    @cached_property
    def host_info(self) -> HostInfo:
        """
        The host's info.json; a device's if the profile has no host directory.

        Raises
        ------
        OutputError
            If there is none.
        RawFormatError
            If it is unreadable or lacks what the parser needs.
        """
        directory = self.path / "host"
        if not directory.is_dir():
            directory = self._directory(self.device_ids[0])
            self._note(f"the profile has no host directory: {directory.name}/info.json stands in for its info.json")
        with self._noting() as notes:
            return HostInfo.from_json(read_json(require(directory, "info.json", notes)), notes)

    def device_info(self, device_id: int) -> DeviceInfo:
        """
        Return what a device's info.json says about the device.

        Raises
        ------
        OutputError
            If the profile has no such device, or the file is missing.
        RawFormatError
            If it is unreadable or lacks what the parser needs.
        """
        with self._noting() as notes:
            return DeviceInfo.from_json(read_json(require(self._directory(device_id), "info.json", notes)), notes)

    def sample(self, device_id: int | None = None) -> dict[str, Any]:
        """
        Return sample.json, the collection settings, of the host or of a device.

        Raises
        ------
        OutputError
            If the profile has no such device, or the file is missing.
        RawFormatError
            If it is no JSON object.
        """
        return read_json(require(self._directory(device_id), "sample.json", self.notes))

    @cached_property
    def ended_unix_ns(self) -> int | None:
        """When collection ended, by end_info; ``None`` if no directory has a usable one."""
        for device_id in (None, *self.device_ids):
            directory = self.path / ("host" if device_id is None else f"device_{device_id}")
            ended_ns = collection_end(directory, self.notes)
            if ended_ns is not None:
                return ended_ns
        self._note("end_info is missing: when collection ended is not known")
        return None

    def collection_date(self, device_id: int | None = None) -> str:
        """
        Return the local date and time at which collection began, as start_info spells it; ``""`` if it does not say.

        What prevents reading it is noted.
        """
        try:
            text = read_json(require(self._directory(device_id), "start_info", self.notes)).get("collectionDateBegin")
        except (OutputError, RawFormatError) as error:
            self._note(str(error))
            return ""
        return text if isinstance(text, str) else ""

    def anchors(self, device_id: int | None = None) -> ClockAnchors:
        """
        Return the clocks of the host and of a device.

        Parameters
        ----------
        device_id:
            The device; ``None`` is the first one. Without any device, ticks are nanoseconds of the host's clock.

        Raises
        ------
        OutputError
            If the profile has no such device, or a file that the conversion needs is missing.
        RawFormatError
            If a clock reading that the conversion needs is missing from its file.
        """
        if device_id is None and self.device_ids:
            device_id = self.device_ids[0]
        begin_us, monotonic_ns = self._start("host")
        host_hz = self._host_hz()
        counter_ns, host_cntvct = self._host_counter(host_hz, monotonic_ns)
        clock: dict[str, int] = {
            "collection_begin_us": begin_us,
            "monotonic_raw_ns": monotonic_ns,
            "host_cntvct": host_cntvct,
            "host_hz": host_hz,
            "host_counter_ns": counter_ns,
        }
        if device_id is None:
            return ClockAnchors(device_cntvct=monotonic_ns, device_hz=NS_PER_S, **clock)
        directory = self._directory(device_id)
        info = self.device_info(device_id)
        if not info.hwts_hz:
            message = f"hwts_frequency of device {device_id} is {info.hwts_frequency!r}: MHz are expected."
            raise RawFormatError(message)
        device_cntvct = reading(require(directory, "dev_start.log", self.notes), "cntvct")
        base_ns = counter_base(require(directory, "host_start.log", self.notes), host_hz)
        # A device's own start_info may have been taken at another instant than the host's: keep Unix time right.
        device_begin_us, device_monotonic_ns = self._start(directory.name)
        shift_ns = (device_begin_us * 1000 - device_monotonic_ns) - (begin_us * 1000 - monotonic_ns)
        return ClockAnchors(
            device_cntvct=device_cntvct, device_hz=info.hwts_hz, device_counter_ns=base_ns + shift_ns, **clock
        )

    def device_clock_shift_ns(self, device_id: int) -> int:
        """
        Return what to add to a time of the device's own monotonic clock to get one of the host's.

        Both stood in the logs of the same start (Ascend/msprof ``get_delta_time``); 0 where one of them is missing.

        Raises
        ------
        OutputError
            If the profile has no such device.
        """
        directory = self._directory(device_id)
        try:
            host, device = (
                reading(require(directory, name, self.notes), "clock_monotonic_raw")
                for name in ("host_start.log", "dev_start.log")
            )
        except (OutputError, RawFormatError) as error:
            self._note(str(error))
            return 0
        return host - device

    def read(self, kind: str, device_id: int | None = None, prefix: str | None = None) -> Array:
        """
        Read all records of a kind: all slices, unaging before aging, then by number, joined.

        Parameters
        ----------
        kind:
            The name of a record kind.
        device_id:
            The device, for device kinds; not looked at for host kinds.
        prefix:
            ``unaging`` or ``aging``: only the files of a host kind that begin so.

        Returns
        -------
        records
            Structured array of the kind's dtype, empty if there is no file.

        Raises
        ------
        RawFormatError
            If the kind is unknown, or a device kind is asked for without a device.
        OutputError
            If the profile has no such device, or a file cannot be read.
        """
        entry = self._kinds.record(kind)
        return join_parts(entry, list(self._parts(kind, device_id, prefix, sys.maxsize)))

    def parts(self, kind: str, device_id: int | None = None, prefix: str | None = None) -> Iterator[Records]:
        """
        Yield the records that `read` returns in parts of some megabytes; notes are complete when all were taken.

        Raises
        ------
        RawFormatError, OutputError
            As `read`.
        """
        return self._parts(kind, device_id, prefix, PART_BYTES)

    def _parts(self, kind: str, device_id: int | None, prefix: str | None, part_bytes: int) -> Iterator[Records]:
        entry = self._kinds.record(kind)
        directory = self._data(entry, device_id)
        with self._noting() as notes:
            parts = record_parts(directory, entry, notes, prefix, part_bytes)
            if not self._possible_only:
                yield from parts
                return
            note_cut(directory, entry, notes)
            yield from only_sane(parts, entry, lambda: self._bounds(device_id), notes)

    def read_text(self, kind: str, device_id: int | None = None, pid: int | None = None) -> pl.DataFrame:
        """
        Read all rows of a text kind.

        Parameters
        ----------
        kind:
            The name of a text kind.
        device_id:
            The device, for device kinds; not looked at for host kinds.
        pid:
            The process, for kinds with a file for each (`processes`); ``None`` for the others.

        Returns
        -------
        rows
            The columns of the kind's schema, without rows if there is no file.

        Raises
        ------
        RawFormatError
            If the kind is unknown, or device or process are missing or out of place.
        OutputError
            If the profile has no such device, or a file cannot be read.
        """
        entry = self._kinds.text(kind)
        stem = entry.process_stem(pid)
        with self._noting() as notes:
            return read_rows(self._data(entry, device_id), entry, stem, notes)

    def processes(self, kind: str, device_id: int | None = None) -> tuple[int, ...]:
        """
        Return the ids of the processes that a text kind has files of.

        Raises
        ------
        RawFormatError
            If the kind is unknown, or a device kind is asked for without a device.
        OutputError
            If the profile has no such device.
        """
        entry = self._kinds.text(kind)
        return processes(self._data(entry, device_id), entry)

    @cached_property
    def hashes(self) -> dict[int, str]:
        """Texts by id (hash_dic); later lines win."""
        with self._noting() as notes:
            return read_hashes(self.path / "host" / "data", notes)

    @cached_property
    def types(self) -> dict[tuple[int, int], str]:
        """Names by (level, type id) (type_info_dic); later lines win."""
        with self._noting() as notes:
            return read_types(self.path / "host" / "data", notes)

    def _bounds(self, device_id: int | None) -> Bounds:
        """Return what clocks can read in this recording; host times are bounded by the clock of any device."""
        device_id = next(iter(self.device_ids), None) if device_id is None else device_id
        if device_id not in self._known_bounds:
            self._known_bounds[device_id] = bounds_of(lambda: self.anchors(device_id))
        return self._known_bounds[device_id]

    def _data(self, entry: RecordKind | TextKind, device_id: int | None) -> Path:
        if entry.side == "host":
            return self.path / "host" / "data"
        if device_id is None:
            message = f"Records of {entry.name} belong to a device: say which by device_id."
            raise RawFormatError(message)
        return self._directory(device_id) / "data"

    def _directory(self, device_id: int | None) -> Path:
        if device_id is None:
            return self.path / "host"
        if device_id not in self.device_ids:
            devices = ", ".join(map(str, self.device_ids)) or "none"
            message = f"{self.path} holds no records of device {device_id}. Devices: {devices}."
            raise OutputError(message)
        return self.path / f"device_{device_id}"

    def _start(self, directory_name: str) -> tuple[int, int]:
        others = ("host", *(f"device_{number}" for number in self.device_ids))
        with self._noting() as notes:
            return collection_start(self.path, (directory_name, *others), notes)

    def _host_hz(self) -> int:
        info = self.host_info
        text = info.cpus[0].frequency if info.cpus else ""
        if text and not info.host_hz:
            self._note(f"CPU[0].Frequency is {text!r}, which is no frequency: host times are taken as nanoseconds")
        return info.host_hz

    def _host_counter(self, host_hz: int, monotonic_ns: int) -> tuple[int, int]:
        """Give monotonic time and host counter of one instant; they only matter when host times are ticks."""
        directory = self.path / "host"
        if not host_hz:
            return monotonic_ns, monotonic_ns
        path = require(directory, "host_start.log", self.notes)
        return counter_base(path, host_hz), reading(path, "cntvct")

    @contextmanager
    def _noting(self) -> Iterator[list[str]]:
        """Collect notes and keep the new ones: asking twice does not say everything twice."""
        notes: list[str] = []
        yield notes
        for note in notes:
            self._note(note)

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)
