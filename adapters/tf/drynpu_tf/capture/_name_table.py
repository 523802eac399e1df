"""Which of a set of names stands where, for very many places at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen

from drynpu_tf.capture._wire import Wire

__all__ = ["NameTable", "hashes"]

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

_OCTETS = 8
_FACTORS = tuple(
    np.uint64(factor) for factor in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5)
)
"""Large odd numbers; a table whose names collide under one of them takes the next."""
_SHIFT = np.uint64(29)


def hashes(wire: Wire, begin: I64, end: I64, factor: np.uint64 = _FACTORS[0]) -> U64:
    """Return for each stretch of bytes a number of 64 bits that others are not likely to have."""
    length = end - begin
    found = length.astype(np.uint64) * factor
    for number in range(_words_of(length)):
        rest = length - number * _OCTETS
        further = (found ^ wire.word(begin + number * _OCTETS, rest)) * factor
        # Nothing but its own bytes changes a stretch's number, however long others are.
        found = np.where(rest > 0, further ^ (further >> _SHIFT), found)
    return found


def _words_of(length: I64) -> int:
    return -(-int(length.max(initial=0)) // _OCTETS)


@frozen(eq=False)
class NameTable:
    """Distinct names, in the order of their hashes."""

    _wire: Wire
    _begin: I64
    _end: I64
    _hashes: U64
    _number: I64
    _factor: np.uint64

    @classmethod
    def of(cls, names: Sequence[str]) -> NameTable:
        """
        Make a table of *names*.

        Raises
        ------
        ValueError
            A name is there twice.
        """
        spelled = [name.encode() for name in names]
        end = np.cumsum([len(name) for name in spelled], dtype=np.int64)
        begin = np.append(0, end)[: len(spelled)].astype(np.int64)
        wire = Wire.of(b"".join(spelled))
        for factor in _FACTORS:
            found = hashes(wire, begin, end, factor)
            order = np.argsort(found, kind="stable")
            if (found[order][1:] != found[order][:-1]).all():
                return cls(wire, begin[order], end[order], found[order], order, factor)
        raise ValueError(f"the {len(names)} names are not distinct")

    def find(self, wire: Wire, begin: I64, end: I64) -> I64:
        """Return for each stretch of bytes the number of the name that it spells, -1 if it is none of them."""
        if not len(self._number):
            return np.full(len(begin), -1, np.int64)
        found = hashes(wire, begin, end, self._factor)
        place = np.minimum(np.searchsorted(self._hashes, found), len(self._number) - 1)
        length, own = end - begin, self._begin[place]
        same = (self._hashes[place] == found) & (length == self._end[place] - own)
        for number in range(_words_of(np.where(same, length, 0))):
            rest = np.where(same, length - number * _OCTETS, 0)
            same &= wire.word(begin + number * _OCTETS, rest) == self._wire.word(own + number * _OCTETS, rest)
        return np.where(same, self._number[place], -1)
