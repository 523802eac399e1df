"""Several processes of ``multiprocessing`` live on one clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.busy_loops import busy_loops

RunScript = Callable[..., Any]
_HEAD = """
import json, multiprocessing, socket, sys, time
def now(): return round(time.monotonic() - 1000, 3)
"""
_WORKERS = (
    _HEAD
    + """
def serve(pipe, name, seconds):
    while (task := pipe.recv()) is not None:
        time.sleep(seconds)
        pipe.send([name, task, now()])
    time.sleep(5)
def main(context):
    log, pipes = [], []
    for name, seconds in (("a", 0.5), ("b", 2)):
        here, there = context.Pipe()
        process = context.Process(target=serve, args=(there, name, seconds))
        process.start(); there.close(); pipes.append((here, process))
    for task in range(2):
        for here, _ in pipes: here.send(task)
        for here, _ in pipes: log.append(here.recv())
    log.append([pipes[0][0].poll(3), now()])
    for here, process in pipes: here.send(None)
    for _, process in pipes: process.join()
    log.append([process.exitcode, now()])
    return [log, repr(time.monotonic())]
"""
)
_STARTS = '\nif __name__ == "__main__": print(json.dumps(main(multiprocessing.get_context({!r}))))'


def test_workers_take_their_time_side_by_side_and_answers_come_when_they_were_sent(run_virtual: RunScript) -> None:
    log, _ = run_virtual(_WORKERS + _STARTS.format("fork"))
    # b is busy until 2 and 4; a waits for its second task until b has answered the first one.
    assert log == [["a", 0, 0.5], ["b", 0, 2.0], ["a", 1, 2.5], ["b", 1, 4.0], [False, 7.0], [0, 12.0]]


@pytest.mark.slow
def test_spawned_workers_do_so_to_the_last_digit_also_beside_busy_loops(run_virtual: RunScript) -> None:
    calm = run_virtual(_WORKERS + _STARTS.format("spawn"))
    assert [answer[2] for answer in calm[0][:4]] == [0.5, 2.0, 2.5, 4.0]
    with busy_loops(2):
        assert run_virtual(_WORKERS + _STARTS.format("spawn")) == calm


@pytest.mark.slow
def test_queues_locks_pools_and_sockets_wait_for_processes_on_the_clock(run_virtual: RunScript) -> None:
    script = (
        _HEAD
        + """
def hold(lock, queue, seconds):
    with lock:
        time.sleep(seconds); queue.put([seconds, now()])
def nap(seconds): time.sleep(seconds); return seconds
def answer(end): time.sleep(2); end.sendall(end.recv(9)); end.close()
def main(context):
    lock, queue = context.Lock(), context.Queue()
    for seconds in (3, 1): context.Process(target=hold, args=(lock, queue, seconds)).start()
    log = [queue.get(), queue.get()]
    with context.Pool(2) as pool: log.append([pool.map(nap, [5, 5, 1], chunksize=1), now()])
    here, there = socket.socketpair()
    context.Process(target=answer, args=(there,)).start(); there.close()
    begin = now(); here.sendall(b"x"); log.append([here.recv(9).decode(), round(now() - begin, 2)])
    return log
"""
    )
    held, after, napped, echoed = run_virtual(script + _STARTS.format("fork"))
    assert [held, after] == [[3, 3.0], [1, 4.0]]
    assert napped[0] == [5, 5, 1]
    assert napped[1] == pytest.approx(10, abs=0.01)
    assert echoed == ["x", 2.0]


@pytest.mark.slow
def test_ranks_meet_in_collectives_at_the_time_of_the_last_one(run_virtual: RunScript) -> None:
    script = """
import json, os, time
import torch, torch_npu
import torch.distributed as dist
import torch.multiprocessing as mp
def work(rank, queue, port):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.npu.set_device(rank)
    dist.init_process_group("hccl")
    host = dist.new_group(backend="gloo")
    dist.barrier(group=host)
    begin, log = time.monotonic(), []
    for _ in range(2):
        time.sleep(0.01 * (1 + rank))
        value = torch.tensor([float(rank)]); dist.all_reduce(value, group=host)
        log.append([value.item(), round(time.monotonic() - begin, 3)])
    x = torch.ones(64, 64, device="npu"); dist.all_reduce(x); torch.npu.synchronize()
    queue.put((rank, log, x.cpu().sum().item())); dist.destroy_process_group()
if __name__ == "__main__":
    import socket
    with socket.socket() as free: free.bind(("127.0.0.1", 0)); port = free.getsockname()[1]
    queue = mp.get_context("spawn").SimpleQueue()
    mp.spawn(work, (queue, port), nprocs=2)
    print(json.dumps(sorted(queue.get() for _ in range(2))))
"""
    log = [[1.0, 0.02], [1.0, 0.04]]
    assert run_virtual(script) == [[0, log, 8192.0], [1, log, 8192.0]]
