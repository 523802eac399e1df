"""REQ, REP, ROUTER: messages that say where they come from, and where they go."""

from __future__ import annotations

import struct
from errno import EAGAIN, EHOSTUNREACH
from typing import Final

from attrs import define, field
from zmq.constants import Errno, SocketOption
from zmq.error import Again, ZMQError

from drynpu_virtual_time.zeromq._patterns import Pattern
from drynpu_virtual_time.zeromq._pipes import Message, Pipe

_NUMBER: Final = struct.Struct(">I")


@define(eq=False)
class Req(Pattern):
    """REQ: a question, then its answer, from whoever was asked."""

    _partner: Pipe | None = None
    _waits: bool = False
    _questions: int = 0

    def check_send(self, first: bytes) -> None:
        """Refuse a second question before the answer, unless REQ_RELAXED allows it."""
        del first
        if self._waits and not self.options.chosen(SocketOption.REQ_RELAXED):
            raise ZMQError(Errno.EFSM)

    def check_receive(self) -> None:
        """Refuse where nothing was asked."""
        if not self._waits:
            raise ZMQError(Errno.EFSM)

    def can_send(self, first: bytes | None) -> bool:
        """Return whether a question can be asked."""
        relaxed = self.options.chosen(SocketOption.REQ_RELAXED)
        return (not self._waits or bool(relaxed)) and Pattern.can_send(self, first)

    def send(self, parts: Message) -> None:
        """Ask."""
        pipe = self._next_pipe()
        self._questions += 1
        self._waits, self._partner, self._next = True, pipe, None
        pipe.put([*self._label(), b"", *parts])

    def _label(self) -> list[bytes]:
        return [_NUMBER.pack(self._questions)] if self.options.chosen(SocketOption.REQ_CORRELATE) else []

    def has_message(self) -> bool:
        """Return whether the answer is there."""
        return self._waits and Pattern.has_message(self)

    def arrive(self, pipe: Pipe, parts: Message) -> Message | None:
        """Return an answer without its envelope; what nobody has asked for is thrown away."""
        envelope = [*self._label(), b""]
        if self._partner not in (None, pipe) or parts[: len(envelope)] != envelope or len(parts) == len(envelope):
            return None
        return parts[len(envelope) :]

    def on_take(self, pipe: Pipe) -> None:
        """Allow the next question."""
        del pipe
        self._waits, self._partner = False, None

    def ended(self, pipe: Pipe) -> None:
        """Take the answer from anybody where the one that was asked has gone."""
        if pipe is self._partner:
            self._partner = None


@define(eq=False)
class Rep(Pattern):
    """REP: answers whoever has asked."""

    _asker: Pipe | None = None
    _envelope: Message = field(factory=list)
    _arriving: Message = field(factory=list)

    def check_send(self, first: bytes) -> None:
        """Refuse an answer to nothing."""
        del first
        if self._asker is None:
            raise ZMQError(Errno.EFSM)

    def check_receive(self) -> None:
        """Refuse the next question before the answer."""
        if self._asker is not None:
            raise ZMQError(Errno.EFSM)

    def can_send(self, first: bytes | None) -> bool:
        """Return whether there is a question to answer."""
        del first
        return self._asker is not None

    def has_message(self) -> bool:
        """Return whether there is a question."""
        return self._asker is None and Pattern.has_message(self)

    def arrive(self, pipe: Pipe, parts: Message) -> Message | None:
        """Return what is behind the empty part, and keep the rest for the answer."""
        del pipe
        if b"" not in parts[:-1]:
            return None
        begin = parts.index(b"") + 1
        self._arriving = parts[:begin]
        return parts[begin:]

    def on_take(self, pipe: Pipe) -> None:
        """Answer that pipe next."""
        self._asker, self._envelope = pipe, self._arriving

    def send(self, parts: Message) -> None:
        """Answer; one that has gone gets nothing."""
        pipe, self._asker = self._asker, None
        if pipe is not None and pipe.channel is not None:
            pipe.put([*self._envelope, *parts])


@define(eq=False)
class Router(Pattern):
    """ROUTER: the first part of a message is the identity of the other end."""

    _places: dict[bytes, Pipe] = field(factory=dict)
    _count: int = 0

    def greeted(self, pipe: Pipe) -> bool:
        """Give those an identity that have none; of two with one the first stays, with ROUTER_HANDOVER the last."""
        identity = b"" if pipe.greeting is None else pipe.greeting[1]
        if not identity:
            self._count += 1
            identity = b"\0" + _NUMBER.pack(self._count)
        before = self._places.get(identity)
        if before is not None and before is not pipe:
            if not self.options.chosen(SocketOption.ROUTER_HANDOVER):
                return False
            before.close()
        pipe.identity = identity
        self._places[identity] = pipe
        return True

    def ended(self, pipe: Pipe) -> None:
        """Forget the identity."""
        if self._places.get(pipe.identity) is pipe:
            del self._places[pipe.identity]

    def arrive(self, pipe: Pipe, parts: Message) -> Message | None:
        """Say from whom it comes."""
        return [pipe.identity, *parts]

    def check_send(self, first: bytes) -> None:
        """Refuse a message to nobody where ROUTER_MANDATORY says so."""
        if self.options.chosen(SocketOption.ROUTER_MANDATORY) and first not in self._places:
            raise ZMQError(EHOSTUNREACH)

    def can_send(self, first: bytes | None) -> bool:
        """Return that it can: what has no place is lost, unless ROUTER_MANDATORY lets it wait for room."""
        if not self.options.chosen(SocketOption.ROUTER_MANDATORY):
            return True
        if first is None:
            return any(map(self._may_go, self._places.values()))
        return first not in self._places or self._may_go(self._places[first])

    def send(self, parts: Message) -> None:
        """Send a message without its first part to whom that names."""
        pipe = self._places.get(parts[0])
        if pipe is None or len(parts) < 2:
            return
        if self._may_go(pipe):
            pipe.put(parts[1:])
        elif self.options.chosen(SocketOption.ROUTER_MANDATORY):
            raise Again(EAGAIN)
