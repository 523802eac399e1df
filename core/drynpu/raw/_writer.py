"""Writing a ``PROF_XXX`` directory (cann_msprof.md 2)."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field

from drynpu._errors import OutputError, RawFormatError
from drynpu.raw._clock import ClockAnchors
from drynpu.raw._controls import control_files
from drynpu.raw._families import family
from drynpu.raw._family import Family
from drynpu.raw._files import make_directory, write_with_done
from drynpu.raw._hash import encode_text
from drynpu.raw._info import DeviceInfo, HostInfo

__all__ = ["SLICE_BYTES", "ProfWriter", "prof_directory_name"]

SLICE_BYTES = 20 * 1024 * 1024
"""Size at which a slice is full (cann_msprof.md 7)."""

_ATTEMPTS = 100
_RANDOM_LETTERS = "ABCDEFGHIJKLMNOPQR"
_LARGEST_ID = 0xFFFF_FFFF_FFFF_FFFF


def prof_directory_name(index: int, pid: int, now: datetime, rng: random.Random) -> str:
    """
    Return a name after the rule of cann_msprof.md 2.1.

    Parameters
    ----------
    index:
        How many directories this process made before, from 0.
    pid:
        Process id: its last eight digits, zero-padded, become the letters ``A`` (0) to ``J`` (9).
    now:
        Local time of the start; a time with a zone is turned into local time.
    rng:
        Source of the eight random letters ``A`` to ``R``.
    """
    local = now if now.tzinfo is None else now.astimezone()
    stamp = f"{local:%Y%m%d%H%M%S}{local.microsecond // 1000:03d}"
    pid_letters = "".join(chr(ord("A") + int(digit)) for digit in f"{pid:08d}"[-8:])
    tail = "".join(rng.choice(_RANDOM_LETTERS) for _ in range(8))
    return f"PROF_{index % 999999 + 1:06d}_{stamp}_{pid_letters}{tail}"


@define
class ProfWriter:
    """
    One ``PROF_XXX`` directory in the making.

    Every file appears complete under its own name and is followed by its ``.done`` mark, so a run that is killed
    leaves what was written so far readable. Modes are 0750 and 0640 less the umask.
    """

    path: Path
    slice_bytes: int = SLICE_BYTES
    _next_slice: dict[tuple[Path, str], int] = field(factory=dict, init=False)

    @classmethod
    def create(
        cls,
        parent: Path,
        *,
        index: int,
        pid: int,
        now: datetime,
        rng: random.Random | None = None,
        slice_bytes: int = SLICE_BYTES,
    ) -> ProfWriter:
        """
        Make a new directory below ``parent``, which is created if it is missing.

        ``index``, ``pid`` and ``now`` go into the name (`prof_directory_name`); ``rng`` is the source of its random
        letters, seeded by the system if not given. ``slice_bytes`` is where a slice is full.

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
                return cls(path, slice_bytes)
        message = f"Cannot create a new PROF directory in {parent}: {_ATTEMPTS} names were taken."
        raise OutputError(message)

    def write(self, family_name: str, records: npt.NDArray[Any], device_id: int | None = None) -> None:
        """
        Write records of a family as slices of whole records; nothing at all for no records.

        Called again for the same file, it goes on with the next slice.

        Parameters
        ----------
        family_name:
            A key of `FAMILIES`.
        records:
            Structured array with the family's fields (`Family.new` makes one); where numpy moved the fields, as
            ``np.concatenate`` does, they are put back in their places.
        device_id:
            The device, for device families; ``None`` for host families.

        Raises
        ------
        RawFormatError
            If the family is unknown, the device id is missing or out of place, or the records are not of the family.
        OutputError
            If a file cannot be written.
        """
        entry = family(family_name)
        directory, stem = self._place(entry, device_id)
        if records.dtype.names != entry.dtype.names:
            message = f"Records of {entry.name} have the fields {entry.dtype.names}, not {records.dtype.names}."
            raise RawFormatError(message)
        per_slice = max(1, self.slice_bytes // entry.dtype.itemsize)
        for first in range(0, len(records), per_slice):
            self._write_slice(directory, stem, [_clean_bytes(entry, records[first : first + per_slice], first)])

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
        by_stem = {
            "unaging.additional.hash_dic": ((str(_unsigned(key)), text) for key, text in sorted(hashes.items())),
            "unaging.additional.type_info_dic": (
                (f"{_unsigned(level)}_{_unsigned(number)}", name) for (level, number), name in sorted(types.items())
            ),
        }
        for stem, entries in by_stem.items():
            lines = [f"{key}:".encode() + _one_line(text) for key, text in entries]
            for part in _batches(lines, self.slice_bytes):
                self._write_slice(directory, stem, part)

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
        _check_rates(host, devices, anchors)
        for device in (None, *devices):
            directory = self.path / ("host" if device is None else f"device_{device.id}")
            make_directory(directory / "data")
            for name, content in control_files(host, device, sample, anchors, ended_unix_ns):
                write_with_done(directory / name, [content])

    def _place(self, entry: Family, device_id: int | None) -> tuple[Path, str]:
        if entry.side == "host":
            if device_id is not None:
                message = f"Records of {entry.name} belong to the host: device id {device_id} is out of place."
                raise RawFormatError(message)
            return self.path / "host" / "data", entry.stem
        if device_id is None:
            message = f"Records of {entry.name} belong to a device: say which by device_id."
            raise RawFormatError(message)
        return self.path / f"device_{device_id}" / "data", f"{entry.stem}.{device_id}"

    def _write_slice(self, directory: Path, stem: str, chunks: Sequence[bytes]) -> None:
        make_directory(directory)
        number = self._next_slice.get((directory, stem), 0)
        write_with_done(directory / f"{stem}.slice_{number}", chunks)
        self._next_slice[directory, stem] = number + 1


def _clean_bytes(entry: Family, records: npt.NDArray[Any], first: int) -> bytes:
    """Give the bytes of records with zeros where the layout has no field: numpy leaves chance values there."""
    placed = np.ascontiguousarray(records)
    if records.dtype != entry.dtype:
        placed = np.zeros(len(records), entry.dtype)
        for name in entry.dtype.names or ():
            placed[name] = records[name]
    raw = placed.view(np.uint8).reshape(len(records), -1) & _mask(entry.dtype)
    clean = raw.reshape(-1).view(entry.dtype)
    good = entry.plausible(clean) & entry.members(clean)
    if not good.all():
        at = first + int(np.argmin(good))
        constants = ", ".join(f"{name} {value}" for name, value in entry.constants.items())
        message = f"Record {at} is none of {entry.name}: its constant fields are {constants or 'out of range'}."
        raise RawFormatError(message)
    return raw.tobytes()


def _mask(dtype: np.dtype[Any]) -> npt.NDArray[np.uint8]:
    """Give 255 for each byte of a record that belongs to a field, 0 for the others."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return np.tile(_mask(base), int(np.prod(shape)))
    mask = np.zeros(dtype.itemsize, np.uint8)
    if dtype.fields is None:
        mask[:] = 0xFF
    else:
        for part, offset, *_ in dtype.fields.values():
            mask[offset : offset + part.itemsize] = _mask(part)
    return mask


def _check_rates(host: HostInfo, devices: Sequence[DeviceInfo], anchors: ClockAnchors) -> None:
    if host.host_hz != anchors.host_hz:
        message = f"CPU[0].Frequency says {host.host_hz} Hz, the clock anchors say {anchors.host_hz} Hz."
        raise RawFormatError(message)
    for device in devices:
        if device.hwts_hz != anchors.device_hz:
            message = (
                f"hwts_frequency {device.hwts_frequency!r} of device {device.id} is {device.hwts_hz} Hz, "
                f"the clock anchors say {anchors.device_hz} Hz."
            )
            raise RawFormatError(message)


def _unsigned(number: int) -> int:
    if not 0 <= number <= _LARGEST_ID:
        message = f"{number} is no dictionary id: allowed are 0 to {_LARGEST_ID}."
        raise RawFormatError(message)
    return number


def _one_line(text: str) -> bytes:
    return encode_text(re.sub(r"[\r\n]", " ", text)) + b"\n"


def _batches(lines: Sequence[bytes], limit: int) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for line in lines:
        if batch and size + len(line) > limit:
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += len(line)
    if batch:
        yield batch
