"""The laws of the virtual clock in one process, without a device."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest

RunScript = Callable[..., Any]
_HEAD = """
import asyncio, concurrent.futures, json, os, queue, random, select, selectors, signal, socket, subprocess, sys
import threading, time
begin = time.monotonic()
def now(): return time.monotonic() - begin
"""


def test_a_sleep_of_1000_s_takes_no_time_of_this_machine(
    run_virtual: RunScript, wall_clock: Callable[[], float]
) -> None:
    begin = wall_clock()
    clocks = run_virtual(
        _HEAD
        + """
names = ("time", "monotonic", "perf_counter", "process_time", "thread_time")
before = [getattr(time, name)() for name in names] + [time.time_ns() / 1e9, time.clock_gettime(time.CLOCK_MONOTONIC)]
time.sleep(1000)
after = [getattr(time, name)() for name in names] + [time.time_ns() / 1e9, time.clock_gettime(time.CLOCK_MONOTONIC)]
print(json.dumps([b - a for a, b in zip(before, after)]))
"""
    )
    assert clocks == pytest.approx([1000] * 7, abs=1e-4)
    assert wall_clock() - begin < 1000


def test_names_that_were_imported_before_and_calendars_are_virtual_too(run_virtual: RunScript) -> None:
    assert run_virtual(
        _HEAD
        + """
from time import monotonic
time.sleep(86_400)
print(json.dumps([round(monotonic() - begin), round(threading._time() - begin), time.strftime("%Y-%m-%d")]))
"""
    ) == [86_400, 86_400, "2026-01-02"]


def test_deadlines_come_in_their_order_and_ties_in_the_order_of_the_waits(run_virtual: RunScript) -> None:
    assert run_virtual(
        _HEAD
        + """
log = []
def sleeper(name, seconds):
    time.sleep(seconds)
    log.append(name)
threads = [threading.Thread(target=sleeper, args=each) for each in zip("abcdef", (5, 1, 3, 0.1, 400, 2))]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps(log))
"""
    ) == ["d", "b", "f", "c", "a", "e"]


def test_what_threads_wait_for_comes_at_its_time_or_the_timeout_does(run_virtual: RunScript) -> None:
    waits = run_virtual(
        _HEAD
        + """
results = []
def timed(function):
    start = now()
    try: came = function()
    except (queue.Empty, concurrent.futures.TimeoutError) as error: came = type(error).__name__
    results.append([came if isinstance(came, (bool, str, int)) or came is None else "?", round(now() - start, 3)])
event, items, simple = threading.Event(), queue.Queue(), queue.SimpleQueue()
lock, condition, gate = threading.Lock(), threading.Condition(), threading.Semaphore(0)
def work():
    time.sleep(10); event.set(); items.put(7); simple.put(8); gate.release()
    with condition: condition.notify()
    with lock: time.sleep(20)
thread = threading.Thread(target=work); thread.start()
timed(lambda: event.wait(4))
timed(lambda: event.wait(40))
timed(items.get)
timed(lambda: items.get(timeout=3))
timed(simple.get)
timed(lambda: lock.acquire(timeout=1))
timed(lambda: lock.acquire())
timed(lambda: thread.join(5))
timed(lambda: gate.acquire(timeout=5))
timed(lambda: gate.acquire(timeout=5))
with condition: timed(lambda: condition.wait(6))
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    timed(lambda: pool.submit(time.sleep, 2).result())
    timed(lambda: pool.submit(time.sleep, 9).result(timeout=1))
timer = threading.Timer(60, event.set); event.clear(); timer.start()
timed(lambda: event.wait(30)); timed(lambda: event.wait(31))
print(json.dumps(results))
"""
    )
    assert waits == [
        [False, 4.0], [True, 6.0], [7, 0.0], ["Empty", 3.0], [8, 0.0], [False, 1.0], [True, 16.0], [None, 0.0],
        [True, 0.0], [False, 5.0], [False, 6.0], [None, 2.0], ["TimeoutError", 1.0], [False, 30.0], [True, 30.0],
    ]  # fmt: skip


def test_files_are_seen_when_another_thread_writes_and_timeouts_are_virtual(run_virtual: RunScript) -> None:
    waits = run_virtual(
        _HEAD
        + """
results = []
def timed(function):
    start = now(); came = function(); results.append([bool(came and any(came)), round(now() - start, 3)])
def writer(end, seconds):
    time.sleep(seconds); end.send(b"x")
