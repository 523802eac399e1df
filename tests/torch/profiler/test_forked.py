"""Profiling in a child that was forked after its parent had parsed a recording."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import multiprocessing

import torch
import torch_npu
from torch_npu.profiler import profile, tensorboard_trace_handler

weight = torch.ones(16, 16).npu()


def record(folder, products):
    with profile(on_trace_ready=tensorboard_trace_handler(folder)):
        for _ in range(products):
            weight @ weight


record("parent", 2)
# multiprocessing ends its children without tearing the interpreter down. A child that does, hangs in PyTorch's tracer
# once parent and child have used it, also without drynpu.
child = multiprocessing.get_context("fork").Process(target=record, args=("child", 3))
child.start()
child.join()
print("status", child.exitcode)
record("after", 4)
"""


def products(run: Any, folder: str) -> int:
    return sum("MatMulV2" in row["Name"] for row in run.output(folder).rows("kernel_details.csv"))


def test_a_forked_child_ends_with_the_device_s_error_or_has_its_own_result(scripts: Any, native: bool) -> None:
    """The native device refuses a fork of a process that had used it, the sink does not; neither child hangs."""
    run = scripts(SCRIPT)
    assert ("status 1" if native else "status 0") in run.stdout
    assert ("RuntimeError: Cannot re-initialize NPU in forked subprocess" in run.stderr) == native
    folders = {"parent": 2, "after": 4} if native else {"parent": 2, "child": 3, "after": 4}
    assert {folder: products(run, folder) for folder in folders} == folders
