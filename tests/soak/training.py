"""
A long training for ``soak.py``: training.py STEPS CYCLE SAMPLES.

The profiler records two steps of each CYCLE; results are removed, as a disk would fill. A line of JSON for each of
SAMPLES moments: steps, resident bytes, open descriptors, threads.
"""

from __future__ import annotations

import gc
import json
import shutil
import sys
import tempfile

import psutil
import torch
import torch_npu

steps, cycle, samples = map(int, sys.argv[1:4])
process = psutil.Process()
model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 512)).npu()
optimizer = torch.optim.AdamW(model.parameters(), fused=False, foreach=True)
batch = torch.randn(32, 512).npu()


def remove(profiler):
    handler(profiler)
    for path in list(torch_npu.soak_results.iterdir()):
        shutil.rmtree(path)


with tempfile.TemporaryDirectory() as folder:
    from pathlib import Path

    torch_npu.soak_results = Path(folder)
    handler = torch_npu.profiler.tensorboard_trace_handler(folder)
    schedule = torch_npu.profiler.schedule(wait=cycle - 3, warmup=1, active=2, repeat=0)
    with torch_npu.profiler.profile(schedule=schedule, on_trace_ready=remove, profile_memory=True) as profiler:
        for step in range(1, steps + 1):
            loss = model(batch).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            profiler.step()
            if step % max(steps // samples, 1) == 0:
                gc.collect()
                row = (step, process.memory_info().rss, process.num_fds(), process.num_threads())
                print("soak", json.dumps(row), flush=True)
