"""What passes between processes of a run: big sends, forked processes, shared memory; and what ends a wait early."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.busy_loops import busy_loops

RunScript = Callable[..., Any]
_HEAD = """
import json, multiprocessing, os, select, signal, socket, subprocess, sys, threading, time
from multiprocessing import shared_memory
def now(): return round(time.monotonic() - 1000, 3)
"""


def test_forked_processes_live_on_the_clock_and_so_do_their_pipes_and_waits(run_virtual: RunScript) -> None:
    log = run_virtual(
        _HEAD
        + """
log, (r, w) = [], os.pipe()
for seconds in (4, 2):
    if not os.fork():
        time.sleep(seconds); os.write(w, b"%d" % seconds * 200_000); os._exit(seconds)
got = b""
while len(got) < 400_000: got += os.read(r, 1 << 20)
log.append([sorted({got[:1], got[-1:]}, reverse=True) == [b"4", b"2"], now()])
pid = os.fork()
if not pid: time.sleep(9); os._exit(0)
log.append([os.waitpid(pid, os.WNOHANG)[0], os.waitid(os.P_PID, pid, os.WEXITED).si_status, now()])
ended = []
try:
    while True: ended.append(os.waitstatus_to_exitcode(os.wait()[1]))
except ChildProcessError: log.append(ended)
print(json.dumps([log, repr(time.monotonic())]))
"""
    )[0]
    assert log == [[True, 4.0], [0, 0, 13.0], [2, 4]] or log == [[True, 4.0], [0, 0, 13.0], [4, 2]]


def test_a_send_that_is_larger_than_any_buffer_waits_for_its_reader(run_virtual: RunScript) -> None:
    log = run_virtual(
        _HEAD
        + """
def main():
    log = []
    for kind in ("fork", "spawn"):
        a, b = socket.socketpair(); back, to = multiprocessing.Pipe()
        child = multiprocessing.get_context(kind).Process(target=count, args=(b, to, bytes(300_000)))
        child.start(); b.close(); begin = now()
        a.sendall(bytes(5_000_000)); log.append(round(now() - begin)); a.close()
        log.append(back.recv()); child.join()
    return log
def count(end, to, many):
    time.sleep(3); count = len(many)
    while count < 5_300_000: count += len(end.recv(1 << 16))
    to.send(count)
if __name__ == "__main__": print(json.dumps(main()))
"""
    )
    assert log == [3, 5_300_000, 3, 5_300_000]


def test_a_flag_of_a_receive_that_must_not_wait_does_not(run_virtual: RunScript) -> None:
    assert run_virtual(
        _HEAD
        + """
here, there = socket.socketpair()
if not os.fork(): time.sleep(5); os._exit(0)
def error(call):
    try: call()
    except OSError as raised: return type(raised).__name__
results = [error(lambda: here.recv(1, socket.MSG_DONTWAIT))]
here.settimeout(2); results.append([error(lambda: here.recv(1)), now()])
here.close(); results.append(error(lambda: here.recv(1)))
print(json.dumps(results))
"""
    ) == ["BlockingIOError", ["TimeoutError", 2.0], "OSError"]


_RING = (
    _HEAD
    + """
SLOTS, SIZE = 3, 8
def flags(memory): return memory.buf[:SLOTS]
def produce(name):
    memory = shared_memory.SharedMemory(name=name)
    for item in range(12):
        time.sleep((item * 7 % 5) / 1000)
        while flags(memory)[item % SLOTS]: os.sched_yield()
        at = SLOTS + SIZE * (item % SLOTS)
        memory.buf[at : at + SIZE] = int(time.monotonic_ns() - 10**12).to_bytes(SIZE, "little")
        flags(memory)[item % SLOTS] = 1
    memory.close()
def main(context):
    memory = shared_memory.SharedMemory(create=True, size=SLOTS + SLOTS * SIZE)
    process = context.Process(target=produce, args=(memory.name,)); process.start()
    log = []
    for item in range(12):
        while not flags(memory)[item % SLOTS]: time.sleep(0) if item % 2 else os.sched_yield()
        at = SLOTS + SIZE * (item % SLOTS)
        sent = int.from_bytes(memory.buf[at : at + SIZE], "little")
        log.append([sent, time.monotonic_ns() - 10**12])
        flags(memory)[item % SLOTS] = 0
        time.sleep(0.003)
    process.join(); memory.close(); memory.unlink()
    return log
