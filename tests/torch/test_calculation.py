"""Operations of a recorded network against those that PyTorch's own counter gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from drynpu.analysis.calculation import kernel_work, work_totals
from drynpu.products import find_profiles, load_profile

pytestmark = pytest.mark.slow

SCRIPT = """
import torch, torch_npu
from torch.utils.flop_counter import FlopCounterMode
from torch_npu import profiler as p

net = torch.nn.Sequential(torch.nn.Linear(48, 96), torch.nn.GELU(), torch.nn.Linear(96, 16)).npu()
x = torch.randn(32, 48).npu()
config = p._ExperimentalConfig(profiler_level=p.ProfilerLevel.Level1)

def step():
    net(x).square().mean().backward()

with FlopCounterMode(display=False) as counted:
    step()
net.zero_grad()
with p.profile(experimental_config=config, record_shapes=True, on_trace_ready=p.tensorboard_trace_handler("out")):
    step()
print("FLOPS", counted.get_total_flops())
"""


def test_operations_are_those_of_pytorchs_counter(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = int(next(line for line in done.stdout.splitlines() if line.startswith("FLOPS")).split()[1])
    profile = load_profile(find_profiles(tmp_path / "out")[0])
    assert work_totals(kernel_work(profile))[0] == pytest.approx(expected)
    assert expected > 2 * 32 * (48 * 96 + 96 * 16)
