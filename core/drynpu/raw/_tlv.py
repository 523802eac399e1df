"""
The files of ``FRAMEWORK`` (torch_npu_profiler.md 3.7, mindspore_profiler.md 11).

A TLV record is u16 type, u32 length, payload; a payload is a fixed struct (which may be empty) and then text fields,
each again u16 type, u32 length, UTF-8. A flat file is fixed structs and nothing else.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from attrs import frozen

from drynpu._errors import RawFormatError
from drynpu.arrays import I64, U8, Array, Records
from drynpu.raw._hash import encode_text
from drynpu.raw.files import read_blocks, read_bytes, write_atomically

_HEADER = struct.Struct("<HI")
_LONGEST = 0xFFFF_FFFF
_CHUNK = 1 << 15
"""Records handled at once: bounds the index arrays of the scatter (32768 * 64 * 8 bytes)."""


@frozen(eq=False)
class TlvRecords:
    """What a TLV file holds: the fixed parts, and for each record an index into the distinct sets of texts."""

    fixed: Records
    """Structured array, one row per record."""
    text_index: I64
    """Row of ``texts`` per record, -1 for a record without text fields."""
    texts: tuple[dict[int, str], ...]
    """Distinct sets of texts, field id -> text."""
    notes: tuple[str, ...]
    """What was skipped, one readable line each."""


@frozen(eq=False)
class FlatRecords:
    """What a flat file holds."""

    fixed: Records
    notes: tuple[str, ...]


def write_tlv(
    path: Path,
    record_type: int,
    fixed: Records,
    text_index: npt.ArrayLike | None = None,
    texts: Sequence[Mapping[int, str]] = (),
) -> None:
    """
    Write a TLV file; nothing at all for no records.

    Parameters
    ----------
    path:
        The file; it appears complete or not at all.
    record_type:
        Type of every record (`FrameworkRecord`).
    fixed:
        Structured array of n fixed parts.
    text_index:
        n integers, each the row of ``texts`` for that record, -1 for none. By default none has any.
    texts:
        Distinct sets of texts, field id -> text. A field that is not in the mapping is not written; an empty
        text is written as an empty field.

    Raises
    ------
    RawFormatError
        If an index points nowhere, or a record grows beyond 4 GiB.
    OutputError
        If the file cannot be written.
    """
    if len(fixed) == 0:
        return
    index = _checked_index(text_index, len(fixed), len(texts))
    # One record per distinct set of texts with its fixed part still zero; the last is the one without texts (-1).
    blobs = [*(_encode_fields(fields) for fields in texts), b""]
    templates = [_template(record_type, fixed.dtype.itemsize, blob) for blob in blobs]
    write_atomically(path, _records(templates, fixed, index))


def read_tlv(path: Path, dtype: np.dtype[np.void], record_type: int | None = None) -> TlvRecords:
    """
    Read a TLV file; what cannot be read is left out and noted.

    Record bounds are only known one after the other, so finding them is one sequential pass of about 0.5 us per
    record (measured on 1e6 op_range records of 190 bytes; 2 us per record in all). Everything else is by column,
    and each distinct set of texts is decoded once.

    Parameters
    ----------
    path:
        The file.
    dtype:
        Layout of the fixed part.
    record_type:
        If given, records of other types are left out and noted.

    Raises
    ------
    OutputError
        If the file cannot be read at all.
    """
    file = TlvFile(path, dtype, record_type)
    parts = list(file.parts(-1))
    texts = file.texts()
    return TlvRecords(
        fixed=parts[0][0] if len(parts) == 1 else np.concatenate([fixed for fixed, _ in parts]),
        text_index=np.concatenate([index for _, index in parts]),
        texts=texts,
        notes=tuple(file.notes),
    )


def write_flat(path: Path, records: Records) -> None:
    """
    Write fixed structs one after the other; nothing at all for no records.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    if len(records):
        write_atomically(path, [np.ascontiguousarray(records).tobytes()])


