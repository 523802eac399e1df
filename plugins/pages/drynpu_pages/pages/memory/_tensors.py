"""The tensors that blocks of memory hold, as far as the kernels of their operators tell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import polars as pl
from attrs import frozen

from drynpu.analysis import link_operators
from drynpu.analysis.launches import mindspore_launches
from drynpu.kernels import DTYPES
from drynpu.tables import Profile

_ALIGNED, _PADDING = 512, 32
"""The pools of PyTorch and MindSpore hold tensors in blocks of 512 bytes, with 32 bytes behind the tensor."""
_OUTPUTS = ("output_shapes", "output_dtypes", "output_formats")


@frozen
class _Tensor:
    shape: str
    dtype: str
    layout: str

    @property
    def block_bytes(self) -> int:
        """The size of the block that holds the tensor, 0 where its type is not known."""
        dims = [int(size) for size in self.shape.split(",") if size.isdecimal()]
        known = DTYPES.get(self.dtype)
        return -(-(math.prod(dims) * known.size_bytes + _PADDING) // _ALIGNED) * _ALIGNED if known else 0


_UNKNOWN = _Tensor("", "", "")


def with_tensors(blocks: pl.DataFrame, profile: Profile) -> pl.DataFrame:
    """
    Return blocks with ``shape``, ``dtype`` and ``layout`` of the tensor that they hold, ``""`` where it is not known.

    It is the output of a kernel of the operator that took the block, if one has the size of the block. Operators of
    MindSpore's graphs are their kernels, or launch them.
    """
    texts = pl.col("name", *_OUTPUTS).cast(pl.String)
    kernels = profile.kernels.select("device_id", "start_ns", texts)
    operators = _operators_of(blocks, profile)
    work = link_operators(profile).kernel_op.select("device_id", "start_ns", "op_id")
    launched = work.filter(pl.col("op_id").is_in(operators.implode())).join(kernels, on=["device_id", "start_ns"])
    named = _as_launched(kernels, profile).filter(pl.col("name").is_in(blocks["name"].unique().implode()))
    by_operator, by_name = _tensors(launched, "op_id"), _tensors(named, "name")
    matching = [
        _matching((*by_operator.get(operator, ()), *by_name.get(name, ())), size)
        for operator, name, size in zip(operators, blocks["name"], blocks["size_bytes"], strict=True)
    ]
    return blocks.with_columns(
        pl.Series("shape", [tensor.shape or (tensor.dtype and "scalar") for tensor in matching], dtype=pl.String),
        pl.Series("dtype", [tensor.dtype for tensor in matching], dtype=pl.String),
        pl.Series("layout", [tensor.layout for tensor in matching], dtype=pl.String),
    )


def _as_launched(kernels: pl.DataFrame, profile: Profile) -> pl.DataFrame:
    """Return kernels under the name of their launch, where MindSpore launched them one by one."""
    launches = mindspore_launches(profile).select("device_id", "start_ns", "launch")
    known = kernels.join(launches, on=["device_id", "start_ns"], how="left", maintain_order="left")
    name = pl.coalesce(pl.col("launch").str.replace(r"^.*::", ""), "name")
    return known.with_columns(name.alias("name"))


def _operators_of(blocks: pl.DataFrame, profile: Profile) -> pl.Series:
    """Return for each block the ``op_id`` of the operator of its name that was open when it was taken, -1 for none."""
    calls = profile.host_ops.select("op_id", "name", "start_ns", "end_ns").filter(
        pl.col("name").is_in(blocks["name"].unique().implode())
    )
    blocks_by_time = blocks.select("name", "start_ns").with_row_index("row").sort("start_ns")
    opened = blocks_by_time.join_asof(
        calls.sort("start_ns"), on="start_ns", by="name", strategy="backward", check_sortedness=False
    )
    inside = pl.when(pl.col("start_ns") <= pl.col("end_ns")).then("op_id").fill_null(-1).alias("op_id")
    return opened.sort("row").select(inside).to_series()


def _tensors(kernels: pl.DataFrame, key: str) -> Mapping[object, Sequence[_Tensor]]:
    """Return the outputs of kernels by a column."""
    tensors: dict[object, dict[_Tensor, None]] = {}
    for owner, *outputs in kernels.select(key, *_OUTPUTS).unique(maintain_order=True).iter_rows():
        parts = (text.split(";") for text in outputs)
        tensors.setdefault(owner, {}).update(dict.fromkeys(_Tensor(*part) for part in zip(*parts, strict=False)))
    return {owner: tuple(each) for owner, each in tensors.items()}


def _matching(tensors: Iterable[_Tensor], size_bytes: int) -> _Tensor:
    return next((tensor for tensor in tensors if size_bytes == tensor.block_bytes), _UNKNOWN)
