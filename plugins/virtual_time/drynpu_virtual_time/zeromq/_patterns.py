"""How the kinds of sockets choose where a message goes, and which one comes: sending and receiving in turn."""

from __future__ import annotations

from errno import EAGAIN, ENOTSUP
from typing import Protocol

from attrs import define, field
from zmq.constants import SocketOption
from zmq.error import Again, ZMQError

from drynpu_virtual_time.zeromq._pipes import Message, Pipe


class Options(Protocol):
    """The options of a socket."""

    def chosen(self, option: int) -> int:
        """Return what was chosen for an option that is on or off."""


@define(eq=False)
class Pattern:
    """
    A kind of socket that only has pipes: what it sends is refused, and what comes is thrown away.

    ``pipes`` are in the order in which they came. A message that has been chosen waits in ``_next`` until it is taken.
    """

    options: Options
    pipes: list[Pipe] = field(factory=list)
    _next: tuple[Pipe, Message] | None = None
    _turn: int = 0
    _sender: int = 0

    def add(self, pipe: Pipe) -> None:
        """Have one more pipe."""
        self.pipes.append(pipe)

    def begun(self, pipe: Pipe) -> None:
        """Take note that a pipe is connected."""
        if self.options.chosen(SocketOption.PROBE_ROUTER):
            pipe.put([b""])

    def greeted(self, pipe: Pipe) -> bool:
        """Take note of who is at the other end; return whether that one may stay."""
        del pipe
        return True

    def ended(self, pipe: Pipe) -> None:
        """Take note that the other end has gone."""

    def came(self, pipe: Pipe) -> None:
        """Look at what has come, before it is asked for."""

    def remove(self, pipe: Pipe) -> None:
        """Forget a pipe that is closed."""
        if pipe in self.pipes:
            place = self.pipes.index(pipe)
            self.pipes.remove(pipe)
            self._turn -= place < self._turn
            self._sender -= place < self._sender

    def arrive(self, pipe: Pipe, parts: Message) -> Message | None:
        """Return what the script gets of a message, ``None`` for nothing."""
        del pipe
        return parts

    def has_message(self) -> bool:
        """Return whether there is a message for the script: of each pipe in turn."""
        while self._next is None:
            count = len(self.pipes)
            order = [self.pipes[(self._turn + step) % count] for step in range(count)]
            pipe = next((each for each in order if each.inbox), None)
            if pipe is None:
                return False
            self._turn = (self.pipes.index(pipe) + 1) % count
            parts = self.arrive(pipe, pipe.inbox.popleft())
            if not pipe.is_open and not pipe.inbox:
                self.remove(pipe)
            if parts is not None:
                self._next = (pipe, parts)
        return True

    def take(self) -> Message:
        """Return the message that is there."""
        if self._next is None:
            raise Again(EAGAIN)
        (pipe, parts), self._next = self._next, None
        self.on_take(pipe)
        return parts

    def on_take(self, pipe: Pipe) -> None:
        """Take note that the script has a message of that pipe."""

    def check_receive(self) -> None:
        """Raise a `ZMQError` where the script may not ask for a message now."""

    def check_send(self, first: bytes) -> None:
        """Raise a `ZMQError` where a message that begins so may not be sent."""
        del first

    def can_send(self, first: bytes | None) -> bool:
        """Return whether a message that begins so can go now; ``None``: some message."""
        del first
        return any(self._may_go(pipe) for pipe in self.pipes)

    def send(self, parts: Message) -> None:
        """Send a message: to each of the pipes in turn."""
        self._next_pipe().put(parts)

    def subscribe(self, option: int, topic: bytes) -> None:
        """Change what is subscribed to."""
        del option, topic
        raise ZMQError(22)

    def _may_go(self, pipe: Pipe) -> bool:
        if pipe.channel is None and self.options.chosen(SocketOption.IMMEDIATE):
            return False
        return pipe.is_open and not pipe.is_full

    def _next_pipe(self) -> Pipe:
        count = len(self.pipes)
        for step in range(count):
            place = (self._sender + step) % count
            if self._may_go(self.pipes[place]):
                self._sender = (place + 1) % count
                return self.pipes[place]
        raise Again(EAGAIN)


@define(eq=False)
class Dealer(Pattern):
    """DEALER: sends in turn, receives in turn."""


@define(eq=False)
class Push(Pattern):
    """PUSH: sends in turn."""

    def arrive(self, pipe: Pipe, parts: Message) -> Message | None:
        """Throw away what nobody may ask for."""
        del pipe, parts
        return None

    def check_receive(self) -> None:
        """Refuse."""
        raise ZMQError(ENOTSUP)


@define(eq=False)
class Pull(Pattern):
    """PULL: receives in turn."""

    def check_send(self, first: bytes) -> None:
        """Refuse."""
        del first
        raise ZMQError(ENOTSUP)

    def can_send(self, first: bytes | None) -> bool:
        """Return that it cannot."""
        del first
        return False


@define(eq=False)
class Pair(Pattern):
    """PAIR: one pipe; others that come are turned away."""

    def greeted(self, pipe: Pipe) -> bool:
        """Keep the first one."""
        return not any(each is not pipe and each.channel is not None for each in self.pipes)
