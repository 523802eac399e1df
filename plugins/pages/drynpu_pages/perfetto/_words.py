"""Texts of a trace: each stands there once, events have its number."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from attrs import define, field

from drynpu.arrays import I64
from drynpu_pages.perfetto._wire import Part, joined, message, number, text

NAMES, CATEGORIES, ARGUMENTS, TEXTS = 2, 1, 3, 29
"""Kinds of texts: fields of InternedData."""
SEQUENCE = joined(1, number(10, 1))
"""trusted_packet_sequence_id: numbers of texts hold within a sequence of packets."""
_MOST = 10_000
"""Texts in a packet."""
DEPENDENT = SEQUENCE + joined(1, number(13, 2))
"""With sequence_flags: without the texts before it the packet means nothing."""
BEGIN = joined(1, message(1, SEQUENCE, joined(1, number(13, 1))))
"""The packet from which on texts hold; a reader leaves out what depends on texts and comes before."""


@define(eq=False)
class Words:
    """The texts so far, and the ones that the trace does not have yet."""

    _numbers: dict[tuple[int, str], int] = field(factory=dict, init=False)
    _waiting: list[tuple[Part, ...]] = field(factory=list, init=False)

    def numbers(self, kind: int, texts: Iterable[str]) -> I64:
        """Return the numbers of texts, from 1."""
        return np.array([self._number(kind, each) for each in texts], np.int64)

    def _number(self, kind: int, word: str) -> int:
        known = self._numbers.get((kind, word))
        if known is None:
            known = self._numbers[kind, word] = len(self._numbers) + 1
            self._waiting.append(message(kind, joined(1, number(1, known)), text(2, word)))
        return known

    def new(self) -> bytes:
        """Return packets with the texts that came since the last call."""
        waiting, self._waiting = self._waiting, []
        parts = [waiting[place : place + _MOST] for place in range(0, len(waiting), _MOST)]
        packets = []
        for part in parts:
            entries = b"".join(joined(1, each) for each in part)
            packets.append(joined(1, message(1, DEPENDENT, *message(12, entries))))
        return b"".join(packets)
