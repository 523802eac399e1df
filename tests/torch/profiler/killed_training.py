"""
A training that is killed, or whose journal is kept beside its result: ``killed_training.py OUT STEPS FLAGS END``.

FLAGS is a text of letters: s with_stack, m memory, r shapes. END is ``kill`` (SIGKILL after the last step), ``keep``
(the journal is copied to ``OUT/kept`` before it is removed) or ``full`` (every part of the journal fails with ENOSPC).
Each step prints its loss.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import torch
from torch_npu import profiler

from drynpu.recorder import Recorder
from drynpu.recorder import _journal as journal

OUT, STEPS, FLAGS, END = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]

if END == "keep":
    settle = Recorder.settle

    def keep(recorder: Recorder) -> None:
        """Wait until the last part is written, and copy the journal."""
        kept = recorder.journal
        if kept is not None:
            kept._parts.put(None)
            kept._thread.join()
            shutil.copytree(kept.path, OUT / "kept" / kept.path.name)
        settle(recorder)

    Recorder.settle = keep
if END == "full":

    def fail(path: Path, data: bytes) -> None:
        """Find no space."""
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    journal._write_file = fail

torch.manual_seed(5)
net = torch.nn.Sequential(torch.nn.Linear(16, 24), torch.nn.GELU(), torch.nn.Linear(24, 3)).npu()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
features = torch.randn(12, 16).npu()
prof = profiler.profile(
    schedule=profiler.schedule(wait=0, warmup=1, active=STEPS, repeat=1),
    on_trace_ready=profiler.tensorboard_trace_handler(str(OUT / "result")),
    with_stack="s" in FLAGS,
    profile_memory="m" in FLAGS,
    record_shapes="r" in FLAGS,
    experimental_config=profiler._ExperimentalConfig(
        profiler_level=profiler.ProfilerLevel.Level1, mstx=True, data_simplification=False
    ),
)
prof.add_metadata("purpose", "killed")
with prof:
    for step in range(STEPS + 1):
        loss = net(features).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.npu.mstx.mark(f"step {step}")
        torch.npu.synchronize()
        time.sleep(0.15)
        print("STEP", step, round(loss.item(), 6), flush=True)
        if END == "kill" and step == STEPS:
            os.kill(os.getpid(), signal.SIGKILL)
        prof.step()
