"""Kineto to columns: nothing is lost between chunks, places are told apart, and the device side repeats by seed."""

from __future__ import annotations

import gc
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.profiler import record_function
from torch.utils.data import DataLoader, TensorDataset

from drynpu import CaptureError
from drynpu.analysis import summarise
from drynpu.device import DispatchKind
from drynpu.kernels import Placement
from drynpu.layouts import framework_torch as torch_facts
from drynpu.layouts.framework_torch import FrameworkRecord
from drynpu.options import Clock
from drynpu.products import load_profile
from drynpu.raw import read_tlv
from drynpu_torch.capture import Capture, CapturedTorch, new_tracer

Record = Callable[..., CapturedTorch]


def step() -> None:
    """One step of some work with a gradient, allocations and a wait for the device."""
    weight = torch.ones(16, 16, device="npu", requires_grad=True)
    (weight @ weight).relu().sum().backward()
    assert weight.grad is not None
    weight.grad.sum().item()


def names(captured: CapturedTorch) -> list[str]:
    return [captured.operators.names[i] for i in captured.operators.name.tolist()]


def placed(captured: CapturedTorch, name: str) -> list[Placement]:
    operators = captured.operators
    rows = [i for i, found in enumerate(names(captured)) if found == name]
    return [operators.signatures[operators.signature[row]].placement for row in rows]


def test_operators_have_times_threads_shapes_and_sequence(record: Record, native: bool) -> None:
    before = time.time_ns()
    captured = record(step)
    operators = captured.operators
    assert before <= captured.begin_ns <= operators.start_ns.min()
    assert operators.end_ns.max() <= captured.end_ns <= time.time_ns()
    assert np.all(operators.end_ns >= operators.start_ns)
    assert np.all(np.diff(operators.start_ns) >= 0)
    threads = {name: operators.thread[i] for i, name in enumerate(names(captured))}
    assert threads["aten::relu"] == threading.get_native_id()
    # PyTorch runs the backward pass of a device in a thread of its own.
    assert len(set(operators.thread.tolist())) == (2 if native else 1)
    assert (threads["ReluBackward0"] != threads["aten::relu"]) == native
    row = names(captured).index("aten::mm")
    signature = operators.signatures[operators.signature[row]]
    assert [t.shape for t in signature.tensors()] == [(16, 16), (16, 16)]
    assert operators.texts[operators.signature[row]][1] == "16,16;16,16"
    assert operators.texts[operators.signature[row]][0] == "float;float"
    forward = {operators.sequence[i]: i for i, name in enumerate(names(captured)) if name == "aten::relu"}
    backward = names(captured).index("ReluBackward0")
    assert operators.sequence[backward] in forward
    assert operators.fwd_thread[backward] != 0
    assert operators.scope[backward] == 1


@pytest.mark.parametrize("chunk_events", [1, 40, 30_000])
def test_cutting_into_chunks_loses_nothing(record: Record, chunk_events: int) -> None:
    record(step)  # whatever is made at the first call
    gc.collect()
    gc.disable()
    try:
        whole = record(*[step] * 4, chunk_events=10**9)
        cut = record(*[step] * 4, chunk_events=chunk_events)
    finally:
        gc.enable()
    assert Counter(names(cut)) == Counter(names(whole))
    assert Counter(cut.allocations.size_bytes.tolist()) == Counter(whole.allocations.size_bytes.tolist())
    assert len(whole.allocations) > 20
    assert whole.allocations.size_bytes.sum() == 0
    pauses = [mark for mark in cut.device_calls.calls if mark.kind is DispatchKind.PAUSE]
    assert len(pauses) == 4  # at each boundary, whether or not it is cut there
    for pause in pauses:
        assert not np.any((cut.operators.start_ns >= pause.time_ns) & (cut.operators.start_ns < pause.until_ns))


