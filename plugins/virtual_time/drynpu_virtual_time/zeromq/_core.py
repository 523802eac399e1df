"""A socket of ZeroMQ: its options, and waits on the clock for messages and for room."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from errno import EAGAIN, ENOTSOCK, EPROTONOSUPPORT
from typing import Final

from attrs import define, field
from zmq.backend import cython as libzmq
from zmq.constants import Errno, Flag, PollEvent, SecurityMechanism, SocketOption, SocketType
from zmq.error import Again, ContextTerminated, ZMQError

from drynpu_virtual_time._clock import TURN_NS, VirtualClock
from drynpu_virtual_time.zeromq import _endpoints
from drynpu_virtual_time.zeromq._context import ContextCore
from drynpu_virtual_time.zeromq._endpoints import Place
from drynpu_virtual_time.zeromq._envelopes import Rep, Req, Router
from drynpu_virtual_time.zeromq._links import Links
from drynpu_virtual_time.zeromq._outside import Outside
from drynpu_virtual_time.zeromq._patterns import Dealer, Pair, Pattern, Pull, Push
from drynpu_virtual_time.zeromq._pipes import Message, Pipe
from drynpu_virtual_time.zeromq._topics import Pub, Sub, XPub, XSub
from drynpu_virtual_time.zeromq.foreign import Foreign

_MS_NS: Final = 1_000_000
_KINDS: Final[dict[int, type[Pattern]]] = {
    SocketType.PAIR: Pair,
    SocketType.PUB: Pub,
    SocketType.SUB: Sub,
    SocketType.REQ: Req,
    SocketType.REP: Rep,
    SocketType.DEALER: Dealer,
    SocketType.ROUTER: Router,
    SocketType.PULL: Pull,
    SocketType.PUSH: Push,
    SocketType.XPUB: XPub,
    SocketType.XSUB: XSub,
}
_OF_LIBZMQ: Final = (
    SocketOption.XPUB_MANUAL,
    SocketOption.XPUB_WELCOME_MSG,
    SocketOption.ROUTER_RAW,
    SocketOption.SOCKS_PROXY,
    SocketOption.USE_FD,
    SocketOption.ZAP_DOMAIN,
)
"""Options that are not served: a socket that has one is libzmq's."""
_ZAP: Final = "inproc://zeromq.zap"


