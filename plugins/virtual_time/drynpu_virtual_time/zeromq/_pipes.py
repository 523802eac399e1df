"""A way to one other socket: the messages that have come, and those that are still to go."""

from __future__ import annotations

import socket
import struct
from collections import deque
from collections.abc import Callable
from typing import Final

from attrs import define, field

from drynpu_virtual_time.zeromq import _streams

Message = list[bytes]
"""The parts of a message."""
_NUMBER: Final = struct.Struct("<Q")


def encoded(parts: Message) -> bytes:
    """Return the bytes of a message: how many parts, the length of each, the parts."""
    lengths = b"".join(_NUMBER.pack(len(part)) for part in parts)
    return b"".join((_NUMBER.pack(len(parts)), lengths, *parts))


def decoded(data: bytearray) -> Message | None:
    """Return the first message, which is taken away; ``None`` where it is not whole."""
    if len(data) < _NUMBER.size:
        return None
    (count,) = _NUMBER.unpack_from(data)
    begin = _NUMBER.size + count * _NUMBER.size
    if len(data) < begin:
        return None
    lengths = struct.unpack_from(f"<{count}Q", data, _NUMBER.size)
    end = begin + sum(lengths)
    if len(data) < end:
        return None
    parts: Message = []
    with memoryview(data) as view:
        for length in lengths:
            parts.append(bytes(view[begin : begin + length]))
            begin += length
    del data[:end]
    return parts


@define(eq=False)
class Pipe:
    """
    A way to another socket.

    ``name`` is where it connects to, empty where the other socket connected; ``channel`` is ``None`` as long as nobody
    is there. Both ends begin with a greeting: the kind of the socket and its identity, which ``greeting`` has of the
    other one, and ``is_known`` says that somebody has looked at it. ``most_in`` and ``most_out`` are numbers of
    messages, 0 for any. With ``only_last`` the newest message takes the place of all others.
    """

    name: str
    endpoint: str
    hello: Message
    most_in: int = 0
    most_out: int = 0
    only_last: bool = False
    channel: socket.socket | None = None
    greeting: Message | None = None
    is_known: bool = False
    identity: bytes = b""
    inbox: deque[Message] = field(factory=deque)
    outbox: deque[Message] = field(factory=deque)
    on_begin: Callable[[Pipe], None] | None = None
    _come: bytearray = field(factory=bytearray)
    _going: memoryview = field(factory=lambda: memoryview(b""))

    @property
    def is_behind(self) -> bool:
        """Whether there is something to do for it: to find the other socket, or to send."""
        return self.has_rest or self.is_pending

    @property
    def has_rest(self) -> bool:
        """Whether there is something to send."""
        return bool(self.outbox) or bool(self._going)

    @property
    def is_pending(self) -> bool:
        """Whether nobody listens yet where it connects to."""
        return self.channel is None and bool(self.name)

    @property
    def is_open(self) -> bool:
        """Whether a message may still be put into it."""
        return self.channel is not None or bool(self.name)

    @property
    def is_full(self) -> bool:
        """Whether a message would be one too many."""
        return not self.only_last and 0 < self.most_out <= len(self.outbox)

    @property
    def is_stalled(self) -> bool:
        """Whether so much has come that the rest has to wait."""
        return not self.only_last and 0 < self.most_in <= len(self.inbox)

    def begin(self, channel: socket.socket) -> None:
        """Be connected, and greet."""
        self.channel, self.greeting, self.is_known = channel, None, False
        self._come.clear()
        self._going = memoryview(encoded(self.hello))
        if self.on_begin is not None:
            self.on_begin(self)

    def put(self, parts: Message) -> None:
        """Let a message go."""
        if self.only_last:
            self.outbox.clear()
        self.outbox.append(parts)
        if self.channel is not None:
            self.flush()

    def catch_up(self) -> bool:
        """Connect and send as far as that is possible; return whether something has happened."""
        connected = False
        if self.is_pending:
            channel = _streams.connect(self.name)
            if channel is None:
                return False
            self.begin(channel)
            connected = True
        return self.flush() or connected

    def flush(self) -> bool:
        """Send as much as is taken; return whether that was anything. `EndedError` is left to who reads."""
        sent = False
        while self.channel is not None:
            if not self._going:
                if not self.outbox:
                    break
                self._going = memoryview(encoded(self.outbox.popleft()))
            try:
                count = _streams.send(self.channel, self._going)
            except _streams.EndedError:
                break
            if not count:
                break
            self._going, sent = self._going[count:], True
        return sent

    def read(self) -> None:
        """Take what has come; `EndedError` where that was all."""
        while self.channel is not None and not self.is_stalled:
            data = _streams.receive(self.channel)
            if data is None:
                break
            self._come += data
            while (parts := decoded(self._come)) is not None:
                if self.greeting is None:
                    self.greeting = parts
                    continue
                if self.only_last:
                    self.inbox.clear()
                self.inbox.append(parts)

    def end(self) -> None:
        """Let the stream go; one that connects is pending again."""
        if self.channel is not None:
            self.channel.close()
        self.channel, self.greeting = None, None
        self._come.clear()
        self._going = memoryview(b"")

    def close(self) -> None:
        """Be over; what has come may still be taken."""
        self.name = ""
        self.end()
        self.outbox.clear()
