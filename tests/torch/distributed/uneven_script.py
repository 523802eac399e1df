"""Gathers and scatters of parts that differ in size, on three ranks; writes down what came."""

from __future__ import annotations

import json
from pathlib import Path

import torch
import torch.distributed as dist
import torch_npu

torch.set_num_threads(1)
dist.init_process_group("hccl")
rank = dist.get_rank()
torch.npu.set_device(rank)
ROWS = (3, 1, 2)


def rows(count: int, first: float) -> torch.Tensor:
    return torch.arange(first, first + 2 * count, dtype=torch.float32).reshape(count, 2).npu()


def exchange() -> dict[str, object]:
    parts = [torch.zeros(count, 2, device="npu") for count in ROWS]
    work = dist.all_gather(parts, rows(ROWS[rank], 100.0 * rank), async_op=True)
    work.wait()
    share = torch.zeros(ROWS[rank], 2, device="npu")
    given = [rows(count, 10.0 * place + rank) for place, count in enumerate(ROWS)]
    dist.reduce_scatter(share, given, op=dist.ReduceOp.MAX)
    whole = torch.zeros(sum(ROWS), 2, device="npu")
    torch_npu.distributed.all_gather_into_tensor_uneven(whole, rows(ROWS[rank], 100.0 * rank), ROWS)
    summed = torch.zeros(ROWS[rank], 2, device="npu")
    torch_npu.distributed.reduce_scatter_tensor_uneven(summed, torch.cat(given), list(ROWS))
    even = [torch.zeros(4, device="npu") for _ in ROWS]
    dist.all_gather(even, torch.full((4,), float(rank), device="npu"))
    sent, received = torch.zeros(sum(ROWS), device="npu"), torch.zeros(3 * ROWS[rank], device="npu")
    dist.all_to_all_single(received, sent, [ROWS[rank]] * 3, list(ROWS))
    return {
        "gathered": [part.tolist() for part in parts],
        "largest": share.tolist(),
        "kept": [given[0][0, 0].item(), given[2][1, 1].item()],
        "whole": whole.tolist(),
        "summed": summed.tolist(),
        "even": [part[3].item() for part in even],
        "host": torch_npu.distributed.all_gather_into_tensor_uneven(torch.zeros(6, 2), torch.zeros(1, 2), ROWS),
    }


exchange()  # without a recording
profiler = torch_npu.profiler
config = profiler._ExperimentalConfig(
    profiler_level=profiler.ProfilerLevel.Level1, mstx=True, data_simplification=False
)
with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler("out"), experimental_config=config):
    results = exchange()
assert exchange() == results  # without one again
host = dist.new_group(backend="gloo")
try:
    dist.all_gather([torch.zeros(count) for count in ROWS], torch.zeros(ROWS[rank]), group=host)
except RuntimeError as error:
    results["gloo"] = str(error)
Path(f"results_{rank}.json").write_text(json.dumps(results), encoding="utf-8")
