"""The work of kernels and collectives, rebuilt from what files have of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from drynpu.device.collectives import CollectiveRequest, plan_collective
from drynpu.kernels import Copy, KernelSpec, TaskType
from drynpu.platforms import load_chip
from drynpu_pages.whatif._collectives import OperationRow, collective_times, group_ranks, request_of
from drynpu_pages.whatif._specs import _moved, _spec, _tensors, copy_work

B2 = load_chip("910B2")
NO_FORMATS = "ND;ND"


def spec(op_type: str, task: str, inputs: str, outputs: str, flops: float | None = None) -> KernelSpec | None:
    types = [";".join(["FLOAT16"] * (side.count(";") + 1)) if side else "" for side in (inputs, outputs)]
    texts = (inputs, types[0], NO_FORMATS, outputs, types[1], "ND")
    return _spec(op_type, task, "dynamic", None, *texts, flops)


def test_a_product_has_its_operations_and_bytes() -> None:
    result = spec("MatMulV2", "AI_CORE", "512,64;64,96", "512,96", 2.0 * 512 * 64 * 96)
    assert result is not None
    assert (result.task_type, result.cube_flops, result.vector_ops) == (TaskType.AI_CORE, 6_291_456, 0)
    assert (result.bytes_read, result.bytes_written) == (2 * (512 * 64 + 64 * 96), 2 * 512 * 96)


def test_a_product_without_known_operations_is_not_known() -> None:
    assert spec("MatMulV2", "AI_CORE", "512,64;64,96", "512,96") is None


def test_kernels_without_shapes_or_of_no_core_are_not_known() -> None:
    assert spec("MemSet", "AI_VECTOR_CORE", "", "") is None
    assert spec("hcom_allReduce_", "COMMUNICATION", "8;8", "8") is None


def test_a_gather_reads_what_it_returns() -> None:
    table, index, result = (_tensors(text, kind, "ND")[0] for text, kind in TENSORS)
    assert _moved("gather", [table, index], [result]) == (result.size_bytes + index.size_bytes, result.size_bytes)
    assert _moved("fill", [table], []) == (0, table.size_bytes)
    assert _moved("elementwise", [table, index], [result])[0] == table.size_bytes + index.size_bytes


TENSORS = (("50000,128", "FLOAT"), ("300", "INT64"), ("300,128", "FLOAT"))


def test_tensors_without_a_type_are_left_out() -> None:
    result = _tensors("3,4;;7", "FLOAT;UNDEFINED;DT_BF16", "ND;NULL;FRACTAL_NZ:2")
    assert [(each.shape, each.dtype, each.format) for each in result] == [
        ((3, 4), "FLOAT", "ND"),
        ((7,), "DT_BF16", "FRACTAL_NZ"),
    ]


def test_a_copy_has_its_direction() -> None:
    result = copy_work(4096, Copy.HOST_TO_DEVICE.value)
    assert result is not None
    assert (result.copy, result.bytes_read) == (Copy.HOST_TO_DEVICE, 4096)
    assert copy_work(4096, 99) is None


def operation(op_type: str = "hcom_allReduce_", **more: object) -> OperationRow:
    values = {"group": "g", "dtype": "FP16", "count": 1000, "rank_size": 8, "others": (), **more}
    return OperationRow(op_type, **values)  # type: ignore[arg-type]


def test_a_collective_is_asked_for_again() -> None:
    groups = {"g": (0, 2, 4, 6)}
    result = request_of(operation(), groups, 2)
    assert result == CollectiveRequest(kind="allReduce", size_bytes=2000, ranks=(0, 2, 4, 6), rank=2)
    scattered = request_of(operation("hcom_reduceScatter_", dtype="FP32"), groups, 2)
    assert scattered is not None
    assert scattered.size_bytes == 4 * 1000 * 4
    assert collective_times(B2)(result) == plan_collective(result, B2).ticks * B2.tick_ns


@pytest.mark.parametrize(
    ("row", "ranks"),
    [
        (operation(group="other"), tuple(range(8))),
        (operation(group="other", rank_size=None, others=(0, 5)), (0, 1, 5)),
        (operation(group="other", rank_size=2, others=(3, 5)), (1, 3, 5)),
    ],
)
def test_ranks_of_a_group_that_nobody_lists(row: OperationRow, ranks: tuple[int, ...]) -> None:
    result = request_of(row, {"g": (0, 1)}, 1)
    assert result is not None
    assert result.ranks == ranks


def test_a_message_has_a_peer() -> None:
    result = request_of(operation("hcom_send_", others=(3,), rank_size=None, group=""), {}, 1)
    assert result is not None
    assert (result.kind, result.peer) == ("send", 3)


@pytest.mark.parametrize(
    "row",
    [
        operation("hcom_unheard_"),
        operation(count=0),
        operation(dtype="N/A"),
        operation(rank_size=1, group=""),
        operation("hcom_send_", group="g"),
    ],
)
def test_what_files_do_not_tell_is_not_known(row: OperationRow) -> None:
    assert request_of(row, {"g": (0, 1)}, 0) is None


def test_groups_are_known_by_name_and_number() -> None:
    described = {
        "77": {"global_ranks": [3, 1]},
        "named": {"global_ranks": [0, 9]},
        "odd": {"group_name": "x"},
        "bad": 1,
    }
    result = group_ranks(SimpleNamespace(metadata={"parallel_group_info": described}))  # type: ignore[arg-type]
    assert result["77"] == (3, 1)
    assert result["named"] == (0, 9)
    assert len(result) == 3, "a name stands for its number, too"
    assert group_ranks(SimpleNamespace(metadata={})) == {}  # type: ignore[arg-type]
