"""``get_op_*``: reading records out of memory that the script points to (pyacl_prof.md 8)."""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from collections.abc import Callable
from itertools import count

import numpy as np
from attrs import define, field

from drynpu.arrays import U64, Records
from drynpu_acl.constants import ReturnCode
from drynpu_acl.prof._records import RECORD_BYTES, read_records

_BAD, _OK = ReturnCode.INVALID_PARAM, ReturnCode.SUCCESS
_MOST_LENGTH = 4096
"""Bytes of a name or type that a script may ask for at most."""
_TERMINATOR_BYTES = 1
"""The C functions end a text with a zero and count it."""
_PIECE = 4096
"""What a pipe takes at once without blocking."""
_MOST = 1 << 26
"""64 MiB: more than any buffer of records a script reads; a wild length is none."""


@define
class OpReaders:
    """
    The getters, and the names and types that belong to records of this process.

    Names and types are kept here under the record's index until a getter has returned them: a second call for the same
    record fails, as it does with the vendor's.
    """

    _names: dict[int, str] = field(factory=dict)
    _types: dict[int, str] = field(factory=dict)
    _numbers: count[int] = field(factory=lambda: count(1))
    _lock: threading.Lock = field(factory=threading.Lock)
    _checked: tuple[bytes, Records] | None = None
    """The last good buffer, so that a script that reads record by record has it checked once."""

    def register(self, words: list[tuple[str, str]]) -> U64:
        """Keep a name and a type for each of as many records and return their indices, uint64 ``[n]``."""
        with self._lock:
            numbers = [next(self._numbers) for _ in words]
        for number, (name, op_type) in zip(numbers, words, strict=True):
            self._names[number], self._types[number] = name, op_type
        return np.array(numbers, np.uint64)

    def number(self, address: int, length: int) -> tuple[int, int]:
        """Return how many records there are, and the code."""
        records = self._records(address, length)
        return (0, _BAD) if records is None else (len(records), _OK)

    def text(self, kind: str, address: int, length: int, index: int, room: int) -> tuple[str, int]:
        """Return the ``name`` or ``type`` of a record, once, and the code; it has to fit into *room* bytes."""
        if room > _MOST_LENGTH:
            return "", _BAD
        key, kept = self._key(address, length, index), self._kept(kind)
        text = kept.get(key)
        if text is None or len(text.encode()) > room:
            return "", _BAD
        return ("", _BAD) if kept.pop(key, None) is None else (text, _OK)

    def text_v2(self, kind: str, address: int, length: int, index: int) -> tuple[str | None, int]:
        """Return the same without a length: ``None`` where there is no text."""
        room, code = self.text_length(kind, address, length, index)
        return self.text(kind, address, length, index, min(room, _MOST_LENGTH)) if code == _OK else (None, code)

    def text_length(self, kind: str, address: int, length: int, index: int) -> tuple[int, int]:
        """Return the bytes of the text and its terminating zero, and the code; the text stays."""
        text = self._kept(kind).get(self._key(address, length, index))
        return (0, _BAD) if text is None else (len(text.encode()) + _TERMINATOR_BYTES, _OK)

    def value(self, name: str, address: int, length: int, index: int, missing: int) -> int:
        """Return a field of a record, *missing* where there is none."""
        records = self._records(address, length)
        if records is None or index >= len(records):
            return missing
        return int(records[name][index])

    def _kept(self, kind: str) -> dict[int, str]:
        return self._names if kind == "name" else self._types

    def _key(self, address: int, length: int, index: int) -> int:
        return self.value("op_index", address, length, index, 0)

    def _records(self, address: int, length: int) -> Records | None:
        if length % RECORD_BYTES:
            return None
        data = read_memory(address, length)
        if data is None:
            return None
        last = self._checked
        if last is not None and last[0] == data:
            return last[1]
        records = read_records(data)
        if records is not None:
            self._checked = data, records
        return records


@functools.cache
def _write() -> Callable[[int, int, int], int]:
    """Return the C library's ``write``, which takes an address."""
    write = ctypes.CDLL(None).write
    write.argtypes, write.restype = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t), ctypes.c_ssize_t
    typed_write: Callable[[int, int, int], int] = write
    return typed_write


def read_memory(address: int, size: int) -> bytes | None:
    """
    Return *size* bytes at *address*, ``None`` where this process has no such memory.

    The kernel reads for us: ``write`` answers EFAULT for a bad address, where following it would end the process.
    """
    if address <= 0 or not 0 < size <= _MOST or address + size >= 2**64:
        return None
    write = _write()
    source, sink = os.pipe()
    try:
        pieces = []
        for offset in range(0, size, _PIECE):
            length = min(_PIECE, size - offset)
            if write(sink, address + offset, length) != length:
                return None
            pieces.append(os.read(source, length))
        return b"".join(pieces)
    finally:
        os.close(source)
        os.close(sink)