@define(eq=False)
class Core:
    """
    What sockets that are shadows of each other share.

    ``really`` is libzmq's socket: it has the options, and once ``outside`` is set it carries the messages. A message in
    parts is sent with its last part.
    """

    kind: int
    context: ContextCore
    really: Foreign = None
    links: Links = field(init=False)
    outside: Outside | None = None
    is_closed: bool = False
    _chosen: dict[int, Foreign] = field(factory=dict)
    _sending: Message = field(factory=list)
    _receiving: deque[bytes] = field(factory=deque)
    _has_more: bool = False
    _endpoint: bytes = b""

    def __attrs_post_init__(self) -> None:
        self.really = libzmq.Socket(self.context.really, self.kind)
        self.links = Links(self.kind, self.context, _KINDS.get(self.kind, Pattern)(self), self._new_pipe)
        self.context.watches[id(self)] = self.links.watch
        self.context.pump.sockets[id(self)] = self
        if self.kind not in _KINDS:
            self._go_outside()

    @property
    def clock(self) -> VirtualClock:
        """The clock of the process."""
        return self.context.clock

    @property
    def pattern(self) -> Pattern:
        """What the kind of socket does."""
        return self.links.pattern

    def chosen(self, option: int) -> int:
        """Return what was chosen for an option that is on or off."""
        return int(self._chosen.get(option, 0))

    def check(self) -> None:
        """Raise a `ZMQError` where nothing can be done any more."""
        if self.is_closed:
            raise ZMQError(ENOTSOCK)
        if self.context.is_terminated:
            raise ContextTerminated(Errno.ETERM)

    def set(self, option: int, value: Foreign) -> None:
        """Set an option; libzmq says whether it is right."""
        self.check()
        self.really.set(option, value)
        if option in (SocketOption.SUBSCRIBE, SocketOption.UNSUBSCRIBE):
            if self.outside is None:
                self._begin()
                self.pattern.subscribe(option, value)
                self._sent()
        else:
            self._chosen[option] = value

    def get(self, option: int) -> Foreign:
        """Return an option, or what a socket says about itself."""
        self.check()
        if self.outside is None:
            if option == SocketOption.EVENTS:
                self._begin()
                return self.events()
            if option == SocketOption.FD:
                return self.links.watch.fileno()
            if option == SocketOption.LAST_ENDPOINT and self._endpoint:
                return self._endpoint
        if option == SocketOption.RCVMORE:
            return int(self._has_more)
        return self.really.get(option)

    def bind(self, endpoint: str) -> None:
        """Let others connect."""
        self.check()
        if self._is_for_libzmq(endpoint):
            self._go_outside()
        if self.outside is not None:
            self.really.bind(endpoint)
            return
        self._begin()
        bound = self.links.bind(endpoint, ipv6=bool(self.chosen(SocketOption.IPV6)))
        self._endpoint = bound.encode()
        self._sent()

    def connect(self, endpoint: str) -> None:
        """Connect to what is bound there, or will be."""
        self.check()
        if self._is_for_libzmq(endpoint):
            self._go_outside()
        if self.outside is None:
            self._begin()
            place = self._place(endpoint)
            pipe = self.links.connect(endpoint, place)
            if pipe.channel is not None or not place.is_outside:
                self._endpoint = endpoint.encode()
                self._sent()
                return
            self.links.disconnect(endpoint, linger_ms=0)
            self._go_outside()
        self.really.connect(endpoint)

    def unbind(self, endpoint: str) -> None:
        """Undo a bind."""
        self.check()
        if self.outside is not None:
            self.really.unbind(endpoint)
            return
        self._begin()
        self.links.unbind(endpoint, linger_ms=self.really.get(SocketOption.LINGER))
        self.clock.publish()

    def disconnect(self, endpoint: str) -> None:
        """Undo a connect."""
        self.check()
        if self.outside is not None:
            self.really.disconnect(endpoint)
            return
        self._begin()
        self.links.disconnect(endpoint, linger_ms=self.really.get(SocketOption.LINGER))
        self.clock.publish()

    def send(self, data: bytes, flags: int) -> None:
        """Send a part of a message."""
        self.check()
        if self.outside is not None:
            self.outside.send(data, flags)
            return
        first = self._sending[0] if self._sending else data
        if not self._sending:
            self._begin()
            self.pattern.check_send(data)
            self._await(lambda: self.pattern.can_send(first), flags, SocketOption.SNDTIMEO)
        self._sending.append(data)
        if not flags & Flag.SNDMORE:
            parts, self._sending = self._sending, []
            self.pattern.send(parts)
            self._sent()

    def receive(self, flags: int) -> bytes:
        """Return a part of a message."""
        self.check()
        if self.outside is not None:
            data, self._has_more = self.outside.receive(flags)
            return data
        if not self._receiving:
            self._begin()
            self.pattern.check_receive()
            self._await(self.pattern.has_message, flags, SocketOption.RCVTIMEO)
            self._receiving.extend(self.pattern.take())
            self.links.resume()
        part = self._receiving.popleft()
        self._has_more = bool(self._receiving)
        return part

    def events(self) -> int:
        """Return what can be done at once."""
        if self.is_closed:
            raise ZMQError(ENOTSOCK)
        if self.context.is_terminated:
            raise ContextTerminated(Errno.ETERM)
        if self.outside is not None:
            return int(self.really.get(SocketOption.EVENTS))
        self.links.look()
        can_receive = bool(self._receiving) or self.pattern.has_message()
        can_send = bool(self._sending) or self.pattern.can_send(None)
        return int(can_receive and PollEvent.POLLIN) | int(can_send and PollEvent.POLLOUT)

    def close(self, linger_ms: int | None) -> None:
        """Close the socket."""
        if self.is_closed:
            return
        self.is_closed = True
        if linger_ms is None:
            linger_ms = self._chosen.get(SocketOption.LINGER, -1)
        self.links.close(linger_ms)
        self.context.watches.pop(id(self), None)
        self.context.pump.sockets.pop(id(self), None)
        self.really.close(linger=linger_ms)

    def look_beside(self) -> None:
        """Take what has come while the script does something else."""
        if self.outside is None:
            self.links.watch.look_beside()

    def forget(self) -> None:
        """Leave it to the process that forked."""
        self.is_closed = True
        self.links.forget()

    def _new_pipe(self, name: str, endpoint: str) -> Pipe:
        get, hello = self.really.get, [bytes([self.kind]), self.really.get(SocketOption.ROUTING_ID)]
        return Pipe(
            name,
            endpoint,
            hello,
            most_in=get(SocketOption.RCVHWM),
            most_out=get(SocketOption.SNDHWM),
            only_last=bool(self.chosen(SocketOption.CONFLATE)),
        )

    def _place(self, endpoint: str) -> Place:
        ipv6 = bool(self.chosen(SocketOption.IPV6))
        return _endpoints.place_of(endpoint, self.context.key, ipv6=ipv6, bound=False)

    def _is_for_libzmq(self, endpoint: str) -> bool:
        scheme, _ = _endpoints.split(endpoint)
        return (
            scheme not in ("inproc", "ipc", "tcp")
            or endpoint.startswith(_ZAP)
            or endpoint in self.context.monitors
            or any(self._chosen.get(option) for option in _OF_LIBZMQ)
            or self.really.get(SocketOption.MECHANISM) != SecurityMechanism.NULL
        )

    def _go_outside(self) -> None:
        """Let libzmq carry the messages from now on."""
        if self.outside is not None:
            return
        if self.links.is_used:
            raise ZMQError(EPROTONOSUPPORT)
        self.outside = Outside(self.clock, self.really, lambda: self.context.is_terminated)

    def _begin(self) -> None:
        """Let others run that are due, and look at what has come."""
        if not self.clock.is_guest:
            self.clock.spend(0)
        self.links.look()

    def _sent(self) -> None:
        self.links.follow()
        self.clock.publish()

    def _await(self, ready: Callable[[], bool], flags: int, timeout: int) -> None:
        if ready():
            return
        limit_ms = 0 if flags & Flag.DONTWAIT else self.really.get(timeout)
        if limit_ms == 0:
            pass_turn(self.clock)
            self.links.look()
            if not ready():
                raise Again(EAGAIN)
            return

        def is_ready() -> bool:
            if self.is_closed or self.context.is_terminated:
                return True
            self.links.look()
            return ready()

        came = self.clock.wait(is_ready, None if limit_ms < 0 else limit_ms * _MS_NS)
        self.check()
        if not came:
            raise Again(EAGAIN)


def pass_turn(clock: VirtualClock) -> None:
    """Let the turn of a loop pass in which nothing had come."""
    if not clock.is_guest:
        clock.spend(TURN_NS)
        clock.let_others_run()
