"""
Two profiled steps of a small network with attention.

    drynpu run torch_session.py FOLDER LEVEL [METRICS]
"""

from __future__ import annotations

import sys

import torch
import torch_npu
from torch_npu import profiler

GROUPS = {
    "": "AiCoreNone",
    "PipeUtilization": "PipeUtilization",
    "ArithmeticUtilization": "ArithmeticUtilization",
    "Memory": "Memory",
    "MemoryL0": "MemoryL0",
    "MemoryUB": "MemoryUB",
    "ResourceConflictRatio": "ResourceConflictRatio",
    "L2Cache": "L2Cache",
    "MemoryAccess": "MemoryAccess",
}
LEVELS = {"l0": "Level0", "l1": "Level1", "l2": "Level2"}


def main() -> None:
    """Record."""
    folder, level, *metrics = sys.argv[1:]
    config = profiler._ExperimentalConfig(
        profiler_level=getattr(profiler.ProfilerLevel, LEVELS[level]),
        aic_metrics=getattr(profiler.AiCMetrics, GROUPS[metrics[0] if metrics else ""]),
        data_simplification=False,
    )
    model = torch.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.1, batch_first=True).npu()
    data = torch.randn(2, 16, 64).npu()
    with profiler.profile(
        schedule=profiler.schedule(wait=0, warmup=1, active=2, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(folder),
        experimental_config=config,
        profile_memory=True,
    ) as prof:
        for _ in range(3):
            model(data).square().mean().backward()
            prof.step()
    torch_npu.npu.synchronize()


if __name__ == "__main__":
    main()
