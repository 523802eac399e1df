"""hash_dic and type_info_dic: what ids in the records stand for, one entry per line (cann_msprof.md 7.2)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from drynpu._errors import RawFormatError
from drynpu.raw._hash import encode_text
from drynpu.raw.files import read_bytes
from drynpu.raw.slices import find_slices

_LARGEST_ID = 0xFFFF_FFFF_FFFF_FFFF
_HASHES = "unaging.additional.hash_dic"
_TYPES = "unaging.additional.type_info_dic"
_NUMBER = "[0-9]{1,20}"


def dictionary_slices(
    hashes: Mapping[int, str], types: Mapping[tuple[int, int], str], limit: int
) -> Iterator[tuple[str, list[bytes]]]:
    """
    Give stem and lines of each slice of the dictionaries; line breaks inside a text become spaces.

    Raises
    ------
    RawFormatError
        If an id is not an unsigned 64-bit number.
    """
    by_stem = {
        _HASHES: ((str(_unsigned(key)), text) for key, text in sorted(hashes.items())),
        _TYPES: ((f"{_unsigned(level)}_{_unsigned(number)}", name) for (level, number), name in sorted(types.items())),
    }
    for stem, entries in by_stem.items():
        lines = [f"{key}:".encode() + _one_line(text) for key, text in entries]
        for part in _batches(lines, limit):
            yield stem, part


def read_hashes(directory: Path, notes: list[str]) -> dict[int, str]:
    """Read texts by id; later lines win."""
    return {int(key): text for key, text in _entries(directory, _HASHES, _NUMBER, notes)}


def read_types(directory: Path, notes: list[str]) -> dict[tuple[int, int], str]:
    """Read names by (level, type id); later lines win."""
    names: dict[tuple[int, int], str] = {}
    for key, name in _entries(directory, _TYPES, f"{_NUMBER}_{_NUMBER}", notes):
        level, _, number = key.partition("_")
        names[int(level), int(number)] = name
    return names


def _entries(directory: Path, stem: str, key_pattern: str, notes: list[str]) -> Iterator[tuple[str, str]]:
    for entry in find_slices(directory, stem):
        text = read_bytes(entry.path, "what the ids in the records stand for").decode("utf-8", "replace")
        for line in text.split("\n"):
            key, colon, value = line.rstrip("\r").partition(":")
            if colon and re.fullmatch(key_pattern, key):
                yield key, value
            elif line.strip():
                notes.append(f"{entry.path.name}: lines that are no <id>:<text> were left out")


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
