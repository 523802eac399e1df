"""Products with the low-rank weights that each row or sequence chooses; a negative number chooses none."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from drynpu_vllm_ascend.served import ServedOperator, Work


def _row_adapters(lora_indices: Tensor, seq_len: Tensor, rows: int) -> Tensor:
    """Return the adapter of each row; rows behind the last sequence have none."""
    per_row = lora_indices[: len(seq_len)].repeat_interleave(seq_len.long())
    return torch.nn.functional.pad(per_row, (0, max(0, rows - len(per_row))), value=-1)[:rows]


def _shrink(x: Tensor, weight: Tensor, indices: Tensor, y: Tensor, scale: float) -> None:
    for adapter in set(indices.tolist()):
        if adapter >= 0:
            rows = indices == adapter
            y[rows] = (scale * (x[rows].float() @ _matrix(weight, adapter).T)).to(y.dtype)


def _expand(x: Tensor, weight: Tensor, indices: Tensor, y: Tensor, slice_offset: int, slice_size: int) -> Tensor:
    columns = slice(slice_offset, slice_offset + slice_size)
    for adapter in set(indices.tolist()):
        if adapter >= 0:
            rows = indices == adapter
            product = x[rows].float() @ _matrix(weight, adapter).T
            y[rows, columns] = (y[rows, columns].float() + product).to(y.dtype)
    return torch.empty_like(y).copy_(y)


def _matrix(weight: Tensor, adapter: int) -> Tensor:
    return weight[adapter].reshape(weight.shape[-2:]).float()


def _shrink_sequences(
    x: Tensor, weight: Tensor, lora_indices: Tensor, seq_len: Tensor, y: Tensor, scale: float
) -> None:
    _shrink(x, weight, _row_adapters(lora_indices, seq_len, len(x)), y, scale)


def _expand_sequences(
    x: Tensor,
    weight: Tensor,
    lora_indices: Tensor,
    seq_len: Tensor,
    y: Tensor,
    slice_offset: int,
    slice_size: int,
) -> Tensor:
    return _expand(x, weight, _row_adapters(lora_indices, seq_len, len(x)), y, slice_offset, slice_size)


def _nothing() -> None:
    """Return the result of a call whose only effect are values."""


def _like_y(y: Tensor) -> Tensor:
    return torch.empty_like(y)


def _products(x: Tensor, weight: Tensor) -> Work:
    """Return the work of vector units that multiply every row by one adapter's matrix."""
    one = weight.shape[-1] * weight.shape[-2]
    read = x.numel() * x.element_size() + min(len(weight), len(x)) * one * weight.element_size()
    return Work(vector_ops=2 * len(x) * one, read=read)


_TENSORS: Final = "(Tensor x, Tensor weight, Tensor indices, Tensor(a!) y"
_SEQUENCES: Final = "(Tensor x, Tensor weight, Tensor lora_indices, Tensor seq_len, Tensor(a!) y"

OPERATORS: Final = (
    ServedOperator(
        schema=f"bgmv_shrink{_TENSORS}, float scale) -> ()",
        compute=_shrink,
        kernel="bgmv_shrink",
        cost=_products,
        shapes=_nothing,
    ),
    ServedOperator(
        schema=f"bgmv_expand{_TENSORS}, int slice_offset, int slice_size) -> Tensor",
        compute=_expand,
        kernel="bgmv_expand",
        cost=_products,
        shapes=_like_y,
    ),
    ServedOperator(
        schema=f"sgmv_shrink{_SEQUENCES}, float scale) -> ()",
        compute=_shrink_sequences,
        kernel="sgmv_shrink",
        cost=_products,
        shapes=_nothing,
    ),
    ServedOperator(
        schema=f"sgmv_expand{_SEQUENCES}, int slice_offset, int slice_size) -> Tensor",
        compute=_expand_sequences,
        kernel="sgmv_expand",
        cost=_products,
        shapes=_like_y,
    ),
)
