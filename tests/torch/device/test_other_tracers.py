"""PyTorch's own profiler and TorchScript's legacy executor, in scripts that name the device to them."""

from __future__ import annotations

from typing import Any

import pytest

OPTIONS = (
    "use_npu=True",
    "use_npu=True, use_npu_simple=True, record_shapes=True, profile_memory=True, with_stack=True",
    "use_npu=False",
    "use_device='npu'",
    "use_device='npu', use_kineto=True",
    "enabled=False, use_npu=True",
)
PROFILER = """
import os, sys
os.environ["KINETO_LOG_LEVEL"] = "99"  # Kineto's lines
import torch
import torch_npu
from torch.profiler import ProfilerActivity, profile

model, x = torch.nn.Linear(8, 8).npu(), torch.ones(4, 8).npu()
for number, options in enumerate(sys.argv[1:]):
    print("begin", options)
    with eval(f"torch.autograd.profiler.profile({options})") as prof:
        model(x).sum().backward()
    if "enabled=False" in options:
        continue
    for key in ("npu_time_total", "self_npu_time_total", "cpu_time_total"):
        table = prof.key_averages().table(sort_by=key)
    prof.export_chrome_trace(f"{number}.json")
    print("linear" in table, prof.self_cpu_time_total > 0)
for activities in ([ProfilerActivity.CPU, ProfilerActivity.PrivateUse1], [ProfilerActivity.PrivateUse1]):
    with profile(activities=activities) as prof:
        model(x).sum().backward()
    print("begin activities", len(prof.events()) > 0)
"""
TRANSFERRED = """
import os
os.environ["KINETO_LOG_LEVEL"] = "99"
import torch, torch_npu
from torch_npu.contrib import transfer_to_npu

model, x = torch.nn.Linear(8, 8).cuda(), torch.ones(4, 8).cuda()
for options in ({"use_cuda": True, "record_shapes": True}, {"use_device": "cuda"}):
    with torch.autograd.profiler.profile(True, **options) as prof:
        model(x).sum().backward()
    print("linear" in prof.key_averages().table(sort_by="self_cuda_time_total"))
"""
LEGACY = """
import threading, torch, torch_npu

torch._C._jit_set_profiling_executor(False)

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)

    def forward(self, x):
        return torch.sigmoid(self.inner(x)) * 2 + torch.tanh(x)

model, x = Model(), torch.rand(4, 8)
expected = model(x)
model.npu()
x = x.npu()
results = []
for made in (torch.jit.script(model), torch.jit.trace(model, x)):
    results += [made(x) for _ in range(3)]
    results[-1].sum().backward()
    thread = threading.Thread(target=lambda: results.append(made(x)))
    thread.start()
    thread.join()
print(len(results), all(torch.allclose(each.cpu(), expected, atol=1e-6) for each in results))
print(torch._C._jit_set_profiling_executor(True), torch._C._jit_set_profiling_executor(False))
"""
NOTICE = "torch.autograd.profiler records this host's times alone"


@pytest.mark.usefixtures("native")
def test_the_profiler_of_pytorch_takes_the_device(scripts: Any) -> None:
    run = scripts(PROFILER, *OPTIONS)
    assert run.stdout.count("True True") == len(OPTIONS) - 1
    assert run.stdout.count("begin activities") == 2
    assert "begin activities True" in run.stdout
    assert run.stderr.count(NOTICE) == 1, "one line"


def test_a_script_for_cuda_has_one_line(scripts: Any) -> None:
    pytest.importorskip("drynpu_transfer")
    run = scripts(TRANSFERRED)
    assert run.stdout.split("\n")[-3:-1] == ["True", "True"]
    assert run.stderr.count(NOTICE) == 1
    assert "CUDA" not in run.stderr.replace("a CUDA script", "")


def test_the_legacy_executor_runs_scripts(scripts: Any) -> None:
    assert scripts(LEGACY).stdout.split("\n")[:2] == ["8 True", "False True"]
