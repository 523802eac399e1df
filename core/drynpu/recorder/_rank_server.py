"""
What joins the processes of one job on this machine: the first rank serves, and every rank, itself included, asks.

A request is the length of a header, the header (JSON) and a payload whose length the header has; so is an answer. Each
connection has one request at a time, so that a call that waits for another rank holds up nobody else.
"""

from __future__ import annotations

import contextlib
import json
import socket
import socketserver
import struct
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from attrs import define, field

_LENGTH: Final = struct.Struct("<I")
_POLL_S: Final = 0.05
"""How often a server that serves looks whether it is to end."""
REDUCTIONS: Final[Mapping[str, np.ufunc]] = MappingProxyType(
    {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
)
"""Functions that make one array of the arrays of several ranks, by the name that HCCL gives them."""


def send_message(connection: socket.socket, header: Mapping[str, object], payload: bytes = b"") -> None:
    """Send a header and a payload."""
    text = json.dumps({**header, "bytes": len(payload)}).encode()
    connection.sendall(_LENGTH.pack(len(text)) + text)
    if payload:
        connection.sendall(payload)


def receive_message(connection: socket.socket) -> tuple[dict[str, Any], bytes]:
    """Return the next header and payload. Raises ``ConnectionError`` where the other side has gone."""
    (length,) = _LENGTH.unpack(_receive(connection, _LENGTH.size))
    header: dict[str, Any] = json.loads(_receive(connection, length))
    return header, _receive(connection, int(header["bytes"]))


def _receive(connection: socket.socket, size: int) -> bytes:
    content = bytearray(size)
    view, done = memoryview(content), 0
    while done < size:
        count = connection.recv_into(view[done:])
        if not count:
            raise ConnectionError("the other side has closed the connection")
        done += count
    return bytes(content)


@define(eq=False)
class _Gathering:
    """One collective while it is under way: what ranks have brought, what comes of it, and who has it."""

    parts: dict[int, bytes] = field(factory=dict)
    headers: dict[int, object] = field(factory=dict)
    result: bytes | None = None
    answered: int = 0


@define(eq=False)
class RankServer:
    """
    Values under keys, and collectives of ranks; it serves in threads of its own until the process ends.

    *job* and *size* are those that a rank has to name: a rank of another job is refused.
    """

    job: str
    size: int
    _changed: threading.Condition = field(factory=threading.Condition)
    _values: dict[str, bytes] = field(factory=dict)
    _gatherings: dict[str, _Gathering] = field(factory=dict)
    _connections: Counter[int] = field(factory=Counter)
    _gone: set[int] = field(factory=set)
    _tcp: socketserver.TCPServer | None = None

    def start(self, host: str, port: int) -> int:
        """Serve at *port* of *host* (0: one that is free) and return the port. Raises ``OSError`` if it is in use."""
        state = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with contextlib.suppress(OSError, ValueError):
                    state._serve(self.request)

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True
            request_queue_size = 128

        server = self._tcp = Server((host, port), Handler)
        threading.Thread(target=server.serve_forever, args=(_POLL_S,), name="drynpu_ranks", daemon=True).start()
        return int(server.server_address[1])

    def close(self, rank: int, seconds: float) -> None:
        """Serve no more as soon as all ranks but *rank* have closed their connections, *seconds* later at most."""
        with self._changed:
            self._changed.wait_for(lambda: not any(self._connections[other] for other in self._others(rank)), seconds)
        if self._tcp is not None:
            self._tcp.shutdown()
            self._tcp.server_close()
            self._tcp = None

    def _others(self, rank: int) -> list[int]:
        return [other for other in self._connections if other != rank]

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        header, _ = receive_message(connection)
        if (header["job"], header["size"]) != (self.job, self.size):
            send_message(connection, {"error": f"here is a job of {self.size} ranks, {self.job!r}"})
            return
        rank = int(header["rank"])
        with self._changed:
            self._connections[rank] += 1
            self._gone.discard(rank)
        try:
            send_message(connection, {})
            while True:
                header, payload = receive_message(connection)
                answer, content = self._answer(rank, header, payload)
                send_message(connection, answer, content)
        finally:
            with self._changed:
                self._connections[rank] -= 1
                if not self._connections[rank]:
                    self._gone.add(rank)
                self._changed.notify_all()

    def _answer(self, rank: int, header: Mapping[str, Any], payload: bytes) -> tuple[dict[str, object], bytes]:
        try:
            if header["what"] == "set":
                return self._set(header["key"], payload)
            if header["what"] == "get":
                return self._get(header["keys"], header["seconds"], take=header["take"])
            return self._gather(rank, header, payload)
        except (TimeoutError, TypeError, ValueError) as error:
            return {"error": str(error)}, b""

    def _set(self, key: str, value: bytes) -> tuple[dict[str, object], bytes]:
        with self._changed:
            self._values[key] = value
            self._changed.notify_all()
        return {}, b""

    def _get(self, keys: Sequence[str], seconds: float, *, take: bool) -> tuple[dict[str, object], bytes]:
        with self._changed:
            if not self._changed.wait_for(lambda: all(key in self._values for key in keys), seconds):
                raise TimeoutError(f"no answer of another rank in {seconds:g} s")
            values = [self._values.pop(key) if take else self._values[key] for key in keys]
        return {"lengths": [len(each) for each in values]}, b"".join(values)

    def _gather(self, rank: int, header: Mapping[str, Any], payload: bytes) -> tuple[dict[str, object], bytes]:
        ranks, deadline = list(header["ranks"]), time.monotonic() + header["seconds"]
        with self._changed:
            gathering = self._gatherings.setdefault(header["key"], _Gathering())
            gathering.parts[rank] = payload
            gathering.headers[rank] = header["content"]
            if len(gathering.parts) == len(ranks):
                gathering.result = _result(gathering, ranks, header)
                self._changed.notify_all()
            while gathering.result is None:
                missing = [other for other in ranks if other not in gathering.parts]
                if left := self._gone.intersection(missing):
                    raise TimeoutError(f"rank {min(left)} has ended without {header['key']}")
                if not self._changed.wait(deadline - time.monotonic()) and time.monotonic() >= deadline:
                    raise TimeoutError(f"ranks {missing} have not come to {header['key']} in {header['seconds']:g} s")
            gathering.answered += 1
            if gathering.answered == len(ranks):
                self._gatherings.pop(header["key"], None)
        lengths = [len(gathering.parts[other]) for other in ranks]
        return {"lengths": lengths, "contents": [gathering.headers[other] for other in ranks]}, gathering.result


def _result(gathering: _Gathering, ranks: Sequence[int], header: Mapping[str, Any]) -> bytes:
    """Return what all ranks get: their parts one after another, or reduced in the order of the ranks."""
    parts = [gathering.parts[rank] for rank in ranks]
    reduction = header["reduction"]
    if not reduction:
        return b"".join(parts)
    if len({len(part) for part in parts}) > 1:
        sizes = [len(part) for part in parts]
        raise ValueError(f"{header['key']}: ranks {list(ranks)} bring {sizes} bytes, a reduction needs equal ones")
    total = np.frombuffer(parts[0], header["dtype"]).copy()
    for part in parts[1:]:
        REDUCTIONS[reduction](total, np.frombuffer(part, header["dtype"]), out=total)
    return total.tobytes()
