"""Names of the calls that launch plans, and events that the device reaches, by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from drynpu.device import DispatchKind
from drynpu.kernels import Copy, KernelPlan, KernelSpec, TaskType
from drynpu.simulate._event_times import event_times
from drynpu.simulate.launch_calls import allocates, asks_workspace, compiles, launch_api, queue_name


def kernel(kind: str, flops: int = 0, copy: Copy | None = None) -> KernelSpec:
    return KernelSpec(name=kind, op_type=kind, task_type=TaskType.AI_CORE, cube_flops=flops, copy=copy)


TRANSPOSE, CONV, SMALL = kernel("TransData"), kernel("Conv2D", 800), kernel("MatMul", 30)
IN = kernel("MEMCPY_ASYNC", copy=Copy.HOST_TO_DEVICE)


@pytest.mark.parametrize(("plan", "shown"), [
    (KernelPlan(kernels=(TRANSPOSE, SMALL, CONV, TRANSPOSE)), "Conv2D"),
    (KernelPlan(kernels=(TRANSPOSE, kernel("Cast"))), "Cast"),
    (KernelPlan(api="aclnnMm", kernels=(TRANSPOSE, CONV)), "aclnnMm"),
    (KernelPlan(api="aclrtMemcpy", kernels=(IN,)), "acl_memcpy_host_to_device"),
    (KernelPlan(api="aclnnCopy", kernels=(IN,)), "aclnnCopy"),
    (KernelPlan(api="aclrtOther", kernels=(TRANSPOSE,)), "aclrtOther"),
    (KernelPlan(api="aclnnNothing"), "aclnnNothing"),
])  # fmt: skip
def test_the_queue_shows_an_api_a_copy_by_its_way_or_the_kernel_with_most_matrix_work(
    plan: KernelPlan, shown: str
) -> None:
    assert queue_name(plan) == shown


def test_operators_without_an_interface_compile_and_those_of_aclnn_ask_for_a_workspace() -> None:
    plain, named = KernelPlan(kernels=(CONV,)), KernelPlan(api="aclnnMm", kernels=(CONV,))
    assert launch_api(plain) == "aclopCompileAndExecute"
    assert (compiles(plain), asks_workspace(plain)) == (True, False)
    assert (compiles(named), asks_workspace(named)) == (False, True)
    assert not compiles(KernelPlan())
    in_graph = [KernelPlan(api=api, kernels=(CONV,), in_graph=True) for api in ("", "aclnnMm")]
    assert not any(compiles(plan) or asks_workspace(plan) for plan in in_graph)


def test_the_last_record_of_each_event_of_the_script_counts() -> None:
    """Events of collectives have negative numbers, and one without a number is 0."""
    record, wait = int(DispatchKind.RECORD_EVENT), int(DispatchKind.WAIT_EVENT)
    rows = [(record, 7, 100), (wait, 9, 150), (record, -2, 200), (record, 1, 250), (record, 7, 300), (record, 0, 350)]
    kind, event, time = (np.array(column) for column in zip(*rows, strict=True))
    work: Any = SimpleNamespace(
        dispatches=SimpleNamespace(kind=kind, event=event), schedule=SimpleNamespace(event_ns=time)
    )
    assert event_times(work) == {7: 300, 1: 250}


def test_results_are_allocated_but_for_copies_and_what_works_in_place() -> None:
    found = {
        api: allocates(KernelPlan(api=api, kernels=(CONV,)))
        for api in ("aclnnMm", "", "aclnnInplaceMuls", "aclnnForeachMulScalarV2", "acl_memcpy_host_to_device")
    }
    assert list(found.values()) == [True, True, False, False, False]
    assert not allocates(KernelPlan(api="aclnnMm"))
