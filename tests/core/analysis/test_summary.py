"""The summary of a profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from drynpu.analysis import summarise

from .conftest import make_profile


def test_summary(tmp_path: Path) -> None:
    output = tmp_path / "ASCEND_PROFILER_OUTPUT"
    output.mkdir()
    (output / "trace_view.json").write_text("[]")
    odd = {"name": "aclnnOdd_Odd_Unmapped", "op_type": "Odd", "task_type": "AI_VECTOR_CORE", "duration_ns": 1000}
    profile = make_profile(
        path=tmp_path,
        metadata={"drynpu": {"chip": "Ascend910B2", "clock": "projected"}},
        kernels=[
            {"name": "a", "op_type": "MatMul", "task_type": "AI_CORE", "start_ns": 0, "duration_ns": 6000},
            {"start_ns": 8000, **odd},
            {"start_ns": 9000, **odd},
        ],
        allocations=[
            {"device_type": 20, "total_allocated_bytes": 10, "total_reserved_bytes": 64},
            {"device_type": 20, "total_allocated_bytes": 30, "total_reserved_bytes": 64},
            {"device_type": 0, "total_allocated_bytes": 9999},
        ],
    )
    summary = summarise(profile)
    assert (summary.chip, summary.clock, summary.level) == ("Ascend910B2", "projected", "level1")
    assert (summary.kernel_count, summary.kernel_us) == (3, 8.0)
    assert [(k.op_type, k.core, k.count, k.total_us, k.ratio) for k in summary.kernels] == [
        ("MatMul", "AI_CORE", 1, 6.0, 0.75),
        ("Odd", "AI_VECTOR_CORE", 2, 2.0, 0.25),
    ]
    assert summary.unmapped == {"Odd": 2}
    assert summary.unmapped_count == 2
    (busy,) = summary.busy
    assert (busy.device_id, busy.span_us) == (0, 10.0)
    assert (busy.computing, busy.free, busy.communication) == pytest.approx((0.8, 0.2, 0.0))
    assert (summary.peak_allocated_bytes, summary.peak_reserved_bytes) == (30, 64)
    assert summary.steps["step"].to_list() == [""]
    assert summary.files == {"ASCEND_PROFILER_OUTPUT/trace_view.json": 2}


@pytest.mark.parametrize(("clock", "known"), [("modelled", True), ("projected", True), ("wall", False)])
def test_steps_have_an_interval_where_the_host_is_modelled(clock: str, known: bool) -> None:
    """On the wall clock a step lasts as long as this CPU took, which no model is wrong about."""
    kernel = {"name": "a", "op_type": "MatMul", "task_type": "AI_CORE", "start_ns": 0, "duration_ns": 6000}
    later = {**kernel, "start_ns": 9000}
    summary = summarise(
        make_profile(metadata={"drynpu": {"chip": "Ascend910B2", "clock": clock}}, kernels=[kernel, later])
    )
    assert summary.kernel_interval_us is not None
    if not known:
        assert summary.step_intervals_us is None
        return
    assert summary.step_intervals_us is not None
    ((low, high),) = summary.step_intervals_us
    # 12 us of kernels and 3 us of the host.
    assert low <= 14.0 < 15.0 < 16.0 <= high


def test_the_metadata_say_which_operators_have_no_rule() -> None:
    """Also where their kernels have names of their own, as those without shapes in MindSpore."""
    counted = {"MatMul": 3, "aten::odd": 7}
    metadata = {"drynpu": {"chip": "Ascend910B2", "unmapped_operators": counted}}
    kernel = {"name": "MatMul", "op_type": "MatMul", "task_type": "AI_CORE", "start_ns": 0, "duration_ns": 6000}
    summary = summarise(make_profile(metadata=metadata, kernels=[kernel]))
    assert list(summary.unmapped.items()) == [("aten::odd", 7), ("MatMul", 3)]
    assert summary.unmapped_count == 10


def test_summary_of_nothing() -> None:
    summary = summarise(make_profile(device_ids=(), notes=("lost",)))
    assert (summary.chip, summary.kernel_count, summary.busy, summary.kernels) == ("N/A", 0, (), ())
    assert summary.peak_allocated_bytes is None
    assert summary.notes == ("lost",)
    assert summary.steps.is_empty()


def test_results_of_others_are_told_with_what_they_lack(tmp_path: Path) -> None:
    """Sizes are by the directory; a single file has its own size. One kernel with shapes is enough."""
    (tmp_path / "in").mkdir()
    file = tmp_path / "in" / "kernel_details.csv"
    file.write_text("Name\n")
    kernel = {"name": "a", "op_type": "MatMul", "task_type": "AI_CORE", "duration_ns": 6000}
    rows = [{**kernel, "start_ns": 0}, {**kernel, "start_ns": 9000, "input_shapes": "2,3"}]
    for path in (tmp_path, tmp_path / "in"):
        summary = summarise(make_profile(path=path, kernels=rows, results={}, result_files=(file,)))
        assert summary.files == {str(file.relative_to(path)): 5}
        assert "shapes of kernels" not in summary.missing
        assert {"calls of the toolkit", "collectives", "steps"} <= set(summary.missing)
    alone = summarise(make_profile(path=file, kernels=rows[:1], results={}, result_files=(file,)))
    assert alone.files == {"kernel_details.csv": 5}
    assert "shapes of kernels" in alone.missing
    assert "tasks of collectives" not in alone.missing, "there are no collectives"


def test_without_types_names_tell_kernels_apart_but_not_by_their_numbers() -> None:
    names = ("trans_TransData_0", "trans_TransData_12", "Conv2D1", "aclnnX_MaxPoolV1", "aclnnX_MaxPoolV1")
    rows = [
        {"name": name, "op_type": kind, "start_ns": n, "duration_ns": 1}
        for n, name in enumerate(names)
        for kind in ("",)
    ]
    shares = summarise(make_profile(kernels=rows)).kernels
    assert {share.op_type: share.count for share in shares} == {
        "trans_TransData": 2,
        "Conv2D": 1,
        "aclnnX_MaxPoolV1": 2,
    }