def test_allocations_pair_by_address(record: Record) -> None:
    allocations = record(step).allocations
    assert np.all(np.diff(allocations.time_ns) >= 0)
    held: dict[int, int] = {}
    for address, size in zip(allocations.address.tolist(), allocations.size_bytes.tolist(), strict=True):
        if size > 0:
            assert address not in held
            held[address] = size
        else:
            assert held.pop(address) == -size
    assert not held


def test_without_memory_no_allocation_is_kept(record: Record) -> None:
    assert len(record(step, memory=False).allocations) == 0


def test_another_profiler_is_an_error_and_changes_nothing(record: Record) -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as other:
        capture = Capture(tracer=new_tracer())
        with pytest.raises(CaptureError, match=r"PyTorch's own profiler is already recording .* Stop torch.profiler"):
            capture.start()
        torch.ones(3).add(1)
    assert "aten::add" in {event.name for event in other.events()}
    assert "aten::mm" in names(record(step))


def test_several_one_after_another(record: Record) -> None:
    assert [names(record(step)).count("aten::mm") for _ in range(5)] == [3] * 5


def test_recording_from_a_child_thread(record: Record, native: bool) -> None:
    found: list[tuple[int, CapturedTorch]] = []
    thread = threading.Thread(target=lambda: found.append((threading.get_native_id(), record(step, step))))
    thread.start()
    thread.join()
    ((identity, captured),) = found
    assert identity != threading.get_native_id()
    threads = set(captured.operators.thread.tolist())
    assert identity in threads
    assert threading.get_native_id() not in threads
    assert len(threads) == (2 if native else 1)  # the backward pass of a device has a thread of its own
    assert names(captured).count("aten::mm") == 6


@pytest.mark.parametrize("chunk_events", [1, 30_000])
def test_operators_of_other_threads_are_captured_and_not_reported(record: Record, chunk_events: int) -> None:
    identities: list[int] = []

    def other() -> None:
        identities.append(threading.get_native_id())
        with record_function("beside"):
            torch.ones(5, device="npu").exp2()

    def beside() -> None:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    operators = record(step, beside, step, memory=False, chunk_events=chunk_events).operators
    (identity,) = identities
    rows = operators.thread == identity
    assert {"beside", "aten::exp2"} <= {operators.names[number] for number in operators.name[rows].tolist()}
    assert not operators.reported[rows].any()
    assert operators.reported[~rows].all()


def test_copies_are_told_by_direction(record: Record, native: bool) -> None:
    host = torch.arange(4.0)

    def work() -> None:
        there = host.to("npu:0")
        there.to("npu:0")
        there.cpu()
        host.double()

    captured = record(work)
    if native:
        assert placed(captured, "aten::_to_copy") == [Placement.TO_DEVICE, Placement.TO_HOST, Placement.HOST]
    else:  # what the host does counts as the device's
        assert placed(captured, "aten::_to_copy") == [Placement.TO_DEVICE, Placement.DEVICE]
        assert placed(captured, "aten::clone") == [Placement.TO_HOST]
    assert "aten::to" in names(captured)
    assert not [name for name in names(captured) if name.startswith("drynpu")]


def test_loaders_work_on_the_host(record: Record) -> None:
    loader = DataLoader(TensorDataset(torch.arange(12.0).reshape(6, 2)), batch_size=3, shuffle=True)

    def work() -> None:
        for (batch,) in loader:
            batch.to("npu:0").add_(1.0)

    captured = record(work)
    assert set(placed(captured, "aten::stack")) | set(placed(captured, "aten::random_")) == {Placement.HOST}
    assert set(placed(captured, "aten::add_")) == {Placement.DEVICE}
    assert placed(captured, "aten::_to_copy").count(Placement.TO_DEVICE) == 2
    init = torch.utils.data.dataloader._BaseDataLoaderIter.__init__
    assert init.__module__ == "torch.utils.data.dataloader"
    assert not hasattr(init, "__wrapped__")  # as it was


