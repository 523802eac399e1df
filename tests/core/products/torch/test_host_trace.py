"""The framework's block of trace_view.json, byte by byte (torch_npu_profiler.md 4.1)."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu.products.torch._host_trace import ArrowEnds, HostTrace, host_blocks, kernel_arrows
from drynpu.tables import GC, HOST_OPS, PYTHON_CALLS, QUEUE
from drynpu.writers.trace_json import SPACED, write_trace

US = 1000


def op(number: int, name: str, start_us: int, **more: object) -> dict[str, object]:
    common = {"sequence": -1, "pid": 7, "tid": 7, "fwd_tid": 0, "scope": 0, "is_async": False}
    texts = dict.fromkeys(("input_dtypes", "input_shapes", "call_stack", "module_hierarchy"), "")
    times = {"start_ns": start_us * US, "end_ns": (start_us + 100) * US}
    return {"op_id": number, "name": name, **times, **common, **texts, **more}


def mark(correlation: int, side: str, name: str, start_us: int, tid: int) -> dict[str, object]:
    times = {"start_ns": start_us * US, "end_ns": start_us * US + 1070}
    return {"correlation_id": correlation, "side": side, "name": name, **times, "pid": 7, "tid": tid}


def trace(
    directory: Path,
    ops: list[dict[str, object]] | None = None,
    queue: list[dict[str, object]] | None = None,
    python: list[tuple[object, ...]] | None = None,
    gc: list[tuple[int, int, int]] | None = None,
    device_ids: tuple[int, ...] = (0,),
) -> str:
    data = HostTrace(
        pid=7,
        device_ids=device_ids,
        host_ops=pl.DataFrame(ops or [], schema=HOST_OPS),
        queue=pl.DataFrame(queue or [], schema=QUEUE),
        python_calls=pl.DataFrame(python or [], schema=PYTHON_CALLS, orient="row"),
        gc=pl.DataFrame(gc or [], schema=GC, orient="row"),
    )
    assert write_trace(directory / "t.json", host_blocks(data, SPACED), SPACED)
    return (directory / "t.json").read_text(encoding="utf-8")


def test_byte_by_byte(tmp_path: Path) -> None:
    ops = [
        op(0, "ProfilerStep#1", 1000),
        op(1, "aten::add", 1010, sequence=3, input_dtypes="float;Scalar", input_shapes="4,8;", call_stack="a;b"),
    ]
    queue = [mark(5, "enqueue", "aclnnAdd", 1011, 7), mark(5, "dequeue", "aclnnAdd", 1020, 9)]
    assert trace(tmp_path, ops, queue) == (
        '[{"ph": "X", "name": "ProfilerStep#1", "pid": 7, "tid": 7, "ts": "1000.000", "dur": 100.0, "cat": "cpu_op", '
        '"args": {"Sequence number": -1, "Fwd thread id": 0}}, '
        '{"ph": "X", "name": "aten::add", "pid": 7, "tid": 7, "ts": "1010.000", "dur": 100.0, "cat": "cpu_op", '
        '"args": {"Sequence number": 3, "Fwd thread id": 0, "Input Dims": "4,8;\\r\\n", '
        '"Input type": "float;\\r\\nScalar", "Call stack": "a;\\r\\nb"}}, '
        '{"ph": "X", "name": "Dequeue@aclnnAdd", "pid": 7, "tid": 9, "ts": "1020.000", "dur": 1.07, '
        '"cat": "dequeue", "args": {"correlation_id": 5}}, '
        '{"ph": "f", "bp": "e", "name": "enqueue_to_dequeue", "id": 5, "pid": 7, "tid": 9, "ts": "1020.000", '
        '"cat": "async_task_queue"}, '
        '{"ph": "X", "name": "Enqueue@aclnnAdd", "pid": 7, "tid": 7, "ts": "1011.000", "dur": 1.07, '
        '"cat": "enqueue", "args": {"correlation_id": 5}}, '
        '{"ph": "s", "bp": "e", "name": "enqueue_to_dequeue", "id": 5, "pid": 7, "tid": 7, "ts": "1011.000", '
        '"cat": "async_task_queue"}, '
        '{"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": "Python"}}, '
        '{"ph": "M", "name": "process_labels", "pid": 7, "tid": 0, "args": {"labels": "CPU"}}, '
        '{"ph": "M", "name": "process_sort_index", "pid": 7, "tid": 0, "args": {"sort_index": 0}}, '
        '{"ph": "M", "name": "thread_name", "pid": 7, "tid": 7, "args": {"name": "Thread 7"}}, '
        '{"ph": "M", "name": "thread_sort_index", "pid": 7, "tid": 7, "args": {"sort_index": 7}}, '
        '{"ph": "M", "name": "thread_name", "pid": 7, "tid": 9, "args": {"name": "Thread 9"}}, '
        '{"ph": "M", "name": "thread_sort_index", "pid": 7, "tid": 9, "args": {"sort_index": 10}}]'
    )


def test_shapes_are_shown_wherever_types_were_recorded(tmp_path: Path) -> None:
    event = json.loads(trace(tmp_path, [op(0, "aten::item", 1, input_dtypes="double", module_hierarchy="m")]))[0]
    assert event["args"] == {
        "Sequence number": -1,
        "Fwd thread id": 0,
        "Input Dims": "",
        "Input type": "double",
        "Module Hierarchy": "m",
    }


def test_a_queue_entry_seen_on_one_side_only_has_no_arrow(tmp_path: Path) -> None:
    queue = [mark(1, "enqueue", "aclnnAdd", 10, 7), mark(2, "dequeue", "aclnnMul", 20, 9)]
    events = [event for event in json.loads(trace(tmp_path, queue=queue)) if event["ph"] != "M"]
    assert [(event["ph"], event["name"]) for event in events] == [("X", "Dequeue@aclnnMul"), ("X", "Enqueue")]


def test_forward_to_backward_across_threads_only(tmp_path: Path) -> None:
    ops = [
        op(0, "first forward", 10, sequence=1),
        op(1, "latest forward", 20, sequence=1),
        op(2, "backward", 300, sequence=1, tid=8, fwd_tid=7),
        op(3, "latest backward", 400, sequence=1, tid=8, fwd_tid=7),
        op(4, "same thread", 30, sequence=2),
        op(5, "same thread backward", 500, sequence=2, fwd_tid=7),
        op(6, "forward only", 40, sequence=3),
    ]
    flows = [event for event in json.loads(trace(tmp_path, ops)) if event.get("cat") == "fwdbwd"]
    assert [(event["ph"], event["id"], event["tid"], event["ts"]) for event in flows] == [
        ("s", 1, 7, "20.000"),
        ("f", 1, 8, "400.000"),
    ]
    assert list(flows[0]) == ["ph", "bp", "name", "id", "pid", "tid", "ts", "cat"]


def test_python_frames(tmp_path: Path) -> None:
    calls = [(1000, 7, 7, "Net######1", 0), (2000, 7, 7, "a.py(1): f", 0), (3000, 7, 7, "", 1), (4000, 7, 7, "", 1)]
    events = json.loads(trace(tmp_path, python=calls))
    assert [event for event in events if event["ph"] == "X"] == [
        {
            "ph": "X",
            "name": "a.py(1): f",
            "pid": 7,
            "tid": 7,
            "ts": "2.000",
            "dur": 1.0,
            "cat": "python_function",
            "args": {"Python id": 1, "Python parent id": 0},
        },
        {
            "ph": "X",
            "name": "nn.Module: Net_0",
            "pid": 7,
            "tid": 7,
            "ts": "1.000",
            "dur": 3.0,
            "cat": "python_function",
            "args": {"Python id": 0, "Python parent id": 0, "Python module id": 0},
        },
    ]
    assert "Thread 7" in [event["args"].get("name") for event in events]


@pytest.mark.parametrize(("device_ids", "pid"), [((2,), (7 << 10) | 32 | 2), ((), -1), ((0, 1), -1)])
def test_garbage_collections_have_a_process_of_their_own(tmp_path: Path, device_ids: tuple[int, ...], pid: int) -> None:
    events = json.loads(trace(tmp_path, gc=[(7, 1000, 3500)], device_ids=device_ids))
    assert events[0]["name"] == events[0]["cat"] == "GC"
    assert (events[0]["pid"], events[0]["dur"]) == (pid, 2.5)
    assert [event["args"] for event in events[1:]] == [
        {"name": "Python GC"},
        {"labels": "CPU"},
        {"sort_index": 1},
        {"name": "Python GC"},
        {"sort_index": 0},
    ]


def arrows(starts: list[int]) -> ArrowEnds:
    rows = [(7, 7, start - 5, 9, 2, start) for start in sorted(starts)]
    names = ("pid", "tid", "start_ns", "pid_to", "tid_to", "start_ns_to")
    table = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Int64), orient="row")
    return ArrowEnds(table["start_ns_to"], table.slice)


def test_arrows_to_kernels_come_in_pairs(tmp_path: Path) -> None:
    write_trace(tmp_path / "t.json", [kernel_arrows(arrows([2_000_500, 1_000_000]))], SPACED)
    assert (
        (tmp_path / "t.json")
        .read_text()
        .startswith(
            '[{"ph": "s", "bp": "e", "name": "torch_to_npu", "id": 1000000, "pid": 7, "tid": 7, "ts": "999.995", '
            '"cat": "async_npu"}, {"ph": "f", "bp": "e", "name": "torch_to_npu", "id": 1000000, "pid": 9, "tid": 2, '
            '"ts": "1000.000", "cat": "async_npu"}, {"ph": "s", "bp": "e", "name": "torch_to_npu", "id": 2000500,'
        )
    )


@given(st.lists(st.integers(10, 40), min_size=1, max_size=30))
def test_arrow_ids_are_unique_and_are_the_start_where_starts_are(starts: list[int]) -> None:
    ids = kernel_arrows(arrows(starts)).rows.slice(0, len(starts))["id"].to_list()
    assert len(set(ids)) == len(ids)
    if len(set(starts)) == len(starts):
        assert ids == sorted(starts)
