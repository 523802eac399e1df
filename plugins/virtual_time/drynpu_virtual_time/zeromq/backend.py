"""
A backend of pyzmq: its own classes stand on these, as they stand on libzmq's otherwise.

Names and arguments are pyzmq's.
"""

from __future__ import annotations

import importlib
import itertools
import os
from errno import EFAULT, ENOTSOCK, ENOTSUP
from typing import Final
from weakref import WeakValueDictionary

from zmq.backend.cython import (
    IPC_PATH_MAX_LEN,
    PYZMQ_DRAFT_API,
    curve_keypair,
    curve_public,
    has,
    strerror,
    zmq_errno,
    zmq_version_info,
)
from zmq.backend.cython import Frame as _Frame
from zmq.constants import ContextOption, MessageOption, SocketOption
from zmq.error import ZMQError

from drynpu_virtual_time.start import virtual_clock
from drynpu_virtual_time.zeromq._context import ContextCore
from drynpu_virtual_time.zeromq._core import Core
from drynpu_virtual_time.zeromq._polling import monitored_queue, proxy, proxy_steerable, zmq_poll
from drynpu_virtual_time.zeromq._pump import Pump
from drynpu_virtual_time.zeromq.foreign import Foreign

__all__ = [
    "IPC_PATH_MAX_LEN",
    "PYZMQ_DRAFT_API",
    "Context",
    "Frame",
    "Message",
    "Socket",
    "curve_keypair",
    "curve_public",
    "has",
    "monitored_queue",
    "proxy",
    "proxy_steerable",
    "strerror",
    "zmq_errno",
    "zmq_poll",
    "zmq_version_info",
]

_PYZMQ: Final[Foreign] = importlib.import_module("zmq")
"""What is about to import this module: its names are there when they are needed."""
_CLOCK: Final = virtual_clock()
_PUMP: Final = Pump(_CLOCK)
_NUMBERS: Final = itertools.count(1)
_CONTEXTS: Final[WeakValueDictionary[int, ContextCore]] = WeakValueDictionary()
_SOCKETS: Final[WeakValueDictionary[int, Core]] = WeakValueDictionary()


class Frame(_Frame):  # type: ignore[misc]
    """A part of a message. It copies what it gets: libzmq does not have to say when it is done with it."""

    def __init__(
        self,
        data: Foreign = None,
        track: bool = False,
        copy: bool | None = None,
        copy_threshold: int | None = None,
        **options: Foreign,
    ) -> None:
        del copy
        super().__init__(data, track, True, copy_threshold, **options)

    def get(self, option: int | str) -> Foreign:
        """Return a property."""
        if option == MessageOption.MORE:
            return int(self.more)
        return super().get(option)


Message = Frame


class Context:
    """A context."""

    closed = False
    _shadow = False
    _pid = 0
    _core: ContextCore
    _number = 0

    def __init__(self, io_threads: int = 1, shadow: int = 0) -> None:
        self._pid = os.getpid()
        if shadow:
            self._number, self._shadow, self._core = shadow, True, _known(_CONTEXTS, shadow, EFAULT)
            return
        self._number, self._core = next(_NUMBERS), ContextCore(_CLOCK, _PUMP)
        self._core.really.set(ContextOption.IO_THREADS, io_threads)
        _CONTEXTS[self._number] = self._core

    @property
    def underlying(self) -> int:
        """What shadows are made of."""
        return self._number

    def term(self) -> None:
        """End it."""
        if not self.closed and self._pid == os.getpid():
            self._core.end()
        self.closed = True

    def set(self, option: int, optval: int) -> None:
        """Set an option."""
        self._check()
        self._core.really.set(option, optval)

    def get(self, option: int) -> int:
        """Return an option."""
        self._check()
        return int(self._core.really.get(option))

    def _check(self) -> None:
        if self.closed:
            raise RuntimeError("Context has been destroyed")


