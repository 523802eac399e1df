"""One timeline of everything that was captured."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from operator import attrgetter

import numpy as np
from attrs import evolve

from drynpu.device import DispatchKind
from drynpu.kernels import Call, Copy, KernelPlan, Operators, Placement, Signature, TensorDesc, copy_plan
from drynpu.recorder import Planner
from drynpu.simulate import DEFAULT_STREAM, GraphRun, HostCall, Iteration
from drynpu_acl.kernels import fusions, planned_memory
from drynpu_acl.recording._captured import ApiCall, CapturedCalls, CopyCall, ModelExecution

_COPY = "acl::memcpy"
_PLACES: Mapping[int, Placement] = {1: Placement.TO_DEVICE, 2: Placement.TO_HOST, 3: Placement.DEVICE}
_ORDERING: Mapping[str, DispatchKind] = {
    "aclmdlExecute": DispatchKind.WAIT_STREAM,
    "aclrtMemcpy": DispatchKind.WAIT_STREAM,
    "aclrtSynchronizeStream": DispatchKind.WAIT_STREAM,
    "aclrtSynchronizeStreamWithTimeout": DispatchKind.WAIT_STREAM,
    "aclrtSynchronizeDevice": DispatchKind.WAIT_DEVICE,
    "aclrtSynchronizeEvent": DispatchKind.SYNCHRONIZE_EVENT,
    "aclrtRecordEvent": DispatchKind.RECORD_EVENT,
    "aclrtStreamWaitEvent": DispatchKind.WAIT_EVENT,
}
"""Calls that wait for the device or order its streams; those that name no stream mean the default one."""
_ASYNC_COPY = "aclrtMemcpyAsync"


def stream_number(stream: int) -> int:
    """Return the number in the records of a stream: the default one, 0, is the vendor's 2, others follow."""
    return DEFAULT_STREAM + stream


def graph_plans(plan: Planner) -> Planner:
    """
    Return *plan* for operators of a compiled model, and for copies.

    A model is launched as a whole: there is no call for a single operator, and none of them waits for the device. The
    calls that a script makes are recorded as such.
    """

    def planned(signature: Signature) -> KernelPlan:
        if signature.name == _COPY:
            return evolve(_copy(signature), in_graph=True)
        return evolve(plan(signature), claims=True, synchronizes=False, in_graph=True)

    return planned


def _copy(signature: Signature) -> KernelPlan:
    if signature.placement is not Placement.DEVICE:
        return copy_plan(signature)
    there = copy_plan(evolve(signature, placement=Placement.TO_DEVICE))
    return evolve(there, kernels=tuple(evolve(kernel, copy=Copy.DEVICE_TO_DEVICE) for kernel in there.kernels))


def launches(
    operators: Operators,
    plan: Planner,
    *,
    start_ns: int,
    end_ns: int,
    until_ns: int | None = None,
) -> Operators:
    """
    Return what one execution of a model, from *start_ns* to *end_ns*, hands to the device.

    A model is launched as a whole. So only operators that launch something are left, each lasting until the next one:
    what this CPU did between them did not happen beside an NPU. All begin before *until_ns*, if there is room.
    """
    has_kernels = np.array([*(bool(plan(signature).kernels) for signature in operators.signatures), False])
    rows = np.flatnonzero(has_kernels[operators.signature])
    if not len(rows):
        return Operators.from_calls(())
    turn = np.arange(len(rows))
    start = operators.start_ns[rows]
    if until_ns is not None:
        start = np.minimum(start, until_ns - len(rows) + turn)
    start[0] = start_ns
    # Strictly ascending: no two operators of a thread begin in the same nanosecond.
    start = np.maximum.accumulate(start - turn) + turn
    return operators.select(rows, start_ns=start, end_ns=np.append(start[1:], max(end_ns, int(start[-1]) + 1)))