def read_flat(path: Path, dtype: np.dtype[np.void]) -> FlatRecords:
    """
    Read fixed structs; a cut last one is left out and noted.

    Raises
    ------
    OutputError
        If the file cannot be read at all.
    """
    data = read_bytes(path, "records of the framework's host side")
    count, rest = divmod(len(data), dtype.itemsize)
    notes = (f"{path.name}: {rest} bytes at the end are not a whole record and were left out",) if rest else ()
    return FlatRecords(fixed=np.frombuffer(data, dtype, count).copy(), notes=notes)


def _checked_index(text_index: npt.ArrayLike | None, count: int, texts: int) -> I64:
    if text_index is None:
        return np.full(count, -1, np.int64)
    index: I64 = np.asarray(text_index).astype(np.int64)
    if index.shape != (count,):
        message = f"text_index has shape {index.shape}: there are {count} records, each needs one entry"
        raise RawFormatError(message)
    if int(index.min()) < -1 or int(index.max()) >= texts:
        worst = int(index.max()) if int(index.max()) >= texts else int(index.min())
        message = f"text_index holds {worst}: allowed are -1 (no texts) to {texts - 1}"
        raise RawFormatError(message)
    return index


def _encode_fields(fields: Mapping[int, str]) -> bytes:
    parts: list[bytes] = []
    for field, text in fields.items():
        encoded = encode_text(text)
        if not 0 <= field <= 0xFFFF or len(encoded) > _LONGEST:
            message = f"text field {field} of {len(encoded)} bytes does not fit a u16 type and a u32 length"
            raise RawFormatError(message)
        parts += (_HEADER.pack(field, len(encoded)), encoded)
    return b"".join(parts)


def _template(record_type: int, fixed_size: int, blob: bytes) -> bytes:
    length = fixed_size + len(blob)
    if not 0 <= record_type <= 0xFFFF or length > _LONGEST:
        message = f"a record of type {record_type} and {length} bytes does not fit a u16 type and a u32 length"
        raise RawFormatError(message)
    return _HEADER.pack(record_type, length) + bytes(fixed_size) + blob


def _records(templates: Sequence[bytes], fixed: Records, index: I64) -> Iterator[memoryview]:
    size = fixed.dtype.itemsize
    lengths = np.array([len(template) for template in templates], np.int64)
    within = np.arange(size, dtype=np.int64) + _HEADER.size
    for first in range(0, len(fixed), _CHUNK):
        part = index[first : first + _CHUNK]
        ends = np.cumsum(lengths[part])
        out = np.frombuffer(bytearray().join(map(templates.__getitem__, part.tolist())), np.uint8)
        rows = _bytes_of(fixed[first : first + _CHUNK])
        out[(ends - lengths[part])[:, np.newaxis] + within] = rows
        yield out.data


def _bytes_of(fixed: Records) -> U8:
    """Return the bytes of each row, ``[n, itemsize]``; numpy has no view of rows without any."""
    size = fixed.dtype.itemsize
    return np.ascontiguousarray(fixed).view(np.uint8).reshape(-1, size) if size else np.empty((len(fixed), 0), np.uint8)