if __name__ == "__main__": print(json.dumps(main(multiprocessing.get_context("fork"))))
"""
)


def test_a_ring_in_shared_memory_that_is_awaited_in_loops_keeps_the_order_of_time(run_virtual: RunScript) -> None:
    log = run_virtual(_RING)
    # What is read was written before: never earlier, and at most 1 % of the wait and a turn of the loop later.
    ready = 0
    for sent, seen in log:
        assert sent < seen
        assert seen - max(sent, ready) < 200_000
        ready = seen + 3_000_000
    with busy_loops(2):
        assert run_virtual(_RING) == log


def test_what_a_wait_raises_is_raised_in_the_thread_that_waits(run_virtual: RunScript) -> None:
    assert run_virtual(
        _HEAD
        + """
log = []
here, there = socket.socketpair()
def wait():
    try: select.select([here], [], [], 60)
    except (OSError, ValueError) as error: log.append([type(error).__name__, now()])
thread = threading.Thread(target=wait); thread.start()
time.sleep(1); here.close(); time.sleep(1)
log.append(now()); thread.join(); log.append(now())
print(json.dumps(log))
"""
    ) == [["ValueError", 1.0], 2.0, 2.0]


@pytest.mark.parametrize("others", ["", "if not os.fork(): time.sleep(50); os._exit(0)"])
def test_a_handler_of_signals_that_raises_ends_the_wait_and_nothing_else(run_virtual: RunScript, others: str) -> None:
    seen = run_virtual(
        _HEAD
        + f"""
{others}
def kill(): signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
def other():
    time.sleep(1)
    # The machine's time: the main thread is surely asleep before, and its handler runs behind.
    subprocess.run(["sleep", "0.2"]); kill(); subprocess.run(["sleep", "0.5"])
    for _ in range(3): time.sleep(1)
    seen.append("other")
seen, lock = [], threading.Lock()
thread = threading.Thread(target=other); thread.start()
lock.acquire()
try: lock.acquire(timeout=30)
except KeyboardInterrupt: seen.append("interrupted")
thread.join(); seen.append(now() < 30)
print(json.dumps(seen))
"""
    )
    assert seen == ["interrupted", "other", True]


def test_a_forked_process_that_runs_another_program_holds_nobody_up(run_virtual: RunScript) -> None:
    assert run_virtual(
        _HEAD
        + """
pid = os.fork()
if not pid: os.execvp("true", ["true"])
time.sleep(1)
log = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), now()]
print(json.dumps(log))
"""
    ) == [0, 1.0]


def test_executors_managers_and_barriers_wait_on_the_clock_and_a_killed_process_ends_at_once(
    run_virtual: RunScript,
) -> None:
    log = run_virtual(
        _HEAD
        + """
import concurrent.futures
def nap(seconds): time.sleep(seconds); return seconds
def put(shared, seconds): time.sleep(seconds); shared[seconds] = round(now())
def meet(barrier, event): time.sleep(3); barrier.wait(); event.wait(); time.sleep(1)
def hold(lock): lock.acquire(); time.sleep(1); os.kill(os.getpid(), signal.SIGKILL)
def main(context):
    log = []
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        log.append([list(pool.map(nap, [2, 1, 1])), round(now())])
    with context.Manager() as manager:
        shared = manager.dict()
        processes = [context.Process(target=put, args=(shared, seconds)) for seconds in (1, 2)]
        for process in processes: process.start()
        for process in processes: process.join()
        log.append(sorted(dict(shared).values()))
    barrier, event, lock = context.Barrier(2), context.Event(), context.Lock(); begin = now()
    process = context.Process(target=meet, args=(barrier, event)); process.start()
    barrier.wait(); log.append(round(now() - begin)); event.set(); process.join(); log.append(round(now() - begin))
    begin = now(); process = context.Process(target=hold, args=(lock,)); process.start(); process.join()
    log.append([process.exitcode, lock.acquire(timeout=3), round(now() - begin)])
    begin = now(); process = context.Process(target=nap, args=(100,)); process.start(); time.sleep(1)
    process.terminate(); process.join(5); log.append([process.exitcode, round(now() - begin)])
    def open_files(): return len(os.listdir("/proc/self/fd"))
    counts = []
    for _ in range(6):
        process = context.Process(target=nap, args=(0,)); process.start(); process.join(); counts.append(open_files())
    log.append(counts[0] == counts[-1])
    return log
if __name__ == "__main__": print(json.dumps(main(multiprocessing.get_context("fork"))))
"""
    )
    assert log == [[[2, 1, 1], 2], [3, 4], 3, 4, [-9, False, 4], [-15, 1], True]


def test_a_fork_server_is_named_as_what_is_not_on_the_clock(run_virtual: RunScript) -> None:
    said = run_virtual(
        _HEAD
        + """
import io
def nothing(): pass
if __name__ == "__main__":
    said = sys.stderr = io.StringIO()
    for _ in range(2):
        process = multiprocessing.get_context("forkserver").Process(target=nothing); process.start(); process.join()
    print(json.dumps([process.exitcode, said.getvalue().count("fork server")]))
"""
    )
    assert said == [0, 1]
