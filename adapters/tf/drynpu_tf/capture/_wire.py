"""
Protocol buffers' wire format, read in columns.

TensorFlow's traces hold a message for every event. A decoder that makes an object of each takes longer than the steps
that were traced, so that here many messages are read at once: field by field, all messages in step. Layout:
protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import define, frozen

__all__ = ["Fields", "Repeated", "Wire"]

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_KIND = 7
_LONG = 0x80
"""Of a tag: the bits that say what follows; the bit that says that the tag goes on in the next byte."""
_PADDING = bytes(24)
"""So that a word can be read wherever a message ends."""
_WINDOW = 1 << 18
"""How many bytes are looked at together for fields that follow one another; what belongs to them stays in cache."""
_ONE = np.uint64(1)
_STOPS = np.uint64(0x8080808080808080)
_SEVENS = np.uint64(0x7F7F7F7F7F7F7F7F)
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)
"""The lowest bytes of a word, by how many."""
_FOLDS = (
    (np.uint64(0x007F007F007F007F), np.uint64(0x7F007F007F007F00), _ONE),
    (np.uint64(0x00003FFF00003FFF), np.uint64(0x3FFF00003FFF0000), np.uint64(2)),
    (np.uint64(0x000000000FFFFFFF), np.uint64(0x0FFFFFFF00000000), np.uint64(4)),
)
"""Groups of 7 bits come together in pairs, in fours, in eights: mask that stays, mask that moves, by how much."""


@frozen(eq=False)
class Fields:
    """
    Fields of many messages; columns have shape ``[n]``, in the order of each message's own fields.

    ``message`` is the position of the message. ``value`` is what a varint or a fixed field holds (its 64 bits as a
    signed number), or where in the content the payload of a field with a length begins; ``end`` is where it ends.
    """

    message: I64
    number: I64
    value: I64
    end: I64

    def of(self, number: int) -> tuple[I64, I64, I64]:
        """Return message, value and end of the fields with that number."""
        rows = np.flatnonzero(self.number == number)
        return self.message[rows], self.value[rows], self.end[rows]

    def column(self, number: int, messages: int, default: int = 0) -> I64:
        """Return for each of so many messages the value of a field that it has once at most."""
        found = np.full(messages, default, np.int64)
        message, value, _ = self.of(number)
        found[message] = value
        return found


@frozen(eq=False)
class Repeated:
    """
    Fields of one number; columns have shape ``[n]``, message by message and in their order.

    ``message`` is the position of the message, ``head`` where the field begins, ``begin`` and ``end`` its payload.
    """

    message: I64
    head: I64
    begin: I64
    end: I64


@define(eq=False)
class Wire:
    """
    Serialised messages; positions are bytes of ``content``.

    Raises
    ------
    ValueError
        From all readers: the bytes are no messages.
    """

    content: bytes
    _octets: npt.NDArray[np.uint8]
    _words: U64

    @classmethod
    def of(cls, content: bytes) -> Wire:
        """Make *content* readable."""
        octets = np.frombuffer(content + _PADDING, np.uint8)
        # The eight bytes from every position on, as a little-endian number.
        words = np.ndarray((len(content) + len(_PADDING) - 8,), np.dtype("<u8"), octets, strides=(1,))
        return cls(content, octets, words)

    def word(self, at: I64, length: I64) -> U64:
        """Return up to eight bytes *at* a place as one number, the first byte its lowest; *length* may be any."""
        size = np.clip(length, 0, 8)
        return self._words[np.where(size > 0, at, 0)] & _MASKS[size]

    def fields(self, begin: I64, end: I64) -> Fields:
        """Return all fields of the messages that lie from *begin* to *end*; for messages with few."""
        message, at = np.arange(len(begin)), begin
        parts: list[tuple[I64, I64, I64, I64]] = []
        while True:
            going = np.flatnonzero(at < end)
            if not len(going):
                break
            message, at, end = message[going], at[going], end[going]
            number, value, at = self._field(at, end)
            parts.append((message, number, value, at))
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)] or [np.empty(0, np.int64)] * 4
        return Fields(*columns)

    def first(self, begin: I64, end: I64) -> tuple[I64, I64]:
        """Return number and value of the first field of each message, -1 and 0 for messages without one."""
        number, value = np.full(len(begin), -1, np.int64), np.zeros(len(begin), np.int64)
        some = np.flatnonzero(begin < end)
        number[some], value[some], _ = self._field(begin[some], end[some])
        return number, value

    def repeated(self, begin: I64, end: I64, number: int) -> Repeated:
        """
        Return all fields of one *number* (below 16), each with a length, of messages that have very many of them.

        The messages lie in the content one after another, as *begin* and *end* do.
        """
        message, at = np.arange(len(begin)), begin
        parts: list[tuple[I64, I64, I64, I64]] = []
        while True:
            going = np.flatnonzero(at < end)
            if not len(going):
                break
            message, at, end = message[going], at[going], end[going]
            tags, (_, _, after) = self._octets[at], self._field(at, end)
            for tag in np.unique(tags[(tags & _KIND == _LENGTH) & (tags < _LONG)]).tolist():
                own = np.flatnonzero(tags == tag)
                owner, *found, after[own] = self._runs(at[own], end[own], tag)
                if tag >> 3 == number:
                    parts.append((message[own[owner]], *found))
            at = after
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)] or [np.empty(0, np.int64)] * 4
        order = np.lexsort((columns[1], columns[0]))
        return Repeated(*(column[order] for column in columns))

    def split(self, begin: int, end: int, number: int) -> tuple[I64, I64, bytes]:
        """
        Take one message apart that has very many fields of one *number*, as :meth:`repeated` does.

        Returns where their payloads begin and end, and the bytes of all other fields.
        """
        found = self.repeated(np.array([begin]), np.array([end]), number)
        low, high = np.append(begin, found.end), np.append(found.head, end)
        gaps = np.flatnonzero(low < high)
        rest = [self.content[one:other] for one, other in zip(low[gaps].tolist(), high[gaps].tolist(), strict=True)]
        return found.begin, found.end, b"".join(rest)

    def _runs(self, at: I64, end: I64, tag: int) -> tuple[I64, I64, I64, I64, I64]:
        """
        Return the fields that follow one another from each of *at* on and have the tag that is there.

        They are all that begin in one window; the next call goes on. Every byte that looks like the tag may begin a
        field and tells where the next one would be; those that lie on the way from the first are fields. Each round
        doubles the way that is known. The columns: the position in *at*, where the field, its payload and the next
        field begin; and for each of *at* where its last field ends.
        """
        low, until = int(at[0]), np.minimum(end, at + _WINDOW)
        head = low + np.flatnonzero(self._octets[low : int(until[-1])] == tag)
        owner = np.searchsorted(at, head, side="right") - 1
        inside = np.flatnonzero(head < until[owner])
        head, owner = head[inside], owner[inside]
        length, begin = self._varint(head + 1)
        limit = end[owner]
        stop = begin + np.where((length >= 0) & (length <= limit), length, limit)
        nowhere = len(head)
        place = np.full(int(until[-1]) - low + 1, nowhere, np.int32)
        place[head - low] = np.arange(nowhere, dtype=np.int32)
        first = place[at - low]
        jump = np.append(place[np.where(stop < until[owner], stop - low, len(place) - 1)], np.int32(nowhere))
        reached = np.zeros(nowhere + 1, bool)
        reached[first] = True
        while True:
            reached[jump[reached]] = True
            if (jump[first] == nowhere).all():
                break
            jump = jump[jump]
        rows = np.flatnonzero(reached[:nowhere] & (stop <= limit))
        last = np.searchsorted(owner[rows], np.arange(len(at)), side="right") - 1
        return owner[rows], head[rows], begin[rows], stop[rows], stop[rows[last]]

    def _field(self, at: I64, end: I64) -> tuple[I64, I64, I64]:
        """Return number and value of the fields that begin *at*, and where the next ones do."""
        tag, after = self._varint(at)
        kind = tag & _KIND
        value, following = self._varint(after)
        lengths, fixed = kind == _LENGTH, (kind == _FIXED64) | (kind == _FIXED32)
        if fixed.any():
            wide = kind == _FIXED64
            value = np.where(fixed, self._words[after].view(np.int64), value)
            value = np.where(fixed & ~wide, value & 0xFFFFFFFF, value)
            following = np.where(fixed, after + np.where(wide, 8, 4), following)
        # A length that leads out of the message is found below; it shall not overflow before.
        stop = np.where(lengths, following + np.where(value < 0, len(self.content), value), following)
        stop = np.where(lengths & (value > len(self.content)), len(self.content) + 1, stop)
        wrong = ((kind != _VARINT) & ~lengths & ~fixed) | (stop > end) | (tag < 8)
        if wrong.any():
            place = int(at[np.flatnonzero(wrong)[0]])
            raise ValueError(f"byte {place} of {len(self.content)} begins no field of a protobuf message")
        return tag >> 3, np.where(lengths, following, value), stop

    def _varint(self, at: I64) -> tuple[I64, I64]:
        """Return the numbers that begin *at*, as 64 bits with a sign, and where they end."""
        value, after = self._octets[at].astype(np.int64), at + 1
        more = np.flatnonzero(value >= _LONG)  # tags and most lengths are one byte
        if len(more):
            value[more], after[more] = self._long_varint(at[more])
        return value, after

    def _long_varint(self, at: I64) -> tuple[I64, I64]:
        word = self._words[at]
        stops = ~word & _STOPS
        # All bits up to the first byte that says it is the last one.
        value = word & (stops ^ (stops - _ONE)) & _SEVENS
        for stays, moves, distance in _FOLDS:
            value = (value & stays) | ((value & moves) >> distance)
        # That bit is the top one of its byte; a float's exponent tells which (a power of two is exact in it).
        lowest = stops & (~stops + _ONE)
        length = (np.frexp(lowest.astype(np.float64))[1] >> 3).astype(np.int64)
        long = np.flatnonzero(stops == 0)
        if len(long):
            value, length = value.copy(), length.copy()
            high = self._words[at[long] + 8]
            ninth, tenth = high & np.uint64(0xFF), (high >> np.uint64(8)) & np.uint64(0xFF)
            value[long] |= (ninth & np.uint64(0x7F)) << np.uint64(56)
            more = ninth >= np.uint64(0x80)
            value[long] |= np.where(more, (tenth & _ONE) << np.uint64(63), np.uint64(0))
            length[long] = np.where(more, 10, 9)
        return value.view(np.int64), at + length
