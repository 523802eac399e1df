"""Time by call stack (torch_npu_profiler.md 4.14), against times worked out by hand."""

from __future__ import annotations

from drynpu.analysis import stack_times

from .conftest import host_op, make_profile


def test_operators_with_a_stack_and_time_are_weighed_outermost_frame_first() -> None:
    """The recording has the innermost frame first. The operator without a stack has time, the last one has none."""
    profile = make_profile(
        host_ops=[
            host_op("aten::linear", 1000, 8000, call_stack="nn.py(3): forward;\n train.py(9): step"),
            host_op("aten::addmm", 2000, 5000),
            host_op("aten::t", 9000, 9000, call_stack="train.py(7): main"),
        ],
        api=[{"level": "node", "name": "launch", "connection_id": 1, "tid": 1, "start_ns": 1500, "end_ns": 1600}],
        kernels=[{"connection_id": 1, "start_ns": 9000, "duration_ns": 2500}],
    )
    stack = "train.py(9): step;nn.py(3): forward"
    assert stack_times(profile, "self_cpu_time_total").rows() == [(stack, 4.0)]
    assert stack_times(profile, "self_npu_time_total").rows() == [(stack, 2.5)]