def test_step_counters_work_on_the_host(record: Record) -> None:
    weight = torch.ones(4, device="npu", requires_grad=True)
    optimizer = torch.optim.Adam([weight])
    weight.grad = torch.ones(4, device="npu")
    captured = record(optimizer.step, optimizer.step)
    places = Counter(placed(captured, "aten::add_"))
    assert places[Placement.HOST] == 2
    assert placed(captured, "aten::addcdiv_") == [Placement.DEVICE] * 2


def test_stacks_are_innermost_first_and_whole(record: Record) -> None:
    captured = record(step, stack=True)
    row = names(captured).index("aten::mm")
    frames = captured.operators.stacks[captured.operators.stack[row]].split(";")
    here = [frame for frame in frames if frame.startswith(__file__)]
    assert here[0].endswith("): step")
    assert here[1].endswith("): test_stacks_are_innermost_first_and_whole")
    assert all(Path(frame.partition("(")[0]).is_file() for frame in frames if frame.startswith("/"))
    assert not any("drynpu_torch/" in frame for frame in frames)
    assert set(record(step).operators.stack.tolist()) == {-1}


def device_files(directory: Path) -> dict[str, bytes]:
    (prof,) = directory.glob("PROF_*")
    return {path.name: path.read_bytes() for path in sorted((prof / "device_0" / "data").iterdir())}


def test_the_same_seed_gives_the_same_device_data_bit_for_bit(record: Record, write: Any) -> None:
    captured = record(step, step)
    first, again, other = (write(captured, name, seed=seed) for name, seed in (("a", 7), ("b", 7), ("c", 8)))
    assert device_files(first.directory) == device_files(again.directory)
    assert device_files(first.directory)["stars_soc.data.0.slice_0"]
    assert (first.directory / "FRAMEWORK" / "torch.op_range").read_bytes() == (
        again.directory / "FRAMEWORK" / "torch.op_range"
    ).read_bytes()
    differing = {
        name for name, data in device_files(first.directory).items() if data != device_files(other.directory)[name]
    }
    assert {"stars_soc.data.0.slice_0", "ffts_profile.data.0.slice_0"} <= differing
    assert first.kernels == other.kernels > 0


def test_the_wall_clock_writes_the_measured_times(record: Record, write: Any) -> None:
    captured = record(step)
    wall = write(captured, "wall", clock=Clock.WALL)
    fixed = read_tlv(wall.directory / "FRAMEWORK" / "torch.op_range", torch_facts.OP_RANGE).fixed
    assert len(fixed) == len(captured.operators)
    assert np.array_equal(fixed["end"] - fixed["start"], captured.operators.end_ns - captured.operators.start_ns)
    assert np.array_equal(np.diff(fixed["start"]), np.diff(captured.operators.start_ns))
    projected = write(captured, "projected", clock=Clock.PROJECTED)
    shown = read_tlv(projected.directory / "FRAMEWORK" / "torch.op_range", torch_facts.OP_RANGE).fixed
    assert len(shown) < len(fixed)
    assert FrameworkRecord.OP_RANGE == 1


LIBRARY = torch.library.Library("drynpu_capture_tests", "DEF")
LIBRARY.define("leaf(Tensor(a!) x) -> Tensor(a!)")
LIBRARY.impl("leaf", lambda x: x, "CPU")
LIBRARY.define("filled(Tensor x, int times) -> Tensor")
LIBRARY.impl("filled", lambda x, times: torch.empty_like(x), "CPU")
LIBRARY.define("composed(Tensor x) -> Tensor")
LIBRARY.impl("composed", lambda x: torch.empty_like(x).copy_(x).exp(), "CPU")
LIBRARY.define("seen(Tensor x) -> Tensor")
LIBRARY.impl("seen", lambda x: x.view(4, 16).clone(), "CPU")


