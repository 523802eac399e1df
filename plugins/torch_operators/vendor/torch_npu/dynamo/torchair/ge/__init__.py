"""The facade of ``torchair.ge``: the words in which converters of operators are written."""

from __future__ import annotations

from typing import NoReturn

from torch_npu.dynamo.torchair.ge import attr

from drynpu.kernels import DTYPES, FORMATS
from drynpu_torch_operators.graph_backend import GraphTensor as Tensor
from drynpu_torch_operators.graph_backend import GraphTensor as TensorSpec
from drynpu_torch_operators.graph_backend import in_a_graph_alone

DataType = type("DataType", (), {f"DT_{n.removeprefix('DT_')}": dtype.ge_id for n, dtype in DTYPES.items()})
Format = type("Format", (), {f"FORMAT_{name}": number for name, number in FORMATS.items()})


def custom_op(op_type: str, *args: object, **kwargs: object) -> NoReturn:
    in_a_graph_alone(f"custom_op({op_type!r})")


def Const(v: object, dtype: int | None = None, node_name: str | None = None, readable: bool = True) -> NoReturn:
    in_a_graph_alone("Const")


def Cast(x: object, *, dst_type: int, dependencies: object = (), node_name: str | None = None) -> NoReturn:
    in_a_graph_alone("Cast")


def Clone(x: object, *, dependencies: object = (), node_name: str | None = None) -> NoReturn:
    in_a_graph_alone("Clone")


__all__ = ["Cast", "Clone", "Const", "DataType", "Format", "Tensor", "TensorSpec", "attr", "custom_op"]
