"""ZeroMQ between processes of a run: the messages are libzmq's, and they come when they were sent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RunScript = Callable[..., Any]
_HEAD = """
import asyncio, json, multiprocessing, os, subprocess, sys, threading, time
import zmq, zmq.asyncio
def now(): return round(time.monotonic() - 1000, 3)
def process(act, *what):
    started = multiprocessing.get_context("fork").Process(target=act, args=what)
    started.start()
    return started
"""


def _programs(*words: str) -> Any:
    command = [*words, str(Path(__file__).with_name("programs.py")), "7", "10"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_programs_get_the_messages_that_libzmq_brings_them() -> None:
    """Programs are drawn by chance: five kinds of sockets, up to five processes, messages of any size."""
    ours = _programs("-m", "drynpu", "run", "--quiet", "--time", "virtual")
    assert ours == _programs()
    assert {kind for kind, seen in ours if sum(map(len, seen.values())) > 3} >= {"pipeline", "router", "requests"}


@pytest.mark.parametrize("address", ["ipc://{}", "tcp://127.0.0.1:*"])
def test_messages_come_when_they_were_sent(address: str, run_virtual: RunScript, tmp_path: Path) -> None:
    script = (
        _HEAD
        + f"ADDRESS = {address.format(tmp_path / 'socket')!r}\n"
        + """
def work(where, number):
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.identity = b"w%d" % number
        socket.connect(where)
        for step in range(3):
            time.sleep(number)
            socket.send_multipart([b"%d" % step, bytes(300_000)])
        assert socket.recv() == b"enough"
with zmq.Context() as context, context.socket(zmq.ROUTER) as socket:
    socket.bind(ADDRESS)
    where = socket.last_endpoint.decode()
    workers, log, poller = [process(work, where, n) for n in (3, 2)], [], zmq.Poller()
    poller.register(socket, zmq.POLLIN)
    while len(log) < 7:
        if not dict(poller.poll(2500)):
            log.append(["nothing", now()])
            continue
        who, step, rest = socket.recv_multipart(copy=False)
        log.append([who.bytes.decode(), int(step.bytes), len(rest), now()])
    for who in (b"w2", b"w3"): socket.send_multipart([who, b"enough"])
    for each in workers: each.join()
print(json.dumps([log, repr(time.monotonic())]))
"""
    )
    log, end = run_virtual(script)
    assert log == [
        ["w2", 0, 300_000, 2.0],
        ["w3", 0, 300_000, 3.0],
        ["w2", 1, 300_000, 4.0],
        ["w3", 1, 300_000, 6.0],
        ["w2", 2, 300_000, 6.0],
        ["nothing", 8.5],
        ["w3", 2, 300_000, 9.0],
    ] or log == [
        ["w2", 0, 300_000, 2.0],
        ["w3", 0, 300_000, 3.0],
        ["w2", 1, 300_000, 4.0],
        ["w2", 2, 300_000, 6.0],
        ["w3", 1, 300_000, 6.0],
        ["nothing", 8.5],
        ["w3", 2, 300_000, 9.0],
    ]
    assert run_virtual(script) == [log, end]


def test_event_loops_timeouts_and_threads_wait_on_the_clock(run_virtual: RunScript) -> None:
    log = run_virtual(
        _HEAD
        + """
async def main():
    log, context = [], zmq.asyncio.Context()
    reader, writer = context.socket(zmq.PULL), zmq.Context(context).socket(zmq.PUSH)
    reader.bind("inproc://here"); writer.connect("inproc://here")
    def write():
        for number in range(2): time.sleep(4); writer.send(b"%d" % number)
    thread = threading.Thread(target=write); thread.start()
    for _ in range(2):
        log.append([bool(await reader.poll(1500)), now()])
        log.append([(await reader.recv()).decode(), now()])
    reader.rcvtimeo = 700
    try: await reader.recv()
    except zmq.Again: log.append(["again", now()])
    thread.join(); reader.close(); writer.close(); context.term()
    return log
print(json.dumps([asyncio.run(main())]))
"""
    )[0]
    assert log == [[False, 1.5], ["0", 4.0], [False, 5.5], ["1", 8.0], ["again", 8.7]]


def test_a_socket_to_a_program_outside_of_the_run_is_libzmqs(run_virtual: RunScript) -> None:
    answer = run_virtual(
        _HEAD
        + """
SERVER = "import zmq; s = zmq.Context().socket(zmq.REP); p = s.bind_to_random_port('tcp://127.0.0.1'); "
SERVER += "print(p, flush=True); s.send(s.recv() + b'!')"
environment = {name: text for name, text in os.environ.items() if not name.startswith("DRYNPU")}
server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True, env=environment)
port = int(server.stdout.readline())
with zmq.Context() as context, context.socket(zmq.REQ) as socket:
    socket.connect(f"tcp://127.0.0.1:{port}")
    socket.send(b"hello")
    print(json.dumps(socket.recv().decode()))
server.wait()
"""
    )
    assert answer == "hello!"


def test_who_comes_before_the_other_end_or_after_it_ended(run_virtual: RunScript, tmp_path: Path) -> None:
    """One connects and sends before anybody is there; the other end goes, and another one takes its place."""
    log = run_virtual(
        _HEAD
        + f"ADDRESS = 'ipc://{tmp_path / 'late'}'\n"
        + """
def serve(many):
    time.sleep(5)
    with zmq.Context() as context, context.socket(zmq.PULL) as socket:
        socket.bind(ADDRESS)
        print(json.dumps([[socket.recv().decode() for _ in range(many)], now()]), flush=True)
with zmq.Context() as context, context.socket(zmq.PUSH) as socket:
    socket.sndhwm = 3
    socket.connect(ADDRESS)
    full = 0
    while not full:
        try: socket.send(b"early", zmq.NOBLOCK)
        except zmq.Again: full = now() + 1
    process(serve, 3).join()
    first = now()
    child = process(serve, 2)
    for word in (b"late", b"last"): socket.send(word)
    child.join()
print(json.dumps([first, now()]))
"""
    )
    assert log == [5.0, 10.0]
