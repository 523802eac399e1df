"""PUB, SUB, XPUB, XSUB: messages go to whoever has subscribed to how they begin."""

from __future__ import annotations

from collections import Counter, deque
from errno import EINVAL
from typing import Final

from attrs import define, field
from zmq.constants import SocketOption
from zmq.error import ZMQError

from drynpu_virtual_time.zeromq._patterns import Pattern, Pull
from drynpu_virtual_time.zeromq._pipes import Message, Pipe

_ON: Final = b"\1"
_OFF: Final = b"\0"


@define(eq=False)
class XPub(Pattern):
    """XPUB: its script gets the first subscription to a topic, with XPUB_VERBOSE each, and the end of the last one."""

    _topics: dict[Pipe, dict[bytes, None]] = field(factory=dict)
    _said: deque[Message] = field(factory=deque)

    def begun(self, pipe: Pipe) -> None:
        """Probe nobody."""
        self._topics.setdefault(pipe, {})

    def came(self, pipe: Pipe) -> None:
        """Know at once what was subscribed to."""
        while pipe.inbox:
            parts = pipe.inbox.popleft()
            if parts[0][:1] not in (_ON, _OFF) or len(parts) > 1 or self._changes(pipe, parts[0]):
                self._said.append(parts)

    def _changes(self, pipe: Pipe, change: bytes) -> bool:
        topic, mine = change[1:], self._topics.setdefault(pipe, {})
        if change[:1] == _ON:
            known = any(topic in topics for topics in self._topics.values())
            mine[topic] = None
            return not known or bool(self._verbose(SocketOption.XPUB_VERBOSE))
        if mine.pop(topic, _ON) is not None:
            return False
        known = any(topic in topics for topics in self._topics.values())
        return not known or bool(self.options.chosen(SocketOption.XPUB_VERBOSER))

    def _verbose(self, option: int) -> int:
        return self.options.chosen(option) or self.options.chosen(SocketOption.XPUB_VERBOSER)

    def ended(self, pipe: Pipe) -> None:
        """Forget what it had subscribed to."""
        for topic in list(self._topics.get(pipe, ())):
            if self._changes(pipe, _OFF + topic):
                self._said.append([_OFF + topic])
        self._topics.pop(pipe, None)

    def has_message(self) -> bool:
        """Return whether there is a subscription for the script."""
        return bool(self._said)

    def take(self) -> Message:
        """Return a subscription."""
        return self._said.popleft()

    def can_send(self, first: bytes | None) -> bool:
        """Return that it can: what has no room is lost; with XPUB_NODROP it waits."""
        if first is None or not self.options.chosen(SocketOption.XPUB_NODROP):
            return True
        return all(not pipe.is_full for pipe in self._subscribers(first))

    def send(self, parts: Message) -> None:
        """Send a message to all that have subscribed to it."""
        for pipe in self._subscribers(parts[0]):
            if not pipe.is_full:
                pipe.put(parts)

    def _subscribers(self, first: bytes) -> list[Pipe]:
        reverse = bool(self.options.chosen(SocketOption.INVERT_MATCHING))
        return [
            pipe
            for pipe in self.pipes
            if pipe.channel is not None and any(map(first.startswith, self._topics.get(pipe, ()))) != reverse
        ]


@define(eq=False)
class Pub(XPub):
    """PUB: nobody asks for subscriptions."""

    def came(self, pipe: Pipe) -> None:
        """Know at once what was subscribed to."""
        XPub.came(self, pipe)
        self._said.clear()

    def ended(self, pipe: Pipe) -> None:
        """Forget what it had subscribed to."""
        XPub.ended(self, pipe)
        self._said.clear()

    def check_receive(self) -> None:
        """Refuse."""
        raise ZMQError(95)


@define(eq=False)
class XSub(Pattern):
    """XSUB: messages that begin with 1 or 0 are subscriptions, or their end."""

    _topics: Counter[bytes] = field(factory=Counter)

    def begun(self, pipe: Pipe) -> None:
        """Say what is subscribed to."""
        pipe.outbox.clear()
        for topic in self._topics:
            pipe.put([_ON + topic])

    def can_send(self, first: bytes | None) -> bool:
        """Return that it can."""
        del first
        return True

    def send(self, parts: Message) -> None:
        """Subscribe, or send a message to all."""
        first = parts[0]
        if len(parts) > 1 or first[:1] not in (_ON, _OFF) or self._changes(first[:1], first[1:]):
            self._to_all(parts)

    def _changes(self, what: bytes, topic: bytes) -> bool:
        before = self._topics[topic]
        if what == _ON:
            self._topics[topic] += 1
            return not before
        if before <= 1:
            self._topics.pop(topic)
            return before == 1
        self._topics[topic] -= 1
        return False

    def _to_all(self, parts: Message) -> None:
        for pipe in self.pipes:
            if pipe.channel is not None:  # the others hear it when they are there
                pipe.put(parts)


@define(eq=False)
class Sub(XSub):
    """SUB: subscribes by an option, and gets nothing else."""

    def arrive(self, pipe: Pipe, parts: Message) -> Message | None:
        """Leave out what is not subscribed to."""
        del pipe
        matches = any(map(parts[0].startswith, self._topics))
        return parts if matches != bool(self.options.chosen(SocketOption.INVERT_MATCHING)) else None

    def subscribe(self, option: int, topic: bytes) -> None:
        """Change what is subscribed to."""
        what = _ON if option == SocketOption.SUBSCRIBE else _OFF
        if what == _OFF and topic not in self._topics:
            raise ZMQError(EINVAL)
        if self._changes(what, topic):
            self._to_all([what + topic])

    def check_send(self, first: bytes) -> None:
        """Refuse."""
        Pull.check_send(self, first)  # type: ignore[arg-type]

    def can_send(self, first: bytes | None) -> bool:
        """Return that it cannot."""
        del first
        return False
