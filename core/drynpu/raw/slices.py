"""Putting the slices of a record file together again (cann_msprof.md 2.4, 7)."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from attrs import frozen

from drynpu._errors import OutputError
from drynpu.arrays import U8, Records
from drynpu.raw._record_kind import RecordKind
from drynpu.raw.files import DONE

_PREFIXES = ("unaging", "aging")
_OLDER = r"(?:\.(?:dev|host)\.profiler_default_tag\.\d+)?"
"""What older collectors write between the number of a file and the number of its slice."""

_LEAST_BYTES = 8
"""Of a record that says its size: head and alignment."""
_PROBED = 32
"""Records looked at to find where records begin."""
PART_BYTES = 32 << 20
"""Bytes of records that are in memory at one time, where they are read in parts."""


@frozen
class Slice:
    """One slice file; slices sort as the vendor's parser sorts them: unaging before aging, then by number."""

    rank: int
    number: int
    path: Path


def find_slices(directory: Path, stem: str) -> list[Slice]:
    """
    List the slices of a stem, ``.done`` and ``.complete`` marks and temporary files left aside.

    A stem that begins with ``unaging.`` stands for the ``aging.`` files as well. Between the stem and the number
    stands the device; older collectors have further parts there (cann_msprof.md 7).
    """
    if not directory.is_dir():
        return []
    base = stem.removeprefix("unaging.")
    # By name: a path object for every file takes longer than all the rest, then comes a pattern for every stem.
    names = [name for name in os.listdir(directory) if base in name]  # noqa: PTH208
    if not names:
        return []
    pattern = re.compile(rf"(?:(unaging|aging)\.)?{re.escape(base)}(?:\.\d+)?{_OLDER}\.slice_(\d+)")
    slices = []
    for match in filter(None, map(pattern.fullmatch, names)):
        path = directory / match[0]
        if path.is_file():
            slices.append(Slice(_PREFIXES.index(match[1] or "unaging"), int(match[2]), path))
    return sorted(slices, key=lambda entry: (entry.rank, entry.number, entry.path.name))


def read_records(directory: Path, entry: RecordKind, notes: list[str], prefix: str | None = None) -> Records:
    """
    Read all records of a kind in a data directory at once; see `record_parts`.

    Raises
    ------
    OutputError
        If a slice cannot be read.
    """
    return join_parts(entry, list(record_parts(directory, entry, notes, prefix, sys.maxsize)))


def join_parts(entry: RecordKind, parts: Sequence[Records]) -> Records:
    """Return the records of all parts."""
    if not parts:
        return np.zeros(0, entry.dtype)
    # By bytes: numpy would give joined records a layout of its own, without the reserved bytes.
    joined = [np.ascontiguousarray(part).view(np.uint8) for part in parts]
    return parts[0] if len(parts) == 1 else np.concatenate(joined).view(entry.dtype)


def record_parts(
    directory: Path, entry: RecordKind, notes: list[str], prefix: str | None = None, part_bytes: int = PART_BYTES
) -> Iterator[Records]:
    """
    Yield all records of a kind in a data directory in parts; what cannot be used is left out and noted.

    *prefix* (``unaging``, ``aging``) chooses files by the beginning of their name. Files that together have no more
    than *part_bytes* are one part.

    Raises
    ------
    OutputError
        If a slice cannot be read.
    """
    for stem in (entry.stem, *entry.also):
        slices = find_slices(directory, stem)
        if prefix is not None:
            slices = [part for part in slices if part.rank == _PREFIXES.index(prefix)]
        for run in unbroken(slices, stem, notes):
            note_unfinished(run, notes)
            for records in _run_parts(run, entry, notes, part_bytes):
                yield records if entry.function is None else records[entry.members(records)]


def unbroken(slices: Sequence[Slice], stem: str, notes: list[str]) -> Iterator[list[Slice]]:
    """Split into runs without a missing number: only inside a run may a record cross from a slice to the next."""
    run: list[Slice] = []
    for entry in slices:
        if run and entry.rank == run[-1].rank and entry.number <= run[-1].number + 1:
            run.append(entry)
            continue
        if run:
            yield run
        same_rank = bool(run) and run[-1].rank == entry.rank
        expected = run[-1].number + 1 if same_rank else 0
        if entry.number > expected:
            last = f" to {entry.number - 1}" if entry.number - 1 > expected else ""
            notes.append(f"{_PREFIXES[entry.rank]} {stem}: slice {expected}{last} is missing")
        run = [entry]
    if run:
        yield run


def note_unfinished(run: Sequence[Slice], notes: list[str]) -> None:
    """Note the slices that lack the mark of completeness."""
    notes.extend(
        f"{entry.path.name}: read without its .done mark; collection may have been cut short"
        for entry in run
        if not any(entry.path.with_name(entry.path.name + mark).exists() for mark in (DONE, ".complete"))
    )


def note_cut(directory: Path, entry: RecordKind, notes: list[str]) -> None:
    """Note the slices of a kind that are shorter than their mark says: a cut between records shows nowhere else."""
    for part in (part for stem in (entry.stem, *entry.also) for part in find_slices(directory, stem)):
        size, promised = part.path.stat().st_size, _promised_size(part.path.with_name(part.path.name + DONE))
        if promised is not None and size < promised:
            notes.append(f"{part.path.name}: {size} bytes are there, its .done mark says {promised}")


