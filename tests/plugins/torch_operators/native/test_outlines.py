"""Operators of torch_npu in runs without values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., Any]


def test_operators_of_torch_npu_launch_their_kernels(run: Run, tmp_path: Path) -> None:
    script = f"""
import csv, glob, json, torch, torch_npu
from torch_npu.profiler import profile, tensorboard_trace_handler, ProfilerLevel, _ExperimentalConfig
q = torch.randn(2, 1024, 512, device="npu", dtype=torch.float16, requires_grad=True)
g = torch.ones(512, device="npu", dtype=torch.float16)
config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1)
with profile(experimental_config=config, on_trace_ready=tensorboard_trace_handler({str(tmp_path)!r})):
    out = torch_npu.npu_rms_norm(torch_npu.npu_fusion_attention(q, q, q, 8, "BSH")[0], g)[0]
    out.sum().backward()
(file,) = glob.glob({str(tmp_path)!r} + "/*/ASCEND_PROFILER_OUTPUT/kernel_details.csv")
print(json.dumps([row["Type"] for row in csv.DictReader(open(file))]))
"""
    kinds = run(script, DRYNPU_COMPUTE="0")
    assert {"FlashAttentionScore", "FlashAttentionScoreGrad", "RmsNorm", "RmsNormGrad"} <= set(kinds)
