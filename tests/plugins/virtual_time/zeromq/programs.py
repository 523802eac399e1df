"""
Programs of several processes that talk over ZeroMQ, drawn by chance; who runs them chooses the clock.

    python programs.py SEED COUNT
"""

from __future__ import annotations

import json
import multiprocessing
import random
import sys
import tempfile
import zlib
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any

import zmq

Seen = dict[str, list[list[str]]]
KINDS = ("pipeline", "router", "requests", "topics", "pair")


def message(chance: random.Random, *head: bytes) -> list[bytes]:
    """Return a message of parts of unequal lengths, of which some are empty and some larger than any buffer."""
    sizes = [chance.choice((0, 1, 7, 250, 70_000, 600_000 if chance.random() < 0.05 else 9)) for _ in range(1, 4)]
    return [*head, *(chance.randbytes(size) for size in sizes[: chance.randint(1, 3)])]


def short(parts: list[bytes]) -> list[str]:
    """Return what tells messages apart."""
    return [f"{len(part)}:{zlib.crc32(part)}" for part in parts]


def talk(kind: str, number: int, count: int, address: str, seed: int) -> Seen:
    """Be the peer with that number, and return what it has got; 0 is the one that all others talk to."""
    chance, name = random.Random(seed * 1000 + number), b"peer%d" % number
    with zmq.Context() as context:
        act = globals()[f"_{kind}"]
        return {f"{key.decode()} at {number}": seen for key, seen in act(context, chance, name, count, address).items()}


def _socket(context: Any, kind: int, address: str, name: bytes, bound: bool) -> Any:
    socket = context.socket(kind)
    socket.setsockopt(zmq.IDENTITY, name)
    socket.rcvtimeo = 60_000
    if bound:
        socket.bind(address)
    else:
        socket.connect(address)
    return socket


def _all(socket: Any, senders: int) -> dict[bytes, list[list[str]]]:
    """Return what came of each sender, until all have said that that was all."""
    seen: dict[bytes, list[list[str]]] = {}
    while senders:
        name, *parts = socket.recv_multipart()
        seen.setdefault(name, []).append(short(parts))
        senders -= parts == [b"end"]
    return seen


def _pipeline(context: Any, chance: random.Random, name: bytes, count: int, address: str) -> Any:
    if name == b"peer0":
        return _all(_socket(context, zmq.PULL, address, name, bound=True), count)
    socket = _socket(context, zmq.PUSH, address, name, bound=False)
    for _ in range(chance.randint(1, 40)):
        socket.send_multipart(message(chance, name), copy=chance.random() < 0.5)
    socket.send_multipart([name, b"end"])
    return {}


def _router(context: Any, chance: random.Random, name: bytes, count: int, address: str) -> Any:
    if name == b"peer0":
        socket, seen = _socket(context, zmq.ROUTER, address, name, bound=True), {}
        while count:
            who, *parts = socket.recv_multipart()
            seen.setdefault(who, []).append(short(parts))
            count -= parts == [b"end"]
            socket.send_multipart([who, *reversed(parts)])
        return seen
    socket, got = _socket(context, zmq.DEALER, address, name, bound=False), []
    for _ in range(chance.randint(1, 12)):
        for _ in range(burst := chance.randint(1, 5)):
            socket.send_multipart(message(chance))
        got += [short(socket.recv_multipart()) for _ in range(burst)]
    socket.send(b"end")
    return {b"0": [*got, short(socket.recv_multipart())]}


def _requests(context: Any, chance: random.Random, name: bytes, count: int, address: str) -> Any:
    if name == b"peer0":
        socket, seen = _socket(context, zmq.REP, address, name, bound=True), {}
        while count:
            who, *parts = socket.recv_multipart()
            seen.setdefault(who, []).append(short(parts))
            count -= parts == [b"end"]
            socket.send_multipart([b"yes", *parts[1:]])
        return seen
    socket, got = _socket(context, zmq.REQ, address, name, bound=False), []
    for question in [*(message(chance, name) for _ in range(chance.randint(1, 9))), [name, b"end"]]:
        socket.send_multipart(question)
        got.append(short(socket.recv_multipart()))
    return {b"0": got}


def _topics(context: Any, chance: random.Random, name: bytes, count: int, address: str) -> Any:
    words = (b"", b"a", b"ab", b"abc", b"b", b"ba")
    if name == b"peer0":
        socket = _socket(context, zmq.XPUB, address, name, bound=True)
        socket.setsockopt(zmq.XPUB_VERBOSE, 1)
        ready: set[bytes] = set()
        while len(ready) < count:
            ready |= {topic for topic in [socket.recv()] if topic.startswith(b"\1endpeer")}
        for _ in range(chance.randint(5, 60)):
            socket.send_multipart(message(chance, chance.choice(words) + b"!"))
        socket.send(b"end")
        return {}
    socket, got = _socket(context, zmq.SUB, address, name, bound=False), []
    for word in chance.sample(words, chance.randint(0, 3)):
        socket.subscribe(word)
    socket.subscribe(b"end")
    socket.subscribe(b"end" + name)  # the last one: the others are known when it is
    while (parts := socket.recv_multipart()) != [b"end"]:
        got.append(short(parts))
    return {b"0": got}


def _pair(context: Any, chance: random.Random, name: bytes, count: int, address: str) -> Any:
    socket, got = _socket(context, zmq.PAIR, address, name, bound=name == b"peer0"), []
    if name not in (b"peer0", b"peer1"):
        return {}
    poller = zmq.Poller()
    poller.register(socket, zmq.POLLIN)
    for _ in range(chance.randint(1, 30)):
        socket.send_multipart(message(chance))
        while dict(poller.poll(0)):
            got.append(short(socket.recv_multipart()))
    socket.send(b"end")
    while not got or got[-1] != short([b"end"]):
        got.append(short(socket.recv_multipart(copy=True)))
    return {b"other": got}


def _put(answers: SimpleQueue[Any], *what: Any) -> None:
    answers.put(talk(*what))


def main() -> None:
    """Print what every peer of every program has got."""
    seed, programs = map(int, sys.argv[1:])
    fork, results, chance = multiprocessing.get_context("fork"), [], random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(programs):
            kind = KINDS[number % len(KINDS)]
            peers = 1 if kind == "pair" else chance.randint(1, 4)
            answers = fork.SimpleQueue()
            address = f"ipc://{Path(folder) / str(number)}"
            # Those that connect begin before the one that binds, or after it.
            order = chance.sample(range(peers + 1), peers + 1)
            each = [fork.Process(target=_put, args=(answers, kind, n, peers, address, seed + number)) for n in order]
            for process in each:
                process.start()
            seen: Seen = {}
            for _ in each:
                seen |= answers.get()
            for process in each:
                process.join()
            results.append([kind, dict(sorted(seen.items()))])
    print(json.dumps(results))


if __name__ == "__main__":
    main()
