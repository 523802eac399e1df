"""
Protocol buffers' wire format, read in columns.

TensorFlow's traces hold a message for every event. A decoder that makes an object of each takes longer than the steps
that were traced, so that here many messages are read at once: field by field, all messages in step. Layout:
protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

import numpy as np
from attrs import define, frozen

from drynpu.arrays import I64, U8, U64

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_KIND = 7
_LONG = 0x80
"""Of a tag: the bits that say what follows; the bit that says that the tag goes on in the next byte."""
_FIRST_TAG = 1 << 3
_PADDING = bytes(24)
"""So that a word can be read wherever a message ends."""
_WINDOW = 1 << 18
"""How many bytes are looked at together for fields that follow one another; what belongs to them stays in cache."""
_TOGETHER = 1 << 14
"""How many messages are read in step: their columns stay in cache."""
_ONE = np.uint64(1)
_ONES = np.uint64(0x0101010101010101)
_STOPS = np.uint64(0x8080808080808080)
_SEVENS = np.uint64(0x7F7F7F7F7F7F7F7F)
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

    def numbered(self, number: int) -> tuple[I64, I64, I64]:
        """Return message, value and end of the fields with that number."""
        rows = np.flatnonzero(self.number == number)
        return self.message[rows], self.value[rows], self.end[rows]

    def column(self, number: int, messages: int, default: int = 0) -> I64:
        """Return for each of so many messages the value of a field that it has once at most."""
        values = np.full(messages, default, np.int64)
        message, value, _ = self.numbered(number)
        values[message] = value
        return values


@define(eq=False)
class Wire:
    """
    Serialised messages; positions are bytes of ``content``, which ends with a few zeros.

    Raises
    ------
    ValueError
        From all readers: the bytes are no messages.
    """

    content: bytes
    _octets: U8
    _words: U64

    @classmethod
    def from_bytes(cls, content: bytes) -> Wire:
        """Make *content* readable."""
        content += _PADDING
        octets = np.frombuffer(content, np.uint8)
        # The eight bytes from every position on, as a little-endian number.
        words: U64 = np.ndarray((len(content) - 8,), np.dtype("<u8"), octets, strides=(1,))
        return cls(content, octets, words)

    def fields(self, begin: I64, end: I64) -> Fields:
        """Return all fields of the messages that lie from *begin* to *end*; for messages with few."""
        parts: list[tuple[I64, I64, I64, I64]] = []
        for low in range(0, len(begin), _TOGETHER):
            part = slice(low, low + _TOGETHER)
            message, at, until = np.arange(len(begin))[part], begin[part], end[part]
            while True:
                going = np.flatnonzero(at < until)
                if not len(going):
                    break
                if len(going) < len(at):
                    message, at, until = message[going], at[going], until[going]
                number, value, at = self._field(at, until)
                parts.append((message, number, value, at))
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)] or [np.empty(0, np.int64)] * 4
        return Fields(*columns)

    def first(self, begin: I64, end: I64) -> tuple[I64, I64]:
        """Return number and value of the first field of each message, -1 and 0 for messages without one."""
        number, value = np.full(len(begin), -1, np.int64), np.zeros(len(begin), np.int64)
        some = np.flatnonzero(begin < end)
        number[some], value[some], _ = self._field(begin[some], end[some])
        return number, value

    def split(self, begin: int, end: int, number: int) -> tuple[I64, I64, bytes]:
        """
        Take one message apart that has very many fields of one *number* (below 16), each with a length.

        Returns where their payloads begin and end, and the bytes of all other fields.
        """
        begins, ends, rest = [np.empty(0, np.int64)], [np.empty(0, np.int64)], []
        while begin < end:
            tag = int(self._octets[begin])
            if tag & _KIND == _LENGTH and tag < _LONG:
                run_begins, run_ends = self._run(begin, end)
                stop = int(run_ends[-1])
            else:
                stop = int(self._field(np.array([begin]), np.array([end]))[2][0])
            if tag == number << 3 | _LENGTH:
                begins.append(run_begins)
                ends.append(run_ends)
            else:
                rest.append(self.content[begin:stop])
            begin = stop
        return np.concatenate(begins), np.concatenate(ends), b"".join(rest)

    def _run(self, begin: int, end: int) -> tuple[I64, I64]:
        """
        Return the payloads of fields that follow one another from *begin* on and have the tag that is there.

        They are all that begin in one window; the next call goes on. Every byte that looks like the tag may begin a
        field and tells where the next one would be; those that lie on the way from the first are fields. Each round
        doubles the way that is known.
        """
        self._field(np.array([begin]), np.array([end]))  # the first one has to be a field
        until = min(end, begin + _WINDOW)
        head = begin + np.flatnonzero(self._octets[begin:until] == self._octets[begin])
        length, payload = self._varint(head + 1)
        stop = payload + np.where((length >= 0) & (length <= end), length, end)
        nowhere = len(head)
        place = np.full(until - begin + 1, nowhere, np.int32)
        place[head - begin] = np.arange(nowhere, dtype=np.int32)
        jump = np.append(place[np.where(stop < until, stop, until) - begin], np.int32(nowhere))
        reached = np.zeros(nowhere + 1, bool)
        reached[0] = True
        while True:
            reached[jump[reached]] = True
            if jump[0] == nowhere:
                break
            jump = jump[jump]
        rows = np.flatnonzero(reached[:nowhere] & (stop <= end))
        return payload[rows], stop[rows]

    def _field(self, at: I64, end: I64) -> tuple[I64, I64, I64]:
        """Return number and value of the fields that begin *at*, and where the next ones do."""
        tag, after = self._varint(at)
        kind = tag & _KIND
        value, following = self._varint(after)
        lengths = kind == _LENGTH
        wrong = tag < _FIRST_TAG
        others = np.flatnonzero(kind & ~_LENGTH)
        if len(others):  # neither a varint nor a length
            wide, narrow = kind[others] == _FIXED64, kind[others] == _FIXED32
            word = self._words[after[others]].view(np.int64)
            value[others] = np.where(wide, word, word & 0xFFFFFFFF)
            following[others] = after[others] + np.where(wide, 8, 4)
            wrong[others] |= ~(wide | narrow)
        stop = following + value * lengths
        # A length may be so large that the sum has no room.
        wrong |= (stop > end) | (stop < following)
        if wrong.any():
            place = int(at[np.flatnonzero(wrong)[0]])
            raise ValueError(
                f"byte {place} of {len(self.content) - len(_PADDING)} begins no field of a protobuf message"
            )
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
        # All bits up to the first byte that says it is the last one, and how many bytes that are.
        mask = stops ^ (stops - _ONE)
        length = (((mask & _ONES) * _ONES) >> np.uint64(56)).astype(np.int64)
        value = word & mask & _SEVENS
        for stays, moves, distance in _FOLDS:
            value = (value & stays) | ((value & moves) >> distance)
        long = np.flatnonzero(stops == 0)
        if len(long):
            high = self._words[at[long] + 8]
            ninth, tenth = high & np.uint64(0xFF), (high >> np.uint64(8)) & np.uint64(0xFF)
            more = ninth >= np.uint64(_LONG)
            value[long] |= (ninth & np.uint64(0x7F)) << np.uint64(56)
            value[long] |= np.where(more, (tenth & _ONE) << np.uint64(63), np.uint64(0))
            length[long] = np.where(more, 10, 9)
        return value.view(np.int64), at + length