def poller(kind):
    object = kind(); object.register(here.fileno(), 1); return object
for kind in ("select", "poll", "epoll", "selector"):
    here, there = socket.socketpair()
    wait = {
        "select": lambda s: select.select([here], [], [], s),
        "poll": lambda s: poller(select.poll).poll(s * 1000),
        "epoll": lambda s: poller(select.epoll).poll(s),
        "selector": lambda s: selected(s),
    }[kind]
    def selected(s):
        with selectors.DefaultSelector() as selector:
            selector.register(here, selectors.EVENT_READ); return selector.select(s)
    timed(lambda: wait(50))
    thread = threading.Thread(target=writer, args=(there, 3)); thread.start()
    timed(lambda: wait(50)); thread.join()
print(json.dumps(results))
"""
    )
    assert waits == [[False, 50.0], [True, 3.0]] * 4


def test_event_loops_have_virtual_timers_executors_and_timeouts(run_virtual: RunScript) -> None:
    assert run_virtual(
        _HEAD
        + """
async def main():
    loop = asyncio.get_running_loop(); begin = loop.time(); laps = []
    def lap(): laps.append(round(loop.time() - begin, 2))
    await asyncio.sleep(3600); lap()
    await loop.run_in_executor(None, time.sleep, 10); lap()
    try: await asyncio.wait_for(asyncio.Event().wait(), 7)
    except asyncio.TimeoutError: lap()
    done = []
    async def job(n): await asyncio.sleep(n); done.append(n)
    await asyncio.gather(*map(job, (3, 1, 2))); lap()
    command = [sys.executable, "-c", "print(1)"]
    process = await asyncio.to_thread(subprocess.run, command, capture_output=True)
    lap()
    return laps, done, process.stdout.decode()
print(json.dumps(asyncio.run(main())))
"""
    ) == [[3600.0, 3610.0, 3617.0, 3620.0, 3620.0], [1, 2, 3], "1\n"]


_QUEUE = """
async def main(arrivals, services):
    queue, waits = asyncio.Queue(), []
    async def serve():
        for service in services:
            arrived = await queue.get()
            waits.append(now() - arrived)
            await asyncio.sleep(service)
    server = asyncio.create_task(serve())
    start = now()
    for arrival in arrivals:
        await asyncio.sleep(max(0, start + arrival - now()))
        queue.put_nowait(now())
    await server
    return waits
"""


def _waits(arrivals: list[float], services: list[float]) -> list[float]:
    """Return how long each customer waits: Lindley's recursion, which knows nothing of clocks."""
    waits = [0.0]
    for gap, service in zip(itertools.pairwise(arrivals), services, strict=False):
        waits.append(max(0.0, waits[-1] + service - (gap[1] - gap[0])))
    return waits


@pytest.mark.parametrize("process", ["deterministic", "poisson"])
def test_a_queue_of_asyncio_has_the_waits_of_queueing_theory(run_virtual: RunScript, process: str) -> None:
    draw = random.Random(7)
    gaps = [1.25 if process == "deterministic" else draw.expovariate(0.8) for _ in range(400)]
    arrivals, services = list(itertools.accumulate(gaps)), [1.0] * len(gaps)
    waits = run_virtual(f"{_HEAD}{_QUEUE}print(json.dumps(asyncio.run(main({arrivals!r}, {services!r}))))")
    # A turn of the loop takes its 20 us, some of them for each customer, and they add up while there is a queue.
    assert waits == pytest.approx(_waits(arrivals, services), abs=0.05)


def test_two_runs_are_equal_to_the_last_digit_whatever_the_order_of_sets(run_virtual: RunScript) -> None:
    script = (
        _HEAD
        + """
log = []
def work(name):
    for _ in range(20):
        time.sleep(random.random()); log.append([name, repr(time.time())])
random.seed(1)
threads = [threading.Thread(target=work, args=(name,)) for name in {"a", "b", "c", "d"}]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps(log))
"""
    )
    assert run_virtual(script) == run_virtual(script)


def test_a_loop_that_only_reads_the_clock_ends_and_lets_others_run(run_virtual: RunScript) -> None:
    assert run_virtual(
        _HEAD
        + """
seen = []
def other():
    for _ in range(3): time.sleep(0.02); seen.append(round(now(), 2))
thread = threading.Thread(target=other); thread.start()
while now() < 0.1: pass
thread.join()
print(json.dumps(seen))
"""
    ) == pytest.approx([0.02, 0.04, 0.06], abs=0.011)
