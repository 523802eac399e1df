"""Calls that a script itself makes into ACL, in a recording."""

from __future__ import annotations

import os
from pathlib import Path

from tests.by_hand import setup

from drynpu.device import DispatchKind
from drynpu.kernels import Call, KernelPlan, KernelSpec, Operators, Signature, TaskType
from drynpu.options import ProfilingRequest, Switches
from drynpu.platforms import load_chip
from drynpu.products import load_profile
from drynpu.raw import ClockAnchors
from drynpu.recorder import write_recording
from drynpu.simulate import AclCalls, Destination, HostCall, Recording

KERNEL = KernelSpec(name="k", op_type="K", task_type=TaskType.AI_VECTOR_CORE, vector_ops=1000, bytes_read=10**8)


def recorded(folder: Path, *, calls: bool, acl_api: bool = True) -> list[tuple[str, int, int, int]]:
    """An operator that runs inside a call which waits for it; returns name, start, end and thread of calls into ACL."""
    chip = load_chip("Ascend910B2")
    anchors = ClockAnchors.now(round(chip.hwts_mhz * 1_000_000))
    begin, thread = anchors.collection_begin_us * 1000, os.getpid()
    rows = [
        ("aclmdlExecute", begin + 100_000, begin + 200_000, thread),
        ("aclrtMalloc", begin + 20_000, begin + 30_000, thread + 5),
        ("aclrtMalloc", begin + 300_000, begin + 300_000, thread),
    ]
    write_recording(
        Recording(
            operators=Operators.from_calls([Call(Signature("K", ()), begin + 110_000, begin + 150_000, thread)]),
            begin_ns=begin,
            end_ns=begin + 400_000,
            host_calls=(HostCall(begin + 199_999, thread, DispatchKind.WAIT_STREAM),),
            calls=AclCalls.from_rows(rows) if calls else None,
        ),
        Destination(directory=folder, framework="acl", pid=thread, host_data=False),
        setup(
            lambda _: KernelPlan(kernels=(KERNEL,), in_graph=True),
            ProfilingRequest(switches=Switches(acl_api=acl_api)),
            chip=chip,
            anchors=anchors,
        ),
    )
    api = load_profile(next(folder.glob("PROF_*"))).api
    rows = [row for row in api.sort("start_ns").iter_rows(named=True) if str(row["level"]) == "acl"]
    return [(row["name"], row["start_ns"] - begin, row["end_ns"] - begin, row["tid"] - thread) for row in rows]


def test_they_are_shown_and_hold_what_they_wait_for(tmp_path: Path) -> None:
    found = recorded(tmp_path, calls=True)
    assert [(name, start, of) for name, start, _, of in found][:2] == [
        ("aclrtMalloc", 20_000, 5),
        ("aclmdlExecute", 100_000, 0),
    ]
    assert [name for name, *_ in found] == ["aclrtMalloc", "aclmdlExecute", "aclrtMalloc"]
    (execute,) = (row for row in found if row[0] == "aclmdlExecute")
    # 100 MB take longer than this CPU did: the call returns when the device has finished.
    assert execute[2] > 150_000
    assert found[2][2] == found[2][1]


def test_without_them_a_wait_is_the_call_that_waits(tmp_path: Path) -> None:
    assert [name for name, *_ in recorded(tmp_path, calls=False)] == ["aclrtSynchronizeStreamWithTimeout"]


def test_they_come_with_the_calls_into_acl_alone(tmp_path: Path) -> None:
    assert recorded(tmp_path, calls=True, acl_api=False) == []


def test_columns_of_rows() -> None:
    calls = AclCalls.from_rows([("b", 1, 2, 3), ("a", 4, 5, 6), ("b", 7, 8, 9)])
    assert (calls.names, calls.name.tolist(), calls.end_ns.tolist()) == (("b", "a"), [0, 1, 0], [2, 5, 8])
    assert len(AclCalls.from_rows([])) == 0
