"""Spellings of tables of kernels, one by one."""

from __future__ import annotations

import pytest

from drynpu.kernels import TaskType, TensorDesc
from drynpu_calibration._rows import dtype_of, format_of, task_type_of, tensors_of


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        (" float16 ", "FLOAT16"),
        ("DT_FLOAT", "FLOAT"),
        ("bfloat16", "DT_BF16"),
        ("DT_MAX", "UNDEFINED"),
        ("", "UNDEFINED"),
        ("DT_QINT8", "INT8"),
        ("QUINT16", "INT16"),
        ("QINT32", "INT32"),
        ("FLOAT8_E4M3FN", "INT8"),
        ("FLOAT4_E2M1", "INT8"),
        ("HIFLOAT8", "INT8"),
        ("COMPLEX32", "INT32"),
        ("STRANGE", "UNDEFINED"),
    ],
)
def test_a_type_that_is_not_known_is_one_of_as_many_bytes(text: str, dtype: str) -> None:
    assert dtype_of(text) == dtype


def test_formats_may_have_a_subformat_and_a_spelling_of_their_own() -> None:
    assert [format_of(text) for text in ("FracNZ", "NC1HWC0:1", "ND")] == ["FRACTAL_NZ", "NC1HWC0", "ND"]


def test_tensors_are_read_by_their_place() -> None:
    assert tensors_of('"4,8;8"', "FLOAT16;DT_BF16", "ND;FracZ") == (
        TensorDesc((4, 8), "FLOAT16", "ND"), TensorDesc((8,), "DT_BF16", "FRACTAL_Z"),
    )  # fmt: skip
    # A scalar has a type and no dims; what has neither is no tensor.
    assert tensors_of("4;;", "INT64;FLOAT;", "ND") == (TensorDesc((4,), "INT64"), TensorDesc((), "FLOAT"))
    assert tensors_of("3,2;5", "", "") == (TensorDesc((3, 2), "FLOAT16"), TensorDesc((5,), "FLOAT16"))
    assert tensors_of("0", "FLOAT", "ND") == (TensorDesc((0,), "FLOAT"),)
    assert tensors_of("", "", "") == ()
    with pytest.raises(ValueError, match="negative dim in '4,-1'"):
        tensors_of("4,-1", "FLOAT", "ND")


def test_task_types_of_other_tools_are_known() -> None:
    found = [task_type_of(text) for text in ("AI_CORE", " mix_ai_core", "AI_VECTOR", "nothing")]
    assert found == [TaskType.AI_CORE, TaskType.MIX_AIC, TaskType.AI_VECTOR_CORE, None]