def launched_executions(executions: Sequence[ModelExecution], plan: Planner) -> list[tuple[ModelExecution, Operators]]:
    """
    Return the executions in order of time, each with what it launches.

    Executions of several threads may overlap, because this CPU computes them at once; a host beside an NPU has launched
    one of them before another begins. So none begins among the operators of another.
    """
    launched = []
    ordered = sorted(executions, key=attrgetter("start_ns"))
    free_ns = 0
    for execution, following in zip_longest(ordered, ordered[1:]):
        until_ns = None if following is None else following.start_ns
        start_ns = max(execution.start_ns, free_ns)
        table = launches(execution.operators, plan, start_ns=start_ns, end_ns=execution.end_ns, until_ns=until_ns)
        free_ns = int(table.start_ns.max(initial=start_ns)) + 1
        launched.append((execution, table))
    return launched


def copies_and_steps(captured: CapturedCalls) -> Operators:
    """Return rows for the copies that pass the device's copy engines, and annotations for the steps."""
    calls = [
        Call(_signature(copy), copy.start_ns, copy.end_ns, copy.thread)
        for copy in captured.copies
        if copy.kind in _PLACES
    ]
    calls += [Call(f"ProfilerStep#{number}", start, end, thread) for number, start, end, thread, _ in captured.steps]
    return Operators.from_calls(calls)


def _signature(copy: CopyCall) -> Signature:
    return Signature(_COPY, (TensorDesc((copy.size_bytes,), "INT8"),), placement=_PLACES[copy.kind])


def graph_runs(launched: Sequence[tuple[ModelExecution, Operators]], *, begin_ns: int = 0) -> tuple[GraphRun, ...]:
    """
    Return every model with its executions as iterations, from the first to the last operator that each launches.

    A model has the operators of its first execution. A load that began before *begin_ns* is not of the
    recording.
    """
    by_model: dict[int, list[tuple[ModelExecution, Operators]]] = {}
    for execution, table in launched:
        by_model.setdefault(execution.model_id, []).append((execution, table))
    return tuple(
        GraphRun(
            model_id=model_id,
            graph_id=model_id,
            model_name=runs[0][0].model_name,
            iterations=tuple(
                Iteration(index=number, start_ns=int(table.start_ns[0]), end_ns=int(table.start_ns[-1]) + 1)
                for number, (_, table) in enumerate(runs, start=1)
                if len(table)
            ),
            fusions=fusions(runs[0][0].operators.signatures),
            static_memory=planned_memory(runs[0][0].operators.signatures),
            load=runs[0][0].load if runs[0][0].load[0] >= max(begin_ns, 1) else None,
        )
        for model_id, runs in sorted(by_model.items())
    )


def stream_switches(captured: CapturedCalls, executions: Sequence[ModelExecution]) -> tuple[tuple[int, int, int], ...]:
    """Return ``(time_ns, thread, stream)`` of every execution and copy, in time order."""
    begun: dict[int, list[ApiCall]] = {}
    for call in sorted(call for call in captured.calls if call.name == _ASYNC_COPY and call.stream is not None):
        begun.setdefault(call.thread, []).append(call)
    copies = [(copy.start_ns, copy.thread, _find_stream(copy, begun.get(copy.thread, []))) for copy in captured.copies]
    runs = [
        (execution.start_ns, int(execution.operators.thread[0]), stream_number(execution.stream))
        for execution in executions
        if len(execution.operators)
    ]
    return tuple(sorted([*copies, *runs]))


def _find_stream(copy: CopyCall, calls: Sequence[ApiCall]) -> int:
    """Return the stream of a copy: from the call of its thread that made it, else the default."""
    before = bisect_right(calls, copy.start_ns, key=attrgetter("start_ns")) - 1
    if before < 0 or copy.end_ns > calls[before].end_ns:
        return DEFAULT_STREAM
    return stream_number(calls[before].stream or 0)


def waits(calls: Sequence[ApiCall]) -> tuple[HostCall, ...]:
    """Return where the host waited for the device or ordered its streams: as the last thing in calls that do."""
    return tuple(
        HostCall(
            max(call.end_ns - 1, call.start_ns),
            call.thread,
            _ORDERING[call.name],
            stream=stream_number(call.stream or 0),
            event=call.event,
        )
        for call in calls
        if call.name in _ORDERING
    )
