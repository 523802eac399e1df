"""What was captured of one device, as a recording that can be simulated."""

from __future__ import annotations

import numpy as np

from drynpu.kernels import concatenate, merge_equal
from drynpu.recorder import Planner
from drynpu.simulate import AclCalls, HostSamples, Mark, Recording
from drynpu_acl.recording._captured import CapturedCalls
from drynpu_acl.recording._timeline import (
    copies_and_steps,
    graph_runs,
    launched_executions,
    stream_number,
    stream_switches,
    waits,
)


def assemble(
    captured: CapturedCalls,
    device_id: int,
    plan: Planner,
    *,
    begin_ns: int,
    end_ns: int,
    samples: HostSamples | None = None,
) -> Recording:
    """
    Return what one device did between two times (Unix ns).

    *plan* is one of `graph_plans`; *samples* are samples of the host, for the device that shows them.
    """
    executions = [execution for execution in captured.executions if execution.start_ns >= begin_ns]
    launched = launched_executions(executions, plan)
    operators = merge_equal(concatenate([*(table for _, table in launched), copies_and_steps(captured)]))
    calls = [call for call in captured.calls if call.start_ns >= begin_ns]
    return Recording(
        operators=operators,
        begin_ns=begin_ns,
        end_ns=max(end_ns, int(operators.end_ns.max(initial=0))),
        host_calls=waits([call for call in calls if call.device_id == device_id]),
        streams=stream_switches(captured, executions),
        graphs=graph_runs(launched, begin_ns=begin_ns),
        marks=_tx_marks(captured),
        host_samples=samples,
        processor_waits=np.array(captured.waits, np.int64).reshape(-1, 2),
        calls=AclCalls.from_rows([(call.name, call.start_ns, call.end_ns, call.thread) for call in calls]),
    )


def _tx_marks(captured: CapturedCalls) -> tuple[Mark, ...]:
    return tuple(
        Mark(
            kind=kind,
            message=message,
            start_ns=start_ns,
            end_ns=end_ns,
            thread=thread,
            stream=None if stream is None else stream_number(stream[1]),
        )
        for kind, message, start_ns, end_ns, thread, stream in captured.marks
    )
