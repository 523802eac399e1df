"""Descriptions of operators: equal records are told from different ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.layouts import tasks as task_facts
from drynpu.tables.host import Dictionaries
from drynpu.tables.operators import distinct_rows, node_info

LAYOUT = np.dtype([("one", "<u8"), ("two", "<u8"), ("three", "<u4")])


def test_records_whose_mix_is_the_same_are_told_apart() -> None:
    """The words are mixed by odd multipliers: the product of two of them comes of either."""
    odd = np.random.default_rng(0).integers(0, 2**63, 3, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    records = np.zeros(4, LAYOUT)
    records["one"] = [odd[1], 0, odd[1], 5]
    records["two"] = [0, odd[0], 0, 0]
    mixed = records["one"] * odd[0] + records["two"] * odd[1]
    assert mixed[0] == mixed[1]
    first, inverse = distinct_rows(records)
    assert (records[first][inverse] == records).all()
    assert len(first) == 3


def test_only_the_fields_asked_for_count() -> None:
    records = np.zeros(5, LAYOUT)
    records["one"], records["two"], records["three"] = [7, 3, 7, 3, 9], range(5), [1, 1, 1, 2, 1]
    first, inverse = distinct_rows(records, ("one", "three"))
    assert len(first) == 4
    assert inverse[0] == inverse[2] != inverse[1]
    assert inverse[1] != inverse[3]


OP = {70: "mm", 71: "Mm", 72: "add", 73: "Add"}


def records(name: str, *rows: dict[str, Any]) -> Any:
    found = RECORD_KINDS.record(name).new(len(rows))
    for record, row in zip(found, rows, strict=True):
        for field, value in row.items():
            record[field] = value
    return found


def basic(
    node: int, op: int, op_type: int, block: int, *, mix: int = 0, flag: int = 0, kind: int = 0
) -> dict[str, Any]:
    block_dim = block | mix << 16
    return {
        "timestamp": node,
        "op_name": op,
        "op_type": op_type,
        "block_dim": block_dim,
        "op_flag": flag,
        "task_type": kind,
    }


def shaped(node: int, *rows: tuple[int, tuple[int, ...], int, int]) -> dict[str, Any]:
    """Rows are direction, shape, data type and format."""
    tensors = np.zeros(task_facts.TENSORS_PER_RECORD, task_facts.TENSOR)
    for tensor, (direction, shape, dtype, layout) in zip(tensors, rows, strict=False):
        tensor["direction"], tensor["data_type"], tensor["format"] = direction, dtype, layout
        tensor["shape"][: len(shape)] = shape
    return {"timestamp": node, "op_name": 70, "tensor_num": len(rows), "tensors": tensors}


def info(reports: list[tuple[Any, bool]], shapes: list[Any]) -> pl.DataFrame:
    """Records say the row of their node as their time, one of them 1000 for none."""

    def node_of(found: Any) -> Any:
        times = found["timestamp"].astype(np.int64)
        return np.where(times == 1000, -1, times)

    return node_info(reports, shapes, node_of, Dictionaries(hashes=OP, types={})).frame()


def test_the_first_report_of_a_node_counts_and_what_lies_in_none_is_left_out() -> None:
    reports = [
        (
            records(
                "node_basic_info", basic(5, 72, 73, 8), basic(1000, 70, 71, 3), basic(0, 70, 71, 20, mix=2, flag=1)
            ),
            False,
        ),
        (records("node_basic_info", basic(5, 70, 71, 9), basic(2, 99, 73, 4, flag=2)), True),
    ]
    found = info(reports, [])
    columns = ("node", "op_name", "op_type", "block_num", "mix_block_num", "hf32", "dynamic")
    assert found.select(columns).rows() == [
        (0, "mm", "Mm", 20, 40, True, False),
        (2, "", "Add", 4, 0, False, True),
        (5, "add", "Add", 8, 0, False, False),
    ]
    assert found["input_shapes"].to_list() == [None] * 3


def test_tensors_of_a_node_are_joined_in_the_order_of_the_file() -> None:
    reports = [(records("node_basic_info", *(basic(node, 70, 71, 1) for node in (0, 3, 4, 9))), False)]
    first = ((0, (4, 8), 0, 2), (1, (4, 16), 1, 29 | 16 << 8))
    later = ((0, (), 27, 2), (0, (7, 0, 3), 0, 2))
    shapes = [
        records("tensor_info", shaped(4, *first), shaped(0, *first), shaped(1000, *later), shaped(7, *later)),
        records("tensor_info", shaped(0, *later), shaped(4, *later), shaped(3, *later), shaped(0, *first)),
    ]
    found = info(reports, shapes).select("input_shapes", "input_dtypes", "output_shapes", "output_formats").rows()
    joined = ("4,8;;7", "FLOAT;DT_BF16;FLOAT", "4,16", "FRACTAL_NZ:16")
    assert found == [
        ("4,8;;7;4,8", "FLOAT;DT_BF16;FLOAT;FLOAT", "4,16;4,16", "FRACTAL_NZ:16;FRACTAL_NZ:16"),
        (";7", "DT_BF16;FLOAT", "", ""),
        joined,
        (None,) * 4,
    ]


def test_a_record_has_as_many_tensors_as_it_says_and_at_most_its_room() -> None:
    reports = [(records("node_basic_info", basic(0, 70, 71, 1), basic(1, 70, 71, 1)), False)]
    fewer = shaped(0, (0, (2,), 0, 2), (0, (3,), 0, 2)) | {"tensor_num": 1}
    more = shaped(1, *((0, (size,), 0, 2) for size in range(1, 1 + task_facts.TENSORS_PER_RECORD)))
    found = info(reports, [records("tensor_info", fewer, more | {"tensor_num": 99})])
    assert found["input_shapes"].to_list() == ["2", ";".join(map(str, range(1, 1 + task_facts.TENSORS_PER_RECORD)))]
