"""Ranks of ``torch.distributed`` on one clock: messages, ranks that end, programs of ``torchrun``."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.busy_loops import busy_loops

RunScript = Callable[..., Any]
_HEAD = """
import json, os, socket, sys, time
import torch, torch_npu
import torch.distributed as dist
import torch.multiprocessing as mp
begin = 0
def now(): return round(time.monotonic() - begin, 3)
def join(rank, port, size=2, backend="gloo"):
    global begin
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group(backend); dist.barrier(); begin = time.monotonic()
def free_port():
    with socket.socket() as free: free.bind(("127.0.0.1", 0)); return free.getsockname()[1]
"""
_SPAWN = """
if __name__ == "__main__":
    queue = mp.get_context("spawn").SimpleQueue()
    processes = mp.spawn(work, (queue, free_port()), nprocs=2, join=False).processes
    for process in processes: process.join()
    print(json.dumps(sorted(queue.get() for _ in processes)))
"""


@pytest.mark.slow
def test_messages_are_there_when_both_ranks_wait_for_them(run_virtual: RunScript) -> None:
    script = (
        _HEAD
        + """
def work(rank, queue, port):
    join(rank, port); other, log = 1 - rank, []
    value, got = torch.full((3,), float(rank)), torch.zeros(3)
    # One sends late, the other one waits for it; then the other way round.
    if rank == 0: time.sleep(0.02); dist.send(value, 1)
    else: dist.recv(got, 0)
    log.append([got.tolist(), now()])
    if rank == 1: time.sleep(0.03); dist.send(value, 0)
    else: dist.recv(got, 1)
    log.append([got.tolist(), now()])
    # Both issue their sends first, which would be a knot if the issue waited.
    works = [dist.isend(value, other), dist.irecv(got, other)]
    time.sleep(0.01 * (1 + rank))
    for each in works: each.wait()
    log.append([got.tolist(), now()])
    tags = torch.zeros(2)
    if rank == 0:
        for each in [dist.isend(torch.ones(1) * tag, 1, tag=tag) for tag in (5, 6)]: each.wait()
    else:
        dist.recv(tags[1:], 0, tag=6); dist.recv(tags[:1], 0, tag=5)
    queue.put((rank, log, tags.tolist())); dist.destroy_process_group()
"""
        + _SPAWN
    )
    first, second = run_virtual(script)
    assert first == [0, [[[0, 0, 0], 0.02], [[1, 1, 1], 0.05], [[1, 1, 1], 0.06]], [0, 0]]
    assert second == [1, [[[0, 0, 0], 0.02], [[0, 0, 0], 0.05], [[0, 0, 0], 0.07]], [5, 6]]


@pytest.mark.slow
def test_a_rank_that_ends_is_an_error_of_those_that_wait_for_it(run_virtual: RunScript) -> None:
    script = (
        _HEAD
        + """
def work(rank, queue, port):
    join(rank, port); error = ""
    if rank == 1: queue.put((1, "")); time.sleep(0.5); os._exit(1)
    try: dist.all_reduce(torch.ones(1))
    except dist.DistBackendError as raised: error = str(raised)
    queue.put((0, error, now() >= 0.5))
"""
        + _SPAWN
    )
    first, second = run_virtual(script)
    assert first == [0, "virtual time: a process of this run has ended that others wait for", True]
    assert second == [1, ""]


@pytest.mark.slow
def test_batches_of_messages_keys_of_a_store_and_monitored_barriers_wait_on_the_clock(run_virtual: RunScript) -> None:
    script = (
        _HEAD
        + """
def work(rank, queue, port):
    join(rank, port, backend="hccl"); other, log = 1 - rank, []
    host = dist.new_group(backend="gloo"); start = time.monotonic()
    def now(): return round(time.monotonic() - start, 2)
    value, got = torch.full((4,), float(rank), device="npu"), torch.zeros(4, device="npu")
    time.sleep(0.1 * (1 + rank))
    batch = [dist.P2POp(dist.isend, value, other), dist.P2POp(dist.irecv, got, other)]
    for each in dist.batch_isend_irecv(batch): each.wait()
    log.append([got.cpu().tolist(), now()])
    store = dist.distributed_c10d._get_default_store()
    if rank == 0: time.sleep(0.5); store.set("key", "x")
    else: log.append([store.get("key").decode(), now()])
    if rank == 1: time.sleep(0.3); store.set("other", "y")
    else: store.wait(["other"]); log.append(now())
    try: store.wait(["never"], __import__("datetime").timedelta(seconds=7))
    except dist.DistStoreError: log.append(now())
    time.sleep(rank); dist.monitored_barrier(host); log.append(now())
    queue.put((rank, log)); dist.destroy_process_group()
"""
        + _SPAWN
    )
    first, second = run_virtual(script)
    assert first == [0, [[[1.0] * 4, 0.2], 1.0, 8.0, 9.0]]
    assert second == [1, [[[0.0] * 4, 0.2], ["x", 0.7], 8.0, 9.0]]


_TRAIN = """
import json, os, sys, time
import torch, torch_npu
import torch.distributed as dist
rank = int(os.environ["RANK"]); torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("hccl")
dist.barrier(); torch.npu.synchronize()
begin = time.monotonic()
x = torch.randn(256, 256, device="npu")
for step in range(3):
    time.sleep(0.001 * (1 + rank)); x = (x @ x) / 16; dist.all_reduce(x)
torch.npu.synchronize()
with open(f"rank{rank}.json", "w") as file: json.dump([sys.argv[1:], time.monotonic() - begin, repr(time.time())], file)
dist.destroy_process_group()
"""


def _torchrun(folder: Path) -> list[Any]:
    (folder / "train.py").write_text(_TRAIN, encoding="utf-8")
    command = [sys.executable, "-m", "drynpu", "run", "--quiet", "--time", "virtual", "-m", "torch.distributed.run"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command += ["--master-port", str(port), "--nproc-per-node", "2", "train.py", "--lr", "1"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.slow
def test_ranks_of_torchrun_live_on_one_clock_to_the_last_digit(tmp_path: Path) -> None:
    calm = _torchrun(tmp_path)
    (words, first_s, _), (_, second_s, _) = calm
    assert words == ["--lr", "1"]
    # Both leave the last sum at the time of the slower rank, which sleeps 2 ms three times.
    assert first_s == pytest.approx(second_s, rel=0.2)
    assert 0.006 < first_s < 0.02
    with busy_loops(2):
        assert _torchrun(tmp_path) == calm
