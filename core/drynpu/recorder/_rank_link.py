"""A process's connection to the other processes of its job, for frameworks that have none of their own."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import define, field

from drynpu._errors import CommandError
from drynpu.recorder._rank_server import RankServer, receive_message, send_message

_PAUSE_S: Final = 0.05
"""Between two attempts to find the first rank."""
_GREETING_S: Final = 5.0
"""How long something that serves at the port may take to answer."""
LINGER_S: Final = 30.0
"""How long the first rank stays at its end for the others, which need it to write their recordings."""


@define(eq=False)
class RankLink:
    """
    The other ranks, as one of them reaches them; make one with :meth:`join`.

    It is a `RankStore` as well. Calls may come from several threads at once: each has a connection of its own.
    """

    rank: int
    size: int
    job: str
    _address: tuple[str, int]
    _answer_s: float
    _server: RankServer | None = None
    _sockets: list[socket.socket] = field(factory=list)
    _local: threading.local = field(factory=threading.local)
    _counts: Counter[str] = field(factory=Counter)
    _lock: threading.Lock = field(factory=threading.Lock)
    _pid: int = field(factory=os.getpid)

    @classmethod
    def join(
        cls,
        rank: int,
        size: int,
        *,
        host: str,
        port: int,
        job: str,
        connect_s: float,
        answer_s: float,
        ports: int = 1,
    ) -> RankLink:
        """
        Join the ranks of *job*: the first serves at *port* of *host*, the others look for it *connect_s* seconds.

        With several *ports*, from *port* on, it is the first of them that is free, and the others try all of them. A
        collective waits *answer_s* seconds for the others.

        Raises
        ------
        CommandError
            The ports are in use, or the first rank is not there.
        """
        candidates = [(host, number) for number in range(port, port + ports)]
        server = RankServer(job, size) if rank == 0 else None
        if server is not None:
            candidates = [_serve(server, candidates)]
        link = cls(rank, size, job, candidates[0], answer_s, server)
        link._find(candidates, connect_s)
        return link

    def _find(self, candidates: Sequence[tuple[str, int]], seconds: float) -> None:
        """Connect to the first of *candidates* where this job is served."""
        deadline, reason = time.monotonic() + seconds, ""
        while True:
            for self._address in candidates:
                try:
                    self._connect()
                    return
                except CommandError as error:
                    if len(candidates) == 1:
                        raise
                    reason = str(error)
                except OSError as error:
                    reason = str(error)
            if time.monotonic() >= deadline:
                host, port = candidates[0]
                raise CommandError(
                    f"rank {self.rank} of {self.size}: rank 0 is not there at port {port} of {host} after "
                    f"{seconds:g} s; start {self.size} processes, one for each rank ({reason})"
                )
            time.sleep(_PAUSE_S)

    def _connect(self) -> socket.socket:
        connection = socket.create_connection(self._address, timeout=_GREETING_S)
        if connection.getsockname() == connection.getpeername():
            # Where nobody serves yet, a connection from the very port that it goes to reaches itself: once in some
            # 28 000 attempts, the number of ports that the kernel chooses from.
            connection.close()
            raise ConnectionError(f"nobody serves at port {self._address[1]} yet")
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            send_message(connection, {"job": self.job, "rank": self.rank, "size": self.size})
            header, _ = receive_message(connection)
        except (OSError, ValueError) as error:
            connection.close()
            raise ConnectionError(f"what serves at port {self._address[1]} is no rank: {error}") from error
        connection.settimeout(None)
        if "error" in header:
            connection.close()
            raise CommandError(
                f"rank {self.rank} of {self.size}, {self.job!r}: at port {self._address[1]} {header['error']}"
            )
        with self._lock:
            self._sockets.append(connection)
        return connection

    def set(self, key: str, value: str) -> None:
        """Put a text under *key*."""
        self._ask({"what": "set", "key": key}, value.encode())

    def find(self, key: str) -> str | None:
        """Return the text under *key*, None where there is none yet."""
        try:
            return self.read([key], 0)[0]
        except TimeoutError:
            return None

    def read(self, keys: Sequence[str], seconds: float) -> list[str]:
        """Return the texts under *keys* when all are there. Raises ``TimeoutError`` if that takes too long."""
        header, content = self._ask({"what": "get", "keys": list(keys), "seconds": seconds, "take": False})
        return [part.decode() for part in _split(content, header["lengths"])]

    def gather(
        self,
        name: str,
        ranks: Sequence[int],
        part: bytes,
        *,
        content: object = None,
        reduction: str = "",
        dtype: str = "",
        seconds: float | None = None,
    ) -> tuple[list[bytes], list[Any]]:
        """
        Return what *ranks* bring to their next collective *name*, in their order, and the *content* each names.

        With a *reduction* (of `REDUCTIONS`, on arrays of *dtype*) there is one part, the same on all ranks. *seconds*
        is how long it waits for the others, where that is not *answer_s* of :meth:`join`.

        Raises
        ------
        TimeoutError
            A rank has not come, or has ended.
        """
        key = f"{name}/{self._next(name)}"
        patience = self._answer_s if seconds is None else seconds
        request = {"key": key, "ranks": list(ranks), "seconds": patience, "content": content}
        header, result = self._ask({"what": "gather", "reduction": reduction, "dtype": dtype, **request}, part)
        return ([result] if reduction else _split(result, header["lengths"])), header["contents"]

    def send(self, name: str, part: bytes) -> None:
        """Send bytes to the rank that receives under the same *name*; the n-th are received by the n-th call."""
        self._ask({"what": "set", "key": f"{name}/{self._next(f'{name}>')}"}, part)

    def receive(self, name: str, *, seconds: float | None = None) -> bytes:
        """
        Return what was sent under *name*.

        Raises
        ------
        TimeoutError
            Nothing comes in *seconds*, by default *answer_s* of :meth:`join`.
        """
        keys, patience = [f"{name}/{self._next(f'{name}<')}"], self._answer_s if seconds is None else seconds
        return self._ask({"what": "get", "keys": keys, "seconds": patience, "take": True})[1]

    def close(self) -> None:
        """Leave the others; the first rank waits for them, `LINGER_S` at most. A forked process leaves nothing."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            connections, self._sockets = self._sockets, []
        for connection in connections:
            connection.close()
        self._local = threading.local()
        if self._server is not None:
            self._server.close(self.rank, LINGER_S)

    def _next(self, name: str) -> int:
        with self._lock:
            self._counts[name] += 1
            return self._counts[name]

    def _ask(self, header: Mapping[str, object], payload: bytes = b"") -> tuple[dict[str, Any], bytes]:
        try:
            connection = getattr(self._local, "connection", None)
            if connection is None:
                connection = self._local.connection = self._connect()
            send_message(connection, header, payload)
            answer, content = receive_message(connection)
        except OSError as error:
            raise TimeoutError(f"rank 0 has ended: {error}") from error
        if "error" in answer:
            raise TimeoutError(answer["error"])
        return answer, content


def _serve(server: RankServer, candidates: Sequence[tuple[str, int]]) -> tuple[str, int]:
    """Serve at the first of *candidates* that is free, and return it."""
    for host, port in candidates:
        try:
            return host, server.start(host, port)
        except OSError as error:
            reason = error
    raise CommandError(f"rank 0 cannot serve the other ranks at port {candidates[0][1]}: {reason}") from reason


def _split(content: bytes, lengths: Sequence[int]) -> list[bytes]:
    parts, start = [], 0
    for length in lengths:
        parts.append(content[start : start + length])
        start += length
    return parts
