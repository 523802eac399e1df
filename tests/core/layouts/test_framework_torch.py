"""Torch's host events against the struct formats of torch_npu_profiler.md 3.7."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest

from drynpu.layouts import framework_torch as facts


@pytest.mark.parametrize(
    ("dtype", "text"),
    [
        (facts.OP_RANGE, "<3q4QB?"),
        (facts.OP_MARK, "<q4Q"),
        (facts.MEMORY_USAGE, "<7q2b3B2Q"),
        (facts.PYTHON_TRACER_FUNC, "<4QB"),
        (facts.GC_RECORD, "<3Q"),
        (facts.HASH_KEY, "<Q"),
    ],
)
def test_layouts_follow_their_struct_formats(
    dtype: np.dtype[np.void], text: str, fits: Callable[[np.dtype[np.void], str], bool]
) -> None:
    """Bytes above 127 tell signed from unsigned numbers and short from long ones."""
    assert fits(dtype, text)
    raw = bytes(range(0x91, 0x91 + struct.calcsize(text)))
    values = [value.item() for value in np.frombuffer(raw, dtype)[0]]
    assert values == list(struct.unpack(text, raw))


def test_numbers() -> None:
    assert [(kind.name, int(kind)) for kind in facts.FrameworkRecord] == [
        *(("OP_RANGE", 1), ("OP_MARK", 2), ("MEMORY_USAGE", 3), ("PYTHON_HASH", 4), ("PARAM_INFO", 5)),
    ]
    fields = "NAME INPUT_DTYPES INPUT_SHAPES INPUT_TENSORS TENSOR_LISTS SCALARS CALL_STACK MODULE_HIERARCHY EXTRA_ARGS"
    assert {field.name: int(field) for field in facts.OpRangeField} == {
        name: number for number, name in enumerate(fields.split(), start=2)
    }


def test_actions_of_the_allocator() -> None:
    assert (facts.MALLOC, facts.FREE, facts.BLOCK_FREE) == (0, 1, 2), "data type of torch.memory_usage"


def test_numbers_of_texts_that_stand_alone() -> None:
    assert (facts.MARK_NAME, facts.HASH_VALUE) == (1, 1), "1 name of torch.op_mark, 1 value of torch.python_tracer_hash"
