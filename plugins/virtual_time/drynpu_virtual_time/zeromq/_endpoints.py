"""Where sockets find each other: endpoints as ZeroMQ writes them, and the names of streams behind them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import tempfile
from errno import EADDRINUSE, EINVAL, ENAMETOOLONG, ENODEV, EPROTONOSUPPORT
from typing import Final

from attrs import define, frozen
from zmq.backend import cython as libzmq
from zmq.error import ZMQError

from drynpu_virtual_time.zeromq import _streams

_PREFIX: Final = "drynpu/zeromq"
_ANY: Final = ("*", "0.0.0.0", "::", "[::]")
_TOO_LONG: Final = 'ipc path "{}" is longer than {} characters (zmq.IPC_PATH_MAX_LEN)'
_HIGHEST: Final = 65535


@frozen
class Place:
    """
    Where a socket binds or connects to.

    ``scheme`` is inproc, ipc or tcp; ``name`` belongs to the stream, ``address`` what other programs would use.
    """

    scheme: str
    name: str
    address: str | tuple[str, int] = ""
    family: int = int(socket.AF_UNIX)

    @property
    def is_outside(self) -> bool:
        """Whether a program that is no process of the run listens there, or might."""
        if not isinstance(self.address, str):
            return not _is_here(self.address[0], self.family) or _streams.is_served_by_others(self.family, self.address)
        return self.scheme == "ipc" and _streams.is_served_by_others(self.family, self.address)


@define(eq=False)
class Binding:
    """What a socket holds that is bound: the stream, and the port or the file that others would see."""

    endpoint: str
    place: Place
    listener: socket.socket
    held: socket.socket | None = None

    def close(self) -> None:
        """Let all of it go."""
        self.listener.close()
        if self.held is not None:
            self.held.close()
            if self.place.scheme == "ipc":
                with contextlib.suppress(OSError):
                    os.unlink(str(self.place.address))  # noqa: PTH108 - a path of ZeroMQ is text


def split(endpoint: str) -> tuple[str, str]:
    """Return the scheme and the rest; raises a `ZMQError` where that is no endpoint."""
    scheme, colon, rest = endpoint.partition("://")
    if not colon or not rest:
        raise ZMQError(EINVAL)
    return scheme, rest


def place_of(endpoint: str, context: str, *, ipv6: bool, bound: bool) -> Place:
    """Return where an endpoint is; names of inproc belong to a context."""
    scheme, rest = split(endpoint)
    if scheme == "inproc":
        return Place(scheme, f"{_PREFIX}/inproc/{context}/{_short(rest)}")
    if scheme == "ipc":
        if len(os.fsencode(rest)) > libzmq.IPC_PATH_MAX_LEN:
            raise ZMQError(ENAMETOOLONG, _TOO_LONG.format(rest, libzmq.IPC_PATH_MAX_LEN))
        path = rest if rest.startswith("@") else os.path.abspath(rest)  # noqa: PTH100 - a path of ZeroMQ is text
        return Place(scheme, f"{_PREFIX}/ipc/{_short(path)}", "\0" + path[1:] if rest.startswith("@") else path)
    if scheme != "tcp":
        raise ZMQError(EPROTONOSUPPORT)
    host, port = _host_and_port(rest.rpartition(";")[2], bound=bound)
    family, host = _resolved(host, ipv6=ipv6, bound=bound)
    return Place(scheme, f"{_PREFIX}/tcp/{port}", (host, port), family)


def bind(endpoint: str, context: str, *, ipv6: bool) -> Binding:
    """Bind an endpoint; a `ZMQError` says what is wrong with it."""
    scheme, rest = split(endpoint)
    if scheme == "ipc" and rest == "*":
        endpoint = f"ipc://{tempfile.mkdtemp()}/socket"
    place = place_of(endpoint, context, ipv6=ipv6, bound=True)
    held = None
    try:
        if scheme == "tcp":
            held, place, endpoint = _hold_port(place)
        listener = _streams.listen(place.name)
    except OSError as error:
        if held is not None:
            held.close()
        raise ZMQError(error.errno) from None
    if scheme == "ipc" and not rest.startswith("@"):
        try:
            held = _hold_file(str(place.address))
        except OSError as error:
            listener.close()
            raise ZMQError(error.errno) from None
    return Binding(endpoint, place, listener, held)


def _hold_port(place: Place) -> tuple[socket.socket, Place, str]:
    """Take the port, so that nobody else gets it."""
    host, port = str(place.address[0]), int(place.address[1])
    held = socket.socket(place.family, socket.SOCK_STREAM)
    try:
        held.bind((host, port))
    except OSError as error:
        held.close()
        raise ZMQError(error.errno or EADDRINUSE) from None
    host, port = held.getsockname()[:2]
    written = f"[{host}]" if ":" in host else host
    return held, Place("tcp", f"{_PREFIX}/tcp/{port}", (host, port), place.family), f"tcp://{written}:{port}"


def _hold_file(path: str) -> socket.socket:
    """Make the file, at which programs look whether somebody is there."""
    held = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # noqa: PTH108 - a path of ZeroMQ is text
        held.bind(path)
    except OSError:
        held.close()
        raise
    return held


def _host_and_port(rest: str, *, bound: bool) -> tuple[str, int]:
    host, colon, port = rest.rpartition(":")
    wild = bound and port in ("*", "!")
    if not colon or not host or not (wild or port.isdigit()):
        raise ZMQError(EINVAL)
    number = 0 if wild else int(port)
    if number > _HIGHEST or (number == 0 and not bound):
        raise ZMQError(EINVAL)
    return host, number


def _resolved(host: str, *, ipv6: bool, bound: bool) -> tuple[int, str]:
    if host in _ANY:
        return (int(socket.AF_INET6), "::") if ipv6 and host != "0.0.0.0" else (int(socket.AF_INET), "0.0.0.0")
    family = socket.AF_UNSPEC if ipv6 else socket.AF_INET
    try:
        addresses = socket.getaddrinfo(host.strip("[]"), None, family, socket.SOCK_STREAM)
    except OSError:
        raise ZMQError(ENODEV if bound else EINVAL) from None
    return int(addresses[0][0]), str(addresses[0][4][0])


def _is_here(host: str, family: int) -> bool:
    """Return whether that is an address of this machine."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            return False
    return True


def _short(name: str) -> str:
    return hashlib.sha256(os.fsencode(name)).hexdigest()[:32]
