"""A recording of operators of torch_npu, made by a script as a user would write it."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import torch, torch_npu

x = torch.randn(64, 256).npu().requires_grad_()
gamma = torch.ones(256).npu().requires_grad_()
with torch_npu.profiler.profile(
    experimental_config=torch_npu.profiler._ExperimentalConfig(profiler_level=torch_npu.profiler.ProfilerLevel.Level1),
    record_shapes=True,
    on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("."),
):
    torch_npu.npu_rms_norm(x, gamma)[0].backward(torch.ones(64, 256).npu())
"""


def test_kernels_and_operators_of_a_recording(tmp_path: Path) -> None:
    environment = os.environ | {"KINETO_LOG_LEVEL": "99"}
    subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, check=True, capture_output=True, env=environment)
    (folder,) = tmp_path.glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT")
    with (folder / "kernel_details.csv").open() as file:
        kernels = [row for row in csv.DictReader(file) if "RmsNorm" in row["Type"]]
    assert [(row["Name"], row["Type"], row["Accelerator Core"]) for row in kernels] == [
        ("RmsNorm", "RmsNorm", "AI_VECTOR_CORE"),
        ("RmsNormGrad", "RmsNormGrad", "MIX_AIV"),
    ]
    assert kernels[0]["Input Shapes"].strip('"') == "64,256;256"
    assert kernels[0]["Output Shapes"].strip('"') == "64,256;64,1"
    with (folder / "operator_details.csv").open() as file:
        operators = {row["Name"]: row for row in csv.DictReader(file)}
    assert operators["npu::npu_rms_norm"]["Input Shapes"].split() == ["64,256;", "256;"]
    # Neither what states the kernels nor what computes on the CPU is an operator of the device.
    assert not [name for name in operators if name.startswith(("npu_kernels::", "aten::rsqrt", "aten::mean"))]
