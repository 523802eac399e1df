"""What a socket is bound and connected to: pipes begin, are read, end, and begin again."""

from __future__ import annotations

from collections.abc import Callable
from errno import EINVAL, ENOENT
from typing import Final

from attrs import define, field
from zmq.constants import SocketType
from zmq.error import ZMQError

from drynpu_virtual_time.zeromq import _endpoints, _streams
from drynpu_virtual_time.zeromq._context import ContextCore
from drynpu_virtual_time.zeromq._endpoints import Binding, Place
from drynpu_virtual_time.zeromq._patterns import Pattern
from drynpu_virtual_time.zeromq._pipes import Pipe

_PARTNERS: Final[dict[int, tuple[int, ...]]] = {
    SocketType.PAIR: (SocketType.PAIR,),
    SocketType.PUB: (SocketType.SUB, SocketType.XSUB),
    SocketType.XPUB: (SocketType.SUB, SocketType.XSUB),
    SocketType.SUB: (SocketType.PUB, SocketType.XPUB),
    SocketType.XSUB: (SocketType.PUB, SocketType.XPUB),
    SocketType.REQ: (SocketType.REP, SocketType.ROUTER),
    SocketType.REP: (SocketType.REQ, SocketType.DEALER),
    SocketType.DEALER: (SocketType.REP, SocketType.DEALER, SocketType.ROUTER),
    SocketType.ROUTER: (SocketType.REQ, SocketType.DEALER, SocketType.ROUTER),
    SocketType.PULL: (SocketType.PUSH,),
    SocketType.PUSH: (SocketType.PULL,),
}