class TlvFile:
    """
    A TLV file that is read in parts; `texts` and `notes` are complete when all of them were taken.

    Attributes
    ----------
    notes:
        What was left out.
    """

    def __init__(self, path: Path, dtype: np.dtype[np.void], record_type: int | None = None) -> None:
        self.path, self.dtype = path, dtype
        self._type = record_type
        self._distinct: dict[bytes, int] = {b"": -1}
        self.notes: list[str] = []

    def parts(self, part_bytes: int) -> Iterator[tuple[Records, I64]]:
        """
        Yield the fixed parts of the records and the number of their texts, -1 for none; at least one part.

        A part has *part_bytes* of the file; -1: all of them.

        Raises
        ------
        OutputError
            If the file cannot be read.
        """
        short = foreign = 0
        data, left = b"", 0
        for block in read_blocks(self.path, "records of the framework's host side", part_bytes):
            data = data + block if data else block
            starts, index, end, bad = self._scan(data)
            short, foreign = short + bad[0], foreign + bad[1]
            yield _gather(np.frombuffer(data, np.uint8), starts, self.dtype), index
            data = data[end:]
            left = len(data)
        name, size = self.path.name, self.dtype.itemsize
        if left:
            self.notes.append(f"{name}: {left} bytes at the end are not a whole record and were left out")
        if short:
            self.notes.append(f"{name}: {short} records shorter than their fixed part of {size} bytes were left out")
        if foreign:
            self.notes.append(f"{name}: {foreign} records of a type other than {self._type} were left out")

    def rewritten(self, change: Callable[[Records], None], part_bytes: int) -> Iterator[bytes]:
        """
        Yield the bytes of the file with the fixed parts of its records as *change* leaves them; all else stays.

        Raises
        ------
        OutputError
            If the file cannot be read.
        """
        left = b""
        within = np.arange(self.dtype.itemsize, dtype=np.int64)
        for block in read_blocks(self.path, "records of the framework's host side", part_bytes):
            data = np.frombuffer(left + block, np.uint8).copy()
            starts, _, end, _ = self._scan(data.tobytes())
            fixed = _gather(data, starts, self.dtype)
            change(fixed)
            for first in range(0, len(starts), _CHUNK):
                data[starts[first : first + _CHUNK, np.newaxis] + within] = _bytes_of(fixed[first : first + _CHUNK])
            yield data[:end].tobytes()
            left = data[end:].tobytes()
        yield left

    def texts(self) -> tuple[dict[int, str], ...]:
        """Return the distinct sets of texts."""
        return tuple(_decode_fields(blob, self.path.name, self.notes) for blob in self._distinct if blob)

    def _scan(self, data: bytes) -> tuple[I64, I64, int, tuple[int, int]]:
        """
        Return where the fixed parts of the usable records start, the numbers of their texts, and where the last ends.

        Numbers are kept in arrays and bytes once, since objects for each record would take more room than the file.
        """
        starts, index = array("q"), array("q")
        unpack, position, size, fixed_size = _HEADER.unpack_from, 0, len(data), self.dtype.itemsize
        distinct, record_type = self._distinct, self._type
        short = foreign = 0
        while position + 6 <= size:
            kind, length = unpack(data, position)
            start = position + 6
            position = start + length
            if position > size:
                position = start - 6
                break
            if record_type is not None and kind != record_type:
                foreign += 1
            elif length < fixed_size:
                short += 1
            else:
                starts.append(start)
                index.append(distinct.setdefault(data[start + fixed_size : position], len(distinct) - 1))
        return np.frombuffer(starts, np.int64), np.frombuffer(index, np.int64), position, (short, foreign)


def _decode_fields(blob: bytes, name: str, notes: list[str]) -> dict[int, str]:
    fields: dict[int, str] = {}
    position = 0
    while position + _HEADER.size <= len(blob):
        field, length = _HEADER.unpack_from(blob, position)
        start = position + _HEADER.size
        if start + length > len(blob):
            break
        position = start + length
        raw = blob[start:position]
        fields[field] = raw.decode("utf-8", "replace")
        if encode_text(fields[field]) != raw:
            _note_once(notes, f"{name}: text that is not UTF-8 was read with replacement characters")
    if position < len(blob):
        _note_once(notes, f"{name}: text fields that reach beyond their record were left out")
    return fields


def _note_once(notes: list[str], note: str) -> None:
    if note not in notes:
        notes.append(note)


def _gather(data: U8, starts: I64, dtype: np.dtype[np.void]) -> Array:
    fixed: Records = np.empty(len(starts), dtype)
    rows = _bytes_of(fixed)
    within = np.arange(dtype.itemsize, dtype=np.int64)
    for first in range(0, len(starts), _CHUNK):
        rows[first : first + _CHUNK] = data[starts[first : first + _CHUNK, np.newaxis] + within]
    return fixed