def _promised_size(mark: Path) -> int | None:
    """Return the size that a mark of completeness names, ``None`` if it names none."""
    try:
        match = re.match(rb"filesize: ?([0-9]{1,19})\s*$", mark.read_bytes()[:64])
    except OSError:
        return None
    return None if match is None else int(match[1])


def _run_parts(run: Sequence[Slice], entry: RecordKind, notes: list[str], part_bytes: int) -> Iterator[Records]:
    """Yield the records of files that follow each other, in parts of whole records."""
    name, size = f"{run[0].path.parent.parent.name}/{run[0].path.name}", entry.dtype.itemsize
    total = _size(run)
    if entry.sized or total <= part_bytes:
        data = next(_blocks(run, total, 0, total))
        data = _same_size(data, size) if entry.sized else data
        start, total = _first_record(data, len(data), entry), len(data)
        blocks = iter((data[start:],))
    else:
        start = _first_record(next(_blocks(run, total, 0, (_PROBED + 2) * size)), total, entry)
        blocks = _blocks(run, total, start, part_bytes // size * size)
    rest = (total - start) % size
    if start:
        notes.append(f"{name}: {start} leading bytes are not a whole record and were left out")
    if rest:
        notes.append(f"{name}: {rest} bytes at the end are not a whole record and were left out")
    bad = 0
    for block in blocks:
        whole = len(block) // size * size
        records = block[:whole].view(entry.dtype) if whole else np.zeros(0, entry.dtype)
        if entry.constants:
            good = entry.plausible(records)
            bad += int(len(good) - good.sum())
            records = records if good.all() else records[good]
        yield records
    if bad:
        notes.append(f"{name}: {bad} records without the constant fields of {entry.name} were left out")


def _size(run: Sequence[Slice]) -> int:
    try:
        return sum(entry.path.stat().st_size for entry in run)
    except OSError as error:
        raise OutputError(f"Cannot read the records in {run[0].path.parent}: {error}.") from error


def _blocks(run: Sequence[Slice], total: int, start: int, block_bytes: int) -> Iterator[U8]:
    """Yield the bytes of the files from *start* on as arrays of *block_bytes*, whichever file they stand in."""
    left = total - start
    try:
        room, filled = np.empty(min(block_bytes, left), np.uint8), 0
        for entry in run:
            with entry.path.open("rb", buffering=0) as file:
                size = entry.path.stat().st_size
                if start >= size:
                    start -= size
                    continue
                file.seek(start)
                start = 0
                while got := _fill(file, room[filled:]):
                    filled, left = filled + got, left - got
                    if filled == len(room) and left > 0:
                        yield room
                        room, filled = np.empty(min(block_bytes, left), np.uint8), 0
    except OSError as error:
        message = f"Cannot read the records in {run[0].path.parent}: {error}."
        raise OutputError(message) from error
    except MemoryError as error:
        message = f"Cannot read the records in {run[0].path.parent}: {total} bytes do not fit into memory."
        raise OutputError(message) from error
    yield room[:filled]


def _fill(file: io.RawIOBase, room: U8) -> int:
    filled = 0
    while filled < len(room) and (count := file.readinto(room[filled:].data)):
        filled += count
    return filled


def _same_size(data: U8, size: int) -> U8:
    """
    Return the bytes of the records of that size, where records of several stand in one file.

    All bytes, where the sizes do not lead from the first to the last of them: then they are not sizes.
    """
    if len(data) % size == 0 and (data[2::size] == size & 0xFF).all() and (data[3::size] == size >> 8).all():
        return data
    kept, at = [], 0
    while at + 4 <= len(data):
        stated = int(data[at + 2]) | int(data[at + 3]) << 8
        if stated < _LEAST_BYTES or at + stated > len(data):
            break
        low, high = data[at + 2 :: stated], data[at + 3 :: stated]
        other = (low[: len(high)] != stated & 0xFF) | (high != stated >> 8)
        whole = (len(data) - at) // stated
        count = min(int(np.argmax(other)) if other.any() else whole, whole)
        if stated == size:
            kept.append(data[at : at + count * stated])
        at += count * stated
    if at != len(data):
        return data
    return np.concatenate(kept) if kept else data[:0]


def _first_record(data: U8, total: int, entry: RecordKind) -> int:
    """
    Offset of the first whole record of *total* bytes, of which *data* are the first, more than `_PROBED` records.

    Files of whole records begin with one. Otherwise the bytes over are, as the vendor has it, the rest of a record
    whose beginning was in a deleted slice; but a file whose end was cut shows its records from the first byte
    on, and one that lost both is searched. The constant or reserved fields of the kind tell.
    """
    size = entry.dtype.itemsize
    over = total % size
    if not over or total < size:
        return 0 if total >= size else total
    best, best_share = over, -1.0
    for start in (over, 0, *range(1, size)):
        count = min((len(data) - start) // size, _PROBED)
        if not count:
            continue
        share = float(entry.plausible(data[start : start + count * size].view(entry.dtype)).mean())
        if share > best_share:
            best, best_share = start, share
        if best_share == 1.0:
            break
    return best
