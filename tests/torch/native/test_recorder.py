"""The device's recorder keeps what Kineto reports of the same work, row by row, and disturbs nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("recorder.py")
DELAYS = Path(__file__).with_name("delays.py")


@pytest.mark.one_of(7)
@pytest.mark.parametrize(
    ("work", "threads", "rows", "names"),
    [
        ("gpt", 2, 2000, {"Optimizer.step#AdamW.step", "aten::_foreach_addcdiv_", "AddmmBackward0"}),
        (
            "convolutions",
            2,
            400,
            {"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "drynpu::to_device"},
        ),
        ("nested_autograd", 2, 150, {"PowBackward0", "CheckpointFunctionBackward", "ExpBackward0"}),
        ("threads", 5, 2000, {"worker 0", "worker 3", "MmBackward0"}),
        ("arguments", 1, 150, {"aten::_foreach_add", "aten::quantize_per_tensor", "scripted", "fast", "x"}),
        ("compiled", 2, 200, {"CompiledFunctionBackward", "aten::relu"}),
        (
            "names_of_operators",
            1,
            60,
            {"passing::operator_of_the_even_round", "passing::operator_of_the_odd__round", "aten::mul"},
        ),
    ],
)
def test_rows_are_those_of_kineto(run: Any, work: str, threads: int, rows: int, names: set[str]) -> None:
    found = run(SCRIPT, work)
    assert found["different"] == []
    assert found["counts"]
    assert found["depths"], "operators lie inside the same ones"
    assert found["threads"] >= threads
    assert found["rows"] > rows
    assert names <= set(found["names"])
    assert found["apart_us"] < 20, "both read the clock at each operator, one after the other"


@pytest.mark.slow
@pytest.mark.parametrize("work", ["gpt", "convolutions", "nested_autograd"])
def test_operators_work_in_the_same_places(run: Any, work: str) -> None:
    found, expected, different = run(SCRIPT, f"placed {work}")
    assert found == expected > 100
    assert different == []


@pytest.mark.slow
def test_allocations_are_those_of_kineto(run: Any) -> None:
    is_equal, count, sizes, without = run(SCRIPT, "memory")
    assert is_equal
    assert count > 100
    assert sizes == [4000], "the recording thread's, not the other one's"
    assert without == 0


def test_open_ranges_end_with_what_they_lie_in_or_with_the_recording(run: Any) -> None:
    rows, ends_with_outer, ends_last, after = run(SCRIPT, "open_ends")
    assert rows == ["aten::neg", "outer", "inner", "aten::exp", "late", "aten::sin"], "not what began before"
    assert ends_with_outer
    assert ends_last
    assert after == ["aten::cos"], "an end in the next recording is of no row there"


def test_indices_are_kept_though_kineto_leaves_them_out(run: Any) -> None:
    row, column = ["long int", [4]], ["long int", [4, 1]]
    nothing: tuple[list[int], str] = ([], "")
    assert [tuple(call) for call in run(SCRIPT, "indices")] == [
        ("index", *nothing, [row]),
        ("index", *nothing, [None, row, row]),
        ("index", *nothing, [column, None, row]),
        ("index", *nothing, [["bool", [5]]]),
        ("_index_put_impl_", *nothing, [row, row]),
    ]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/thread-self/schedstat").exists(), reason="this system does not count such waits")
def test_waits_for_a_processor_are_known(run: Any) -> None:
    """A second of work beside a process that is never idle, on one processor: about a second is waited."""
    total_ns, least_ns, has_times_inside, lasted_ns = run(DELAYS, "delayed")
    assert has_times_inside
    assert least_ns >= 200_000
    assert 300_000_000 < total_ns < lasted_ns - 900_000_000


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/thread-self/schedstat").exists(), reason="this system does not count such waits")
def test_waits_of_the_thread_that_writes_count_as_those_of_the_threads_that_record(run: Any) -> None:
    """It may hold Python's lock while it has no processor, for which the others wait uncounted."""
    noted_ns, here_ns, waited_ns = run(DELAYS, "watched")
    assert waited_ns > 100_000_000
    # Two thirds beside seven others, more on a calm machine: what may have been sleep is not counted.
    assert here_ns + 0.3 * waited_ns < noted_ns


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/thread-self/schedstat").exists(), reason="this system does not count such waits")
def test_what_a_thread_waits_before_it_hands_work_over_is_noted_there_and_once(run: Any) -> None:
    """As a backward pass begins: the thread of the forward pass records nothing before its end."""
    at_handover_ns, noted_ns, waited_ns = run(DELAYS, "handed_over")
    assert waited_ns > 50_000_000
    assert at_handover_ns > 0.8 * waited_ns
    assert noted_ns < 1.5 * waited_ns


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/thread-self/schedstat").exists(), reason="this system does not count such waits")
def test_a_sleep_after_many_turns_is_no_wait_for_the_thread_that_writes(run: Any) -> None:
    noted_ns, slept_ns = run(DELAYS, "slept")
    assert noted_ns < slept_ns / 8


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/thread-self/schedstat").exists(), reason="this system does not count such waits")
def test_a_collection_of_garbage_delays_the_thread_that_collects_and_none_that_sleeps(run: Any) -> None:
    times = run(DELAYS, "collected")
    # Where the system stops this thread between two clocks, what it noted looks shorter: not every time is like that.
    assert max(noted_ns / cost_ns for cost_ns, noted_ns in times[::2]) > 0.9
    assert min(noted_ns / cost_ns for cost_ns, noted_ns in times[1::2]) < 0.25


def test_which_memory_was_touched_is_noted_but_for_small_tensors(run: Any) -> None:
    rows, has_times_inside, block_bytes = run(DELAYS, "touched")
    whole, half = 256 * 512 * 4, 128 * 512 * 4
    assert rows == [
        *([0, 0, whole, False], [1, 0, whole, True]),
        *([0, half, half, False], [0, half, half, True]),
        *([0, 0, whole, False], [1, 0, whole, True]),
    ]
    assert has_times_inside
    assert block_bytes == [whole + 512]  # as the allocator rounds it


def test_threads_that_end_leave_their_rows(run: Any) -> None:
    assert run(SCRIPT, "ended_threads") == [50, 50, 50]


def test_recordings_begin_and_end_while_threads_compute(run: Any) -> None:
    wrong, has_rows_of_threads, is_bounded = run(SCRIPT, "stressed")
    assert wrong == []
    assert has_rows_of_threads
    assert is_bounded


def test_a_profiler_of_pytorch_runs_inside_a_recording(run: Any) -> None:
    rows, seen, (inside_theirs, inside_ours) = run(SCRIPT, "beside_torch_profiler")
    assert rows == ["aten::sin", "aten::cos", "aten::exp", "aten::tan"]
    assert seen == ["aten::cos", "aten::exp"]
    assert inside_theirs.startswith("CaptureError: PyTorch's own profiler is already recording")
    assert inside_ours.startswith("CaptureError: another recording is already running")


def test_a_forked_child_does_not_go_on_recording(run: Any) -> None:
    status, (child_records, child_rows), rows = run(SCRIPT, "forked")
    assert status == 0
    assert not child_records
    assert child_rows == ["aten::ones", "aten::empty", "aten::fill_", "aten::exp2"], "each once"
    assert rows == ["aten::sin", "aten::cos"]
