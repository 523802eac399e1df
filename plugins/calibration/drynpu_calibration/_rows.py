"""Tensors as tables of kernels spell them: ``"4096,1024;1024"``, ``DT_BF16;FLOAT``, ``ND;NC1HWC0:1``."""

from __future__ import annotations

import functools
import re
from typing import Final

from drynpu.kernels import DTYPES, TaskType, TensorDesc

_SPELLINGS: Final = {"FracZ": "FRACTAL_Z", "FracNZ": "FRACTAL_NZ"}
_DTYPE_SPELLINGS: Final = {
    "BF16": "DT_BF16",
    "BFLOAT16": "DT_BF16",
    "FLOAT32": "FLOAT",
    "FP32": "FLOAT",
    "FP16": "FLOAT16",
    "HALF": "FLOAT16",
    "FLOAT64": "DOUBLE",
    "INT4": "INT8",
    "UINT1": "UINT8",
}
_BITS: Final = re.compile(r"(?:FLOAT|FP|INT|UINT|HIF|HIFLOAT|COMPLEX|QINT|QUINT)(\d+)")
_BY_BYTES: Final = {1: "INT8", 2: "INT16", 4: "INT32", 8: "INT64", 16: "COMPLEX128"}
_ABSENT: Final = frozenset({"", "NULL", "UNDEFINED", "DT_UNDEFINED", "N/A", "RESERVED", "DT_MAX"})


@functools.lru_cache(maxsize=1024)
def dtype_of(text: str) -> str:
    """Return the name in ``DTYPES`` that stands for a spelling, ``UNDEFINED`` where there is no tensor."""
    name = text.strip().upper()
    if name in DTYPES:
        return name
    if name in _ABSENT:
        return "UNDEFINED"
    plain = name.removeprefix("DT_")
    plain = _DTYPE_SPELLINGS.get(plain, plain)
    if plain in DTYPES:
        return plain
    bits = _BITS.match(plain)
    return _BY_BYTES.get(max(int(bits[1]) // 8, 1), "INT8") if bits else "UNDEFINED"


@functools.lru_cache(maxsize=1024)
def format_of(text: str) -> str:
    """Return GE's name of a format: a number behind a colon counts channels in a group."""
    name = text.strip().partition(":")[0]
    return _SPELLINGS.get(name, name) or "ND"


def tensors_of(shapes: str, dtypes: str, formats: str) -> tuple[TensorDesc, ...]:
    """
    Return the tensors of a row; lists are joined by ``;``, dims by ``,``.

    An empty shape is a scalar, or an absent tensor where its type is not known either. Types and formats may be
    fewer than the shapes.

    Raises
    ------
    ValueError
        A dim is no whole number, or negative.
    """
    if not shapes.strip() and not dtypes.strip():
        return ()
    each, types, layouts = shapes.strip().strip('"').split(";"), dtypes.split(";"), formats.split(";")
    tensors = []
    for position in range(max(len(each), len(types) if dtypes.strip() else 0)):
        text = each[position].strip() if position < len(each) else ""
        dtype = dtype_of(types[position]) if position < len(types) else "UNDEFINED"
        if dtype == "UNDEFINED" and not text:
            continue
        dims = tuple(int(dim) for dim in text.split(",")) if text else ()
        if min(dims, default=0) < 0:
            raise ValueError(f"negative dim in {text!r}")
        layout = format_of(layouts[position]) if position < len(layouts) else "ND"
        tensors.append(TensorDesc(dims, "FLOAT16" if dtype == "UNDEFINED" else dtype, layout))
    return tuple(tensors)


_TASK_TYPES: Final = {"DSA_SQE": TaskType.DSA, "AI_VECTOR": TaskType.AI_VECTOR_CORE, "MIX_AI_CORE": TaskType.MIX_AIC}


def task_type_of(text: str) -> TaskType | None:
    """Return the task type of a row, ``None`` where it is not known."""
    name = text.strip().upper()
    known = {task.value: task for task in TaskType}
    return known.get(name) or _TASK_TYPES.get(name)