class Socket:
    """A socket."""

    context: Foreign = None
    copy_threshold = 0
    _shadow = False
    _pid = 0
    _closed = False
    _core: Core
    _number = 0

    def __init__(
        self,
        context: Foreign = None,
        socket_type: int = -1,
        shadow: int = 0,
        copy_threshold: int | None = None,
    ) -> None:
        self._closed = True  # until it is there
        self.copy_threshold = _PYZMQ.COPY_THRESHOLD if copy_threshold is None else copy_threshold
        self.context, self._pid = context, os.getpid()
        if shadow:
            self._number, self._shadow, self._core = shadow, True, _known(_SOCKETS, shadow, ENOTSOCK)
        else:
            if context is None:
                raise TypeError("context must be specified")
            if socket_type < 0:
                raise TypeError("socket_type must be specified")
            self._number, self._core = next(_NUMBERS), Core(socket_type, context._core)
            _SOCKETS[self._number] = self._core
        self._closed = False

    @property
    def underlying(self) -> int:
        """What shadows are made of."""
        return self._number

    @property
    def closed(self) -> bool:
        """Whether it is closed, by whomever."""
        return self._closed or self._core.is_closed

    def close(self, linger: int | None = None) -> None:
        """Close it."""
        if not self._closed and self._pid == os.getpid():
            self._core.close(linger)
            self._closed = True

    def set(self, option: int, optval: Foreign) -> None:
        """Set an option."""
        self._open().set(option, optval)

    def get(self, option: int) -> Foreign:
        """Return an option."""
        return self._open().get(option)

    def bind(self, addr: str | bytes) -> None:
        """Let others connect."""
        self._open().bind(_text(addr))

    def connect(self, addr: str | bytes) -> None:
        """Connect to a socket that is bound, or will be."""
        self._open().connect(_text(addr))

    def unbind(self, addr: str | bytes) -> None:
        """Undo a bind."""
        self._open().unbind(_text(addr))

    def disconnect(self, addr: str | bytes) -> None:
        """Undo a connect."""
        self._open().disconnect(_text(addr))

    def monitor(self, addr: str | bytes | None, events: int = 0xFFFF) -> None:
        """Publish what happens to libzmq's socket; of others nothing is known."""
        core = self._open()
        if core.outside is None:
            raise ZMQError(ENOTSUP)
        if addr is not None:
            core.context.monitors.add(_text(addr))
        core.really.monitor(addr, events)

    def send(self, data: Foreign, flags: int = 0, copy: bool = True, track: bool = False) -> Foreign:
        """Send a part of a message; it was copied when this returns, so that its tracker is done."""
        if isinstance(data, str):
            raise TypeError("unicode not allowed, use send_string")
        is_frame = isinstance(data, _Frame)
        if is_frame and track and not data.tracker:
            raise ValueError("Not a tracked message")
        self._open().send(data.bytes if is_frame else bytes(memoryview(data)), flags)
        if is_frame:
            return data.tracker
        return None if copy else _PYZMQ._FINISHED_TRACKER

    def recv(self, flags: int = 0, copy: bool = True, track: bool = False) -> Foreign:
        """Return a part of a message."""
        core = self._open()
        data = core.receive(flags)
        if copy:
            return data
        frame = _PYZMQ.Frame(data, track=track)
        frame.more = bool(core.get(SocketOption.RCVMORE))
        return frame

    def recv_into(self, buffer: Foreign, /, *, nbytes: int = 0, flags: int = 0) -> int:
        """Write a part of a message into a buffer; return how long it is."""
        if nbytes < 0:
            raise ValueError(f"{nbytes=} must be non-negative")
        view = memoryview(buffer)
        if view.readonly:
            raise BufferError("Object is not writable.")
        if not view.contiguous:
            raise BufferError("ndarray is not contiguous")
        if nbytes > view.nbytes:
            raise ValueError(f"{nbytes=} too big for memoryview of {view.nbytes}B")
        data = self._open().receive(flags)
        count = min(len(data), nbytes or view.nbytes)
        if count:
            view.cast("B")[:count] = data[:count]
        return len(data)

    def join(self, group: str | bytes) -> None:
        """Refuse: a draft of ZeroMQ."""
        self._open().really.join(group)

    def leave(self, group: str | bytes) -> None:
        """Refuse: a draft of ZeroMQ."""
        self._open().really.leave(group)

    def _open(self) -> Core:
        if self._closed:
            raise ZMQError(ENOTSOCK)
        return self._core


def _known(among: WeakValueDictionary[int, Foreign], number: int, error: int) -> Foreign:
    core = among.get(number)
    if core is None:
        raise ZMQError(error)
    return core


def _text(address: Foreign) -> str:
    if isinstance(address, bytes):
        return address.decode()
    if not isinstance(address, str):
        raise TypeError(f"Expected addr to be str, got addr={address!r}")
    return address
