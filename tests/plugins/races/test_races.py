"""Races between streams, found in scripts as a user runs them with ``TORCH_NPU_SANITIZER=1``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from drynpu_torch.device import state

SCRIPT = """
import sys, torch, torch_npu

mode = sys.argv[1]
side = torch.npu.Stream()
x = torch.randn(100, device="npu")
if mode != "race":
    side.wait_stream(torch.npu.current_stream())
if mode == "recorded":
    x.record_stream(side)
with torch.npu.stream(side):
    y = (x if mode == "race" else x[10:50]) * 3  # used beside
    event = side.record_event()
if mode == "waited":
    torch.npu.current_stream().wait_event(event)
if mode == "synchronized":
    torch.npu.synchronize()
if mode == "late":  # the wait is for what was before the second use
    torch.npu.current_stream().wait_event(event)
    with torch.npu.stream(side):
        z = x + 2
del x
print("through", side.npu_stream)
"""


def run(folder: Path, mode: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(SCRIPT)
    variables = {**os.environ, "TORCH_NPU_SANITIZER": "1", "DRYNPU_QUIET": "1", **environment}
    return subprocess.run(
        [sys.executable, "train.py", mode], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )


@pytest.fixture(autouse=True)
def native() -> None:
    if state().library is None:
        pytest.skip("needs the native device")


def test_two_streams_that_nothing_orders_are_a_race(tmp_path: Path) -> None:
    done = run(tmp_path, "race")
    assert done.returncode == 1
    assert "through" not in done.stdout
    assert "CUDASanitizerErrors: detected 1 errors" in done.stderr
    # Both sides, each with the line of the script, and where the memory is from.
    assert "aten::slice" not in done.stderr, "a view reads nothing"
    assert re.search(r"aten::mul\.(Tensor|Scalar)\(", done.stderr)
    assert "reading from argument(s) self" in done.stderr
    assert "* 3  # used beside" in done.stderr
    assert 'x = torch.randn(100, device="npu")' in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["recorded", "waited", "synchronized"])
def test_streams_that_are_ordered_are_none(tmp_path: Path, mode: str) -> None:
    done = run(tmp_path, mode)
    assert done.returncode == 0, done.stderr
    assert "through" in done.stdout
    assert "NPUSanitizer" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "operator"), [("nothing", "aten::mul"), ("late", "aten::add")])
def test_memory_that_may_be_given_away_while_it_is_used(tmp_path: Path, mode: str, operator: str) -> None:
    done = run(tmp_path, mode)
    assert done.returncode == 0, done.stderr
    side = done.stdout.split()[1]
    assert done.stderr.count("record_stream is missing") == 1
    assert f"Stream 0 allocated it, stream {side} uses it" in done.stderr
    assert f"The use: {operator}" in done.stderr


@pytest.mark.slow
def test_the_sink_says_that_it_cannot(tmp_path: Path) -> None:
    done = run(tmp_path, "nothing", DRYNPU_DEVICE="sink")
    assert done.returncode == 0, done.stderr
    assert "TORCH_NPU_SANITIZER needs the native device" in done.stderr


@pytest.mark.slow
def test_kernels_are_not_checked(tmp_path: Path) -> None:
    done = run(tmp_path, "race", ASCEND_OPP_DEBUG_PATH="/opp")
    assert done.returncode == 0, done.stderr
    assert "TORCH_NPU_SANITIZER checks no kernels: drynpu runs no kernels of the device" in done.stderr


def test_what_an_operator_reads_and_writes() -> None:
    from torch_npu.npu._stream_check import NPUArgumentHandler

    a, b, out = (torch.randn(3, 4, device="npu") for _ in range(3))
    add = torch.ops.aten.add.out
    accesses = NPUArgumentHandler()
    accesses.parse_inputs(add._schema, (a, b), {"out": out, "alpha": 2})
    assert accesses.dataptrs_read == {a.data_ptr(), b.data_ptr()}
    assert accesses.dataptrs_written == {out.data_ptr()}
    assert accesses.tensor_aliases[out.data_ptr()] == ["out"]
    like = NPUArgumentHandler()
    like.parse_inputs(torch.ops.aten.zeros_like.default._schema, (a,), {}, is_factory=True)
    assert not like, "of its argument a factory takes shape and type alone"
    view = NPUArgumentHandler()
    view.parse_inputs(add._schema, (a[1:], a[:1]), {"out": out})
    assert view.dataptrs_read == {a.data_ptr(), a[1:].data_ptr()}
    assert view.storage_dataptrs_accessed == {a.data_ptr(), out.data_ptr()}
    several = NPUArgumentHandler()
    several.parse_outputs(torch.ops.aten.max.dim._schema, torch.max(a, 1))
    assert len(several.outputs) == 2
    elsewhere = NPUArgumentHandler()
    elsewhere.parse_inputs(add._schema, (a.cpu(), b.cpu()), {"out": out.cpu()})
    assert not elsewhere


def test_functions_that_are_called_when_something_happens() -> None:
    from torch_npu.utils import _npu_trace

    seen: list[tuple[object, ...]] = []
    names = ("event_creation", "event_record", "event_wait", "event_synchronization", "stream_creation")
    for name in names:
        register = getattr(_npu_trace, f"register_callback_for_npu_{name}")
        register(lambda *ids, name=name: seen.append((name, *ids)), "test")
    try:
        stream, event = torch.npu.Stream(), torch.npu.Event()
        event.record(stream)
        event.wait()
        event.synchronize()
    finally:
        for name in names:
            del getattr(state().trace, name).functions["test"]
    number, mark = stream.npu_stream, event.npu_event
    assert seen == [
        ("stream_creation", number),
        ("event_creation", mark),
        ("event_record", mark, number),
        ("event_wait", mark, 0),
        ("event_synchronization", mark),
    ]
    torch.npu.Event().record()
    assert len(seen) == 5