@define(eq=False)
class Links:
    """
    The links of a socket of one kind.

    ``watch`` is readable where somebody has come or sent. ``new_pipe`` makes a pipe to a name and an endpoint.
    """

    kind: int
    context: ContextCore
    pattern: Pattern
    new_pipe: Callable[[str, str], Pipe]
    watch: _streams.Watch = field(factory=_streams.Watch)
    _bindings: dict[str, Binding] = field(factory=dict)
    _stalled: list[Pipe] = field(factory=list)

    @property
    def is_used(self) -> bool:
        """Whether it is bound, or something has come of a connection."""
        return bool(self._bindings) or any(pipe.channel is not None or pipe.inbox for pipe in self.pattern.pipes)

    def bind(self, endpoint: str, *, ipv6: bool) -> str:
        """Let others connect; return the endpoint with its port."""
        binding = _endpoints.bind(endpoint, self.context.key, ipv6=ipv6)
        self._bindings[binding.endpoint] = binding

        def answer() -> None:
            self._accept(binding)

        self.watch.add(binding.listener.fileno(), answer)
        self.context.pump.answer(binding.listener.fileno(), answer)
        return binding.endpoint

    def unbind(self, endpoint: str, *, linger_ms: int) -> None:
        """Let nobody connect any more, and let those go that have."""
        bound = next((each for each in self._bindings if each in (endpoint, _with_port_of(each, endpoint))), None)
        if bound is None:
            raise ZMQError(ENOENT)
        self._stop(self._bindings.pop(bound))
        for pipe in [each for each in self.pattern.pipes if each.endpoint == bound and not each.name]:
            self._leave(pipe, linger_ms)

    def connect(self, endpoint: str, place: Place) -> Pipe:
        """Connect, as soon as somebody is there."""
        pipe = self.new_pipe(place.name, endpoint)
        pipe.on_begin = self._begun
        self.pattern.add(pipe)
        pipe.catch_up()
        self.context.pump.follow(pipe, self.watch.flag)
        return pipe

    def disconnect(self, endpoint: str, *, linger_ms: int) -> None:
        """Undo a connection."""
        if not endpoint.partition("://")[2]:
            raise ZMQError(EINVAL)
        pipes = [each for each in self.pattern.pipes if each.name and each.endpoint == endpoint]
        if not pipes:
            raise ZMQError(ENOENT)
        self._leave(pipes[0], linger_ms)

    def follow(self) -> None:
        """Let the rest of what was sent go when there is room."""
        for pipe in self.pattern.pipes:
            self.context.pump.follow(pipe, self.watch.flag)

    def look(self) -> None:
        """Take what has come."""
        self.watch.look()

    def resume(self) -> None:
        """Go on with pipes of which too much had come."""
        ready = [pipe for pipe in self._stalled if not pipe.is_stalled]
        for pipe in ready:
            self._stalled.remove(pipe)
            if pipe.channel is not None:
                self._begun_reading(pipe)
                self._read(pipe)

    def close(self, linger_ms: int) -> None:
        """Let all go; what was sent goes on for so long."""
        for binding in self._bindings.values():
            self._stop(binding)
        self._bindings.clear()
        for pipe in list(self.pattern.pipes):
            self._leave(pipe, linger_ms)
        self.watch.close()

    def forget(self) -> None:
        """Leave the streams to the process that forked."""
        for binding in self._bindings.values():
            binding.listener.close()
            if binding.held is not None:
                binding.held.close()
        for pipe in self.pattern.pipes:
            pipe.close()
        self._bindings.clear()
        self.pattern.pipes.clear()
        self.watch.close()

    def _stop(self, binding: Binding) -> None:
        self.watch.remove(binding.listener.fileno())
        self.context.pump.stop_answering(binding.listener.fileno())
        binding.close()

    def _accept(self, binding: Binding) -> None:
        while (channel := _streams.accept(binding.listener)) is not None:
            pipe = self.new_pipe("", binding.endpoint)
            pipe.on_begin = self._begun
            self.pattern.add(pipe)
            pipe.begin(channel)
            pipe.flush()
            self.watch.flag()
            self._read(pipe)

    def _begun(self, pipe: Pipe) -> None:
        self._begun_reading(pipe)
        self.pattern.begun(pipe)

    def _begun_reading(self, pipe: Pipe) -> None:
        if pipe.channel is not None:
            self.watch.add(pipe.channel.fileno(), lambda: self._read(pipe))

    def _read(self, pipe: Pipe) -> None:
        ended = False
        try:
            pipe.read()
        except _streams.EndedError:
            ended = True
        if pipe.greeting is not None and not pipe.is_known:
            pipe.is_known = True
            kind = pipe.greeting[0][0]
            if kind not in _PARTNERS.get(self.kind, ()) or not self.pattern.greeted(pipe):
                self._turn_away(pipe)
                return
        self.pattern.came(pipe)
        if ended:
            self._lost(pipe)
        elif pipe.is_stalled and pipe.channel is not None:
            self.watch.remove(pipe.channel.fileno())
            self._stalled.append(pipe)

    def _turn_away(self, pipe: Pipe) -> None:
        """Close a pipe that does not belong here."""
        self._unwatch(pipe)
        pipe.close()
        self.pattern.remove(pipe)

    def _lost(self, pipe: Pipe) -> None:
        self._unwatch(pipe)
        pipe.end()
        self.pattern.ended(pipe)
        if pipe.name:
            self.context.pump.follow(pipe, self.watch.flag)
        elif not pipe.inbox:
            self.pattern.remove(pipe)

    def _leave(self, pipe: Pipe, linger_ms: int) -> None:
        self._unwatch(pipe)
        self.pattern.ended(pipe)
        self.pattern.remove(pipe)
        pipe.on_begin = None
        self.context.leave(pipe, linger_ms)

    def _unwatch(self, pipe: Pipe) -> None:
        if pipe in self._stalled:
            self._stalled.remove(pipe)
        elif pipe.channel is not None:
            self.watch.remove(pipe.channel.fileno())


def _with_port_of(bound: str, endpoint: str) -> str:
    """Return an endpoint with a wildcard as it was bound, if it may be the same one."""
    host, _, port = endpoint.rpartition(":")
    if port in ("0", "*", "!"):
        port = bound.rpartition(":")[2]
    for name in ("*", "localhost"):
        if host == f"tcp://{name}":
            host = "tcp://0.0.0.0" if name == "*" else "tcp://127.0.0.1"
    return f"{host}:{port}"
