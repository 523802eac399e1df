"""Operations, bytes and rates of distinct kernels, and how scopes add them up, worked out by hand."""

from __future__ import annotations

import pytest

from drynpu.analysis.calculation import kernel_work, scope_flops, work_totals
from drynpu.tables import Profile

from .conftest import host_op, make_profile

MM = 2 * 4 * 8 * 16


def product(start: int, took: int, name: str = "mm", **more: object) -> dict[str, object]:
    """A product of 4 x 8 by 8 x 16 in 16 bits: 1024 operations."""
    return {
        "op_type": "MatMulV2", "task_type": "AI_CORE", "name": name, "start_ns": start, "duration_ns": took,
        "input_shapes": "4,8;8,16", "input_dtypes": "FLOAT16;FLOAT16", "input_formats": "ND;ND",
        "output_shapes": "4,16", "output_dtypes": "FLOAT", "output_formats": "ND", **more,
    }  # fmt: skip


def add(start: int, took: int, **more: object) -> dict[str, object]:
    return {**product(start, took), "op_type": "Add", "task_type": "AI_VECTOR_CORE", **more}


def profile(*kernels: dict[str, object], **more: object) -> Profile:
    return make_profile(kernels=list(kernels), **more)


def test_equal_kernels_are_one_row_with_the_rate_of_all() -> None:
    found = kernel_work(profile(product(10, 3_000), product(20, 1_000), add(30, 9_000)))
    rows = found.select("op_type", "count", "total_us", "cube_flops", "bytes", "source").rows()
    bytes_of = (4 * 8 + 8 * 16) * 2 + 4 * 16 * 4
    assert rows == [("Add", 1, 9.0, None, bytes_of, ""), ("MatMulV2", 2, 4.0, MM, bytes_of, "shapes")]
    # Twice 1024 operations in 4 us are 0.512 of 10^9 a second.
    assert found["gflops"].to_list() == [None, pytest.approx(0.512)]
    assert work_totals(found) == (2 * MM, 4.0, 13.0)


def test_a_stretch_has_the_kernels_that_start_in_it() -> None:
    whole = profile(*(product(start, 1_000) for start in (9, 10, 15, 20, 21)))
    assert kernel_work(whole, (10, 20))["count"].to_list() == [3]
    assert kernel_work(whole, (30, 40)).is_empty()


@pytest.mark.parametrize(("more", "size"), [
    ({"input_dtypes": "FLOAT16;STRANGE"}, None),
    ({"input_dtypes": "FLOAT16;STRANGE", "input_shapes": "4,8;"}, 4 * 8 * 2 + 4 * 16 * 4),
    ({"input_shapes": "", "input_dtypes": ""}, 4 * 16 * 4),
    ({"input_shapes": "", "input_dtypes": "", "output_shapes": "", "output_dtypes": ""}, None),
    ({"output_shapes": "", "output_dtypes": ""}, (4 * 8 + 8 * 16) * 2),
    ({"input_shapes": "N/A", "input_dtypes": "FLOAT16"}, 4 * 16 * 4),
    ({"input_shapes": "3", "input_dtypes": "INT64"}, 3 * 8 + 4 * 16 * 4),
])  # fmt: skip
def test_bytes_are_those_of_all_tensors_whose_types_are_known(more: dict[str, object], size: int | None) -> None:
    assert kernel_work(profile(add(10, 1_000, **more)))["bytes"].to_list() == [size]


def test_scopes_add_up_by_their_paths() -> None:
    found = scope_flops(
        profile(product(1, 5, "net/one/mm"), product(2, 5, "net/two/mm"), product(3, 5, "net/one/mm"), product(4, 5))
    )
    assert found.select("scope", "parent", "level", "flops").rows() == [
        ("net", "", 0, 3 * MM), ("net/one", "net", 1, 2 * MM), ("net/two", "net", 1, MM),
    ]  # fmt: skip
    assert scope_flops(profile(add(1, 5))).is_empty()
    assert scope_flops(profile(product(1, 5))).is_empty()


def test_without_scopes_in_names_the_modules_of_operators_tell() -> None:
    kernels = [product(500, 5, connection_id=1, stream_id=2), product(600, 5, connection_id=2, stream_id=2)]
    calls = [
        {"connection_id": n, "level": "node", "start_ns": at, "end_ns": at + 1, "tid": 1}
        for n, at in ((1, 20), (2, 120))
    ]
    operators = [host_op("aten::mm", 10, 90, module_hierarchy="Net.fc"), host_op("aten::mm", 110, 190)]
    found = scope_flops(profile(*kernels, api=calls, host_ops=operators))
    assert found.select("scope", "parent", "level", "flops").rows() == [("Net", "", 0, MM), ("Net/fc", "Net", 1, MM)]


def test_without_scopes_in_names_the_launches_of_mindspore_tell() -> None:
    scope = "Default/network-Net/fc-Dense"
    launches = [
        {"name": f"Kernel::KernelLaunch::{scope}/MatMul-op0", "start_ns": 10, "end_ns": 90, "tid": 1},
        {"name": "Kernel::KernelLaunch::Gradients/Default/MatMul-op1", "start_ns": 110, "end_ns": 190, "tid": 1},
    ]
    ran = [{"connection_id": n, "stream_id": 2, "start_ns": at, "duration_ns": 5} for n, at in ((1, 500), (2, 600))]
    calls = [
        {"connection_id": n, "level": "node", "start_ns": at, "end_ns": at + 1, "tid": 1}
        for n, at in ((1, 20), (2, 120))
    ]
    scopes = scope_flops(
        profile(
            *(product(500, 5) | each for each in ran),
            tasks=[{**each, "kernel_name": "mm"} for each in ran],
            api=calls,
            framework_events=launches,
        )
    )
    assert scopes.filter(scopes["level"] == 2)["scope"].to_list() == [scope]
    assert scopes.filter(scopes["level"] == 0).select("scope", "flops").rows() == [("Default", MM), ("Gradients", MM)]
