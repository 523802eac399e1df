"""Writing a ``PROF_XXX`` directory (cann_msprof.md 2)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl
from attrs import define, field

from drynpu._errors import OutputError, RawFormatError
from drynpu.arrays import Records
from drynpu.raw._ageing import SliceStore
from drynpu.raw._clock import ClockAnchors
from drynpu.raw._dictionaries import dictionary_slices
from drynpu.raw._info import DeviceInfo, HostInfo
from drynpu.raw._names import prof_directory_name
from drynpu.raw._record_bytes import record_bytes
from drynpu.raw._record_kind import RecordKind
from drynpu.raw._record_kinds import RecordKinds
from drynpu.raw._text_files import text_slices
from drynpu.raw._text_kind import TextKind
from drynpu.raw.controls import check_rates, control_files
from drynpu.raw.files import make_directory, write_with_done

SLICE_BYTES = 20 * 1024 * 1024
"""Size at which a slice is full (cann_msprof.md 7)."""

_ATTEMPTS = 100


def new_prof_directory(parent: Path, *, index: int, pid: int, now: datetime, rng: random.Random | None = None) -> Path:
    """
    Return a new PROF directory without records; see `ProfWriter.create`.

    Raises
    ------
    OutputError
        If it cannot be created.
    """
    letters = random.Random() if rng is None else rng
    make_directory(parent)
    for _ in range(_ATTEMPTS):
        path = parent / prof_directory_name(index, pid, now, letters)
        if not path.exists():
            make_directory(path)
            make_directory(path / "host" / "data")
            return path
    message = f"Cannot create a new PROF directory in {parent}: {_ATTEMPTS} names were taken."
    raise OutputError(message)


@define
class ProfWriter:
    """
    One ``PROF_XXX`` directory in the making.

    Every file appears complete under its own name and is followed by its ``.done`` mark, so a run that is killed
    leaves what was written so far readable. Modes are 0750 and 0640 less the umask.
    """

    path: Path
    _kinds: RecordKinds
    slice_bytes: int = SLICE_BYTES
    _store: SliceStore = field(factory=SliceStore)
    _next_slice: dict[tuple[Path, str], int] = field(factory=dict, init=False)
    _written: dict[tuple[Path, str], int] = field(factory=dict, init=False)
    """Records with a running number that a file holds."""

    @classmethod
    def create(
        cls,
        parent: Path,
        kinds: RecordKinds,
        *,
        index: int,
        pid: int,
        now: datetime,
        rng: random.Random | None = None,
        slice_bytes: int = SLICE_BYTES,
        storage_limit_mb: int | None = None,
        reserved: Path | None = None,
    ) -> ProfWriter:
        """
        Make a new directory below ``parent``, which is created if it is missing, unless ``reserved`` is there already.

        ``kinds`` are those whose records it can write. ``index``, ``pid`` and ``now`` go into the name
        (`prof_directory_name`); ``rng`` is the source of its random letters, seeded by the system if not given.
        ``slice_bytes`` is where a slice is full. When all slices together take more than ``storage_limit_mb`` MB
        (``None`` is no limit), the oldest of those that age are deleted.

        Raises
        ------
        OutputError
            If it cannot be created.
        """
        if reserved is None or not reserved.is_dir():
            reserved = new_prof_directory(parent, index=index, pid=pid, now=now, rng=rng)
        return cls(reserved, kinds, slice_bytes, SliceStore(storage_limit_mb))

    def write(self, kind: str, records: Records, device_id: int | None = None, *, aging: bool = False) -> None:
        """
        Write records of a kind as slices of whole records; nothing at all for no records.

        Called again for the same file, it goes on with the next slice.

        Parameters
        ----------
        kind:
            The name of a record kind.
        records:
            Structured array with the kind's fields (`RecordKind.new` makes one); where numpy moved the fields, as
            ``np.concatenate`` does, they are put back in their places.
        device_id:
            The device, for device kinds; ``None`` for host kinds.
        aging:
            Write the files of a host kind as ``aging.``: the oldest may be deleted at the storage limit. Device
            kinds age without saying so.

        Raises
        ------
        RawFormatError
            If the kind is unknown, the device id is missing or out of place, the records are not of the kind, or
            ``aging`` is asked of a device kind.
        OutputError
            If a file cannot be written.
        """
        entry = self._kinds.record(kind)
        directory, stem = self._place(entry, _stem(entry, aging), device_id)
        if records.dtype.names != entry.dtype.names:
            message = f"Records of {entry.name} have the fields {entry.dtype.names}, not {records.dtype.names}."
            raise RawFormatError(message)
        records = self._numbered(entry, records, (directory, stem))
        per_slice = max(1, self.slice_bytes // entry.dtype.itemsize)
        for first in range(0, len(records), per_slice):
            self._write_slice(directory, stem, [record_bytes(entry, records[first : first + per_slice], first)])

    def write_dictionaries(self, hashes: Mapping[int, str], types: Mapping[tuple[int, int], str]) -> None:
        """
        Write hash_dic and type_info_dic (cann_msprof.md 7.2); an empty mapping writes nothing.

        An entry is a line, so line breaks inside a text become spaces.

        Parameters
        ----------
        hashes:
            Text by id (`hash_text`).
        types:
            Name by (level, type id).

        Raises
        ------
        RawFormatError
            If an id is not an unsigned 64-bit number.
        OutputError
            If a file cannot be written.
        """
        directory = self.path / "host" / "data"
        for stem, lines in dictionary_slices(hashes, types, self.slice_bytes):
            self._write_slice(directory, stem, lines)

    def write_controls(
        self,
        host: HostInfo,
        devices: Sequence[DeviceInfo],
        sample: Mapping[str, object],
        anchors: ClockAnchors,
        ended_unix_ns: int | None,
    ) -> None:
        """
        Write the control files of the host and of each device (cann_msprof.md 2.4).

        They may be written at the start with ``ended_unix_ns`` None, which leaves end_info out, and again at the end.

        Parameters
        ----------
        host, devices:
            The content of info.json.
        sample:
            The content of sample.json; ``devices`` is set for each directory.
        anchors:
            The clocks: start_info, host_start.log, dev_start.log.
        ended_unix_ns:
            When collection ended.

        Raises
        ------
        RawFormatError
            If the clock rates of host, devices and anchors contradict each other.
        OutputError
            If a file cannot be written.
        """
        check_rates(host, devices, anchors)
        for device in (None, *devices):
            directory = self.path / ("host" if device is None else f"device_{device.id}")
            make_directory(directory / "data")
            for name, content in control_files(host, device, sample, anchors, ended_unix_ns):
                write_with_done(directory / name, [content])

    def write_text(self, kind: str, rows: pl.DataFrame, device_id: int | None = None, pid: int | None = None) -> None:
        """
        Write rows of a text kind as slices of whole lines; nothing at all for no rows.

        Parameters
        ----------
        kind:
            The name of a text kind.
        rows:
            The columns of the kind's schema. Blanks inside a name that is one word become underscores.
        device_id:
            The device, for device kinds; ``None`` for host kinds.
        pid:
            The process, for kinds with a file for each; ``None`` for the others.

        Raises
        ------
        RawFormatError
            If the kind is unknown, device or process are missing or out of place, or the rows are not of the kind.
        OutputError
            If a file cannot be written.
        """
        entry = self._kinds.text(kind)
        directory, stem = self._place(entry, entry.process_stem(pid), device_id)
        for chunks in text_slices(entry, rows, self.slice_bytes):
            self._write_slice(directory, stem, chunks)

    @property
    def deleted_slices(self) -> tuple[Path, ...]:
        """Slices that were deleted again because of the storage limit or a full disk, oldest first."""
        return tuple(self._store.deleted)

    def _numbered(self, entry: RecordKind, records: Records, file: tuple[Path, str]) -> Records:
        """Return the records with their running number, which goes on from what the file already holds."""
        if entry.running is None:
            return records
        name, shift = entry.running
        first = self._written.get(file, 0)
        self._written[file] = first + len(records)
        numbered = records.copy()
        running = (np.arange(first, first + len(records)) & 0xF) << shift
        numbered[name] = (numbered[name].astype(np.int64) & ~(0xF << shift) | running).astype(numbered.dtype[name])
        return numbered

    def _place(self, entry: RecordKind | TextKind, stem: str, device_id: int | None) -> tuple[Path, str]:
        if entry.side == "host":
            if device_id is not None:
                message = f"Records of {entry.name} belong to the host: device id {device_id} is out of place."
                raise RawFormatError(message)
            return self.path / "host" / "data", stem
        if device_id is None:
            message = f"Records of {entry.name} belong to a device: say which by device_id."
            raise RawFormatError(message)
        return self.path / f"device_{device_id}" / "data", f"{stem}.{device_id}"

    def _write_slice(self, directory: Path, stem: str, chunks: Sequence[bytes]) -> None:
        make_directory(directory)
        number = self._next_slice.get((directory, stem), 0)
        path = directory / f"{stem}.slice_{number}"
        write_with_done(path, chunks)
        self._next_slice[directory, stem] = number + 1
        self._store.add(path, stem)


def _stem(entry: RecordKind, aging: bool) -> str:
    if not aging:
        return entry.stem
    if entry.side != "host":
        message = f"Records of {entry.name} belong to a device: only host files are called aging or unaging."
        raise RawFormatError(message)
    return f"aging.{entry.stem.removeprefix('unaging.')}"
