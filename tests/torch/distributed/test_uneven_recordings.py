"""Ranks that do not record the same, started with multiprocessing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import os, sys, time
import torch, torch_npu
import torch.distributed as dist
import torch.multiprocessing as mp

def profile(folder):
    profiler = torch_npu.profiler
    return profiler.profile(
        on_trace_ready=profiler.tensorboard_trace_handler(folder),
        schedule=profiler.schedule(wait=0, warmup=0, active=1, repeat=1),
        experimental_config=profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1),
    )

def work(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("hccl", rank=rank, world_size=2)
    x = torch.ones(64, device="npu")
    if rank == 0:
        with profile("alone") as alone:
            dist.all_reduce(x)
            alone.step()
    else:
        dist.all_reduce(x)
    dist.barrier()
    if rank == 0:
        later = profile("apart")
        later.start()
        dist.all_reduce(x)  # the other rank records from the next one on
    else:
        dist.all_reduce(x)
        later = profile("apart")
        later.start()
    for size in (32, 16, 8):
        if rank == 1:
            time.sleep(0.01)
        dist.all_reduce(x[:size])
    later.step()
    later.stop()
    dist.destroy_process_group()

if __name__ == "__main__":
    import socket
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(work, args=(port,), nprocs=2)
"""


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    return scripts(SCRIPT, environment={"OMP_NUM_THREADS": "1", "DRYNPU_QUIET": "1"})


def test_a_rank_that_records_alone_waits_for_nobody_and_says_so(run: Any, operators: Callable[..., Any]) -> None:
    output = run.output("alone")
    (of,) = operators(output)
    assert of.wait_us < 0.1
    # A wait in vain ends with another note.
    assert output.document("profiler_metadata.json")["drynpu"]["notes"] == [
        "ranks [1] did not record with this one: its collectives do not wait for them"
    ]
    assert output.document("profiler_info_0.json")["rank_id"] == 0, "no RANK: the process group tells"


def test_recordings_that_begin_apart_still_meet_at_the_same_collective(
    run: Any, by_rank: Callable[..., Any], operators: Callable[..., Any]
) -> None:
    first, second = map(operators, by_rank(run, "apart"))
    assert [of.args["count"] for of in first] == [64, 32, 16, 8]
    assert [of.args["count"] for of in second] == [32, 16, 8]
    assert first[0].wait_us < 0.1, "the other rank did not record it"
    assert sum(of.wait_us for of in first[1:]) > 15_000, "the other rank comes 10 ms late to each of three"
    for one, other in zip(first[1:], second, strict=True):
        assert abs(one.end - other.end) < 1