def test_an_operator_without_a_rule_is_a_marked_kernel(record: Record, write: Any) -> None:
    x = torch.ones(8, 8, device="npu")
    mine = torch.ops.drynpu_capture_tests

    def work() -> None:
        for _ in range(3):
            mine.leaf(x)
        mine.filled(x, 2)  # as most kernels in C++ do: makes the result and fills it with a loop of its own
        mine.composed(x)
        mine.seen(x)
        x.add(1)

    outcome = write(record(work), "unmapped")
    assert outcome.unmapped == {"drynpu_capture_tests::leaf": 3, "drynpu_capture_tests::filled": 1}
    profile = load_profile(outcome.directory)
    rows = profile.kernels.to_dicts()
    kernels = [row for row in rows if row["name"].endswith("_Unmapped")]
    assert Counter(row["name"] for row in kernels) == {"aclnnLeaf_Leaf_Unmapped": 3, "aclnnFilled_Filled_Unmapped": 1}
    assert {row["op_type"] for row in kernels} == {"Leaf", "Filled"}
    assert {row["task_type"] for row in kernels} == {"AI_VECTOR_CORE"}
    assert Counter(row["op_type"] for row in rows)["Exp"] == 1
    assert summarise(profile).unmapped_count == 4


def test_nested_ranges_and_functions_of_the_user_launch_nothing(record: Record, write: Any) -> None:
    class Passing(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
            return x.view_as(x)

        @staticmethod
        def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:
            return gradient

    x = torch.ones(4, device="npu", requires_grad=True)

    def work() -> None:
        with record_function("outer"), record_function("inner"):
            Passing.apply(x).sum().backward()

    outcome = write(record(work), "functions")
    assert outcome.unmapped == {}
    assert Counter(load_profile(outcome.directory).kernels["op_type"].to_list())["ReduceSum"] == 1


@pytest.mark.sink_only
def test_traces_of_the_sink_are_not_shown(record: Record) -> None:
    there = torch.ones(4, device="npu")
    loader = DataLoader(TensorDataset(torch.arange(4.0)), batch_size=2, shuffle=True)

    def work() -> None:
        torch.empty(3, device="npu")
        torch.empty_strided((2, 2), (2, 1), device="npu")
        torch.tril_indices(3, 3, device="npu")
        there.to("cpu")
        list(loader)

    found = record(work)
    counts = Counter(names(found))
    assert (counts["aten::tril_indices"], counts["aten::to"]) == (1, 1)
    assert placed(found, "aten::empty_strided") == [Placement.DEVICE] * 2  # made, and copied to the host
    made = [i for i, place in enumerate(placed(found, "aten::empty")) if place is Placement.DEVICE]
    assert len(made) == 1
    assert not [name for name in names(found) if name.endswith("__init__")]


def test_a_tensor_without_data_does_not_come_to_the_host(record: Record) -> None:
    def work() -> None:
        with pytest.raises(NotImplementedError):
            torch.ones(2, device="meta").to("cpu")

    record(work)


@pytest.mark.parametrize("chunk_events", [1, 30_000])
def test_calls_are_told_apart_by_their_values_and_equal_ones_are_one(record: Record, chunk_events: int) -> None:
    values = [1, 1.0, True, float("nan"), -0.0, 0.0, 2**40]
    tensors = [torch.ones(2, device="npu") for _ in range(40)]

    def work() -> None:
        for value in values:
            torch.full((3,), value, device="npu")
        torch.cat(tensors)  # a trace would tell of no more than 30 shapes

    captured = record(work, work, work, chunk_events=chunk_events)
    operators = captured.operators
    rows = [row for row, text in enumerate(names(captured)) if text == "aten::full"]
    called = [operators.signatures[operators.signature[row]].attributes[1] for row in rows]
    assert [repr(value) for value in called] == [repr(value) for value in values] * 3
    assert len(set(operators.signature[rows].tolist())) == len(values)
    cat = next(signature for signature in operators.signatures if signature.name == "aten::cat")
    assert len(cat.tensors()) == 40
