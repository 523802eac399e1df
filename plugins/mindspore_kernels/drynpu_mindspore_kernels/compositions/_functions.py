"""
Functions in place of MindSpore's own whose primitives its CPU build has no way to call: made of those that it can.

GRAPH mode reads their source, so they hold nothing but calls and branches. Imported where MindSpore is loaded.
"""

from __future__ import annotations

from typing import Any

from mindspore import Tensor, context, mint, nn, ops
from mindspore.common import dtype
from mindspore.ops import functional_overload
from mindspore.ops.auto_generate.gen_ops_prim import (
    all_gather_matmul_op,
    convolution_str_op,
    empty_like_op,
    empty_op,
    grouped_matmul_v4_op,
    inner_moe_token_unpermute_op,
    inplace_bernoulli_scalar_op,
    matmul_reduce_scatter_op,
    non_zero_op,
    rand_like_ext_op,
    round_op,
    unique2_op,
    unique_dim_op,
)
from mindspore.ops.auto_generate.gen_ops_prim import masked_fill_op as genuine_masked_fill_op
from mindspore.ops.primitive import constexpr

# A release without it has no function of that name to replace, either.
_conv2d_instance: Any = getattr(functional_overload, "_conv2d_instance", None)
_ROWS, _INNER = 0, 2
"""``group_type``: groups of rows, and of what the product sums over."""
_JOINED = 3
"""``split_item``: one result, which holds the results of all groups."""


def dropout2d_ext_op(input: Any, p: Any, training: Any, inplace: Any, seed: Any, offset: Any) -> Any:
    """Drop whole channels, as the operator of a device does: draw, divide, multiply."""
    if not training or p == 0:
        return input
    kept = mint.ones(input.shape[:2] + (1,) * (input.ndim - 2), dtype=input.dtype)
    kept = inplace_bernoulli_scalar_op(kept, 1 - p, seed, offset)
    result = input * kept if p == 1 else input * (kept / (1 - p))
    return input.copy_(result) if inplace else result


def inplace_exponential_op(input: Any, lambd: Any, seed: Any, offset: Any) -> Any:
    """Fill a tensor from uniform numbers, whose logarithms are distributed so."""
    drawn = rand_like_ext_op(input, seed, offset)
    return input.copy_(mint.log(1 - drawn) / -lambd)


def moe_token_unpermute(
    permuted_tokens: Any, sorted_indices: Any, probs: Any = None, padded_mode: Any = False, restore_shape: Any = None
) -> Any:
    """Call the primitive that a device uses."""
    return inner_moe_token_unpermute_op(permuted_tokens, sorted_indices, probs, padded_mode, restore_shape)


def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: Any = 1
) -> Any:
    """Call what MindSpore calls; for a named padding the primitive that has a gradient in both modes."""
    if isinstance(padding, str):
        return convolution_str_op(input, weight, bias, stride, padding, dilation, False, 0, groups)
    return _conv2d_instance(input, weight, bias, stride, padding, dilation, groups)


def padded_convolution(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: Any = 1
) -> Any:
    """Call the primitive that has a gradient in both modes."""
    return convolution_str_op(input, weight, bias, stride, padding, dilation, False, 0, groups)


def all_gather_matmul(
    input: Any,
    x2: Any,
    group: Any,
    world_size: Any,
    *,
    bias: Any = None,
    gather_index: Any = 0,
    gather_output: Any = True,
    comm_turn: Any = 0,
    trans_input: Any = False,
    trans_x2: Any = False,
) -> Any:
    """Call the primitive."""
    return all_gather_matmul_op(
        input, x2, group, world_size, bias, gather_index, gather_output, comm_turn, trans_input, trans_x2
    )


def matmul_reduce_scatter(
    input: Any,
    x2: Any,
    group: Any,
    world_size: Any,
    *,
    reduce_op: Any = "sum",
    bias: Any = None,
    comm_turn: Any = 0,
    trans_input: Any = False,
    trans_x2: Any = False,
) -> Any:
    """Call the primitive."""
    return matmul_reduce_scatter_op(input, x2, group, world_size, reduce_op, bias, comm_turn, trans_input, trans_x2)


def empty(*size: Any, dtype: Any = None, device: Any = None, pin_memory: Any = False) -> Any:
    """Take memory of the CPU, which stands for the device that a script means."""
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        return empty_op(size[0], dtype, "CPU", False)
    return empty_op(size, dtype, "CPU", False)


def empty_like(input: Any, *, dtype: Any = None, device: Any = None, pin_memory: Any = False) -> Any:
    """Take memory as :func:`empty` does."""
    return empty_like_op(input, dtype, "CPU", False)


def new_empty(self: Any, size: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """Take memory as :func:`empty` does, of the tensor's type."""
    return empty_op((size,) if isinstance(size, int) else size, dtype or self.dtype, "CPU", False)


def masked_fill_op(input: Any, mask: Any, value: Any) -> Any:
    """Fill with a number of the tensor's type; the kernel of the CPU takes no other."""
    if isinstance(value, Tensor):
        return genuine_masked_fill_op(input, mask, value)
    return genuine_masked_fill_op(input, mask, ops.scalar_to_tensor(value, input.dtype))


def non_zero_ext(input: Any) -> Any:
    """Return the places of what is not 0, a tensor for each dim."""
    return mint.unbind(non_zero_op(input), 1)


def type_as(input: Any, other: Any) -> Any:
    """Cast to the type of another tensor; the primitive has no gradient in PyNative mode of a CPU."""
    return ops.cast(input, other.dtype)


def rounded(self: Any, decimals: Any = 0) -> Any:
    """Round as :func:`round_to`, as a method."""
    return round_to(self, decimals=decimals)


def round_to(input: Any, *, decimals: Any = 0) -> Any:
    """Round to decimals; MindSpore's CPU kernel rounds to whole numbers alone."""
    if decimals == 0:
        return round_op(input, 0)
    if decimals < 0:
        return round_op(input / 10**-decimals, 0) * 10**-decimals
    return round_op(input * 10**decimals, 0) / 10**decimals


def _quantiles(values: Any, last: Any, q: Any, dim: Any, keepdims: Any) -> Any:
    """Return, of sorted *values*, those at the shares *q* of the way to the place *last*, and between two of them."""
    shares = q if isinstance(q, Tensor) else ops.scalar_to_tensor(q, values.dtype)
    places = mint.clamp(last, 0) * shares.reshape((1,) * dim + (-1,) + (1,) * (values.ndim - dim - 1))
    low = mint.floor(places)
    first = mint.gather(values, dim, low.long())
    second = mint.gather(values, dim, mint.ceil(places).long())
    result = mint.where(places == low, first, first + (second - first) * (places - low))
    if not isinstance(q, Tensor) or q.ndim == 0:
        return result if keepdims else mint.squeeze(result, dim)
    moved = mint.transpose(mint.unsqueeze(result, 0), 0, dim + 1)
    return moved if keepdims else mint.squeeze(moved, dim + 1)


def _shaped(quantiles: Any, input: Any, q: Any, keepdims: Any) -> Any:
    """Return quantiles of all elements with as many dims as the input has, where they are kept."""
    if not keepdims:
        return quantiles
    if isinstance(q, Tensor) and q.ndim > 0:
        return quantiles.reshape((-1,) + (1,) * input.ndim)
    return quantiles.reshape((1,) * input.ndim)


def quantile(input: Any, q: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Compute quantiles of sorted elements, between two of them linearly; with what is no number there is none."""
    if axis is None:
        return _shaped(_quantile_of_dim(input.reshape((-1,)), q, 0, keepdims), input, q, keepdims)
    return _quantile_of_dim(input, q, axis % input.ndim, keepdims)


def _quantile_of_dim(input: Any, q: Any, dim: Any, keepdims: Any) -> Any:
    values = mint.sort(input, dim=dim)[0]
    # Sorted, what is no number stands last: then the last one is all that there is.
    lost = mint.narrow(values, dim, input.shape[dim] - 1, 1) != mint.narrow(values, dim, input.shape[dim] - 1, 1)
    filled = mint.where(lost, mint.narrow(values, dim, input.shape[dim] - 1, 1), values)
    return _quantiles(filled, mint.zeros_like(lost).to(values.dtype) + (input.shape[dim] - 1), q, dim, keepdims)


def nanquantile(input: Any, q: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Compute quantiles of what is a number; sorted, the rest stands last."""
    if axis is None:
        return _shaped(_nanquantile_of_dim(input.reshape((-1,)), q, 0, keepdims), input, q, keepdims)
    return _nanquantile_of_dim(input, q, axis % input.ndim, keepdims)


def _nanquantile_of_dim(input: Any, q: Any, dim: Any, keepdims: Any) -> Any:
    values = mint.sort(input, dim=dim)[0]
    last = (values == values).to(values.dtype).sum(dim, True) - 1
    return _quantiles(values, last, q, dim, keepdims)


def multilabel_margin_loss(input: Any, target: Any, reduction: Any = "mean") -> Any:
    """Reduce the losses of rows; a kernel of the CPU does not see how."""
    losses, _ = ops.MultilabelMarginLoss("none")(input, target)
    if reduction == "mean":
        return losses.mean()
    return losses.sum() if reduction == "sum" else losses


def margin_of_cell(self: Any, x: Any, target: Any) -> Any:
    """Compute what ``nn.MultilabelMarginLoss`` does, by :func:`multilabel_margin_loss`."""
    return multilabel_margin_loss(x, target, self.reduction)


def keep_reduction(self: Any, reduction: Any = "mean") -> None:
    """Make an ``nn.MultilabelMarginLoss`` that knows how it reduces."""
    super(nn.MultilabelMarginLoss, self).__init__()
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"reduction should be 'none', 'mean' or 'sum', but got {reduction!r}")
    self.reduction = reduction


@constexpr  # type: ignore[untyped-decorator] # MindSpore has no types
def _is_graph() -> bool:
    return bool(context.get_context("mode") == context.GRAPH_MODE)


def _first(values: Any, dim: Any, count: Any) -> Any:
    """Return as many slices as were found, which stand at the beginning of the memory."""
    shape = (*values.shape[:dim], count, *values.shape[dim:][1:])
    size = 1
    for length in shape:
        size = size * length
    return mint.narrow(values.reshape((-1,)), 0, 0, size).reshape(shape)


def unique(
    input: Any, sorted: Any = True, return_inverse: Any = False, return_counts: Any = False, dim: Any = None
) -> Any:
    """Call the primitive; PyNative mode does not learn how many elements there are, so they are counted."""
    if dim is None:
        values, places, counts = unique2_op(input, True, True, True)
    else:
        values, places, counts = unique_dim_op(input, True, True, dim)
    if not _is_graph():
        numbers = places.asnumpy()
        count = int(numbers.max()) + 1 if numbers.size else 0
        values = _first(values, 0 if dim is None else dim, count)
        counts = mint.narrow(counts, 0, 0, count)
    if return_inverse and return_counts:
        return values, places, counts
    if return_inverse:
        return values, places
    return (values, counts) if return_counts else values


def stop_gradient_(input: Any) -> None:
    """Cut a tensor off from what it was made of: it gets its own numbers, from where no gradient goes on."""
    input.copy_(ops.stop_gradient(input))


def grouped_matmul(
    self: Any,
    x: Any,
    weight: Any,
    bias: Any = None,
    scale: Any = None,
    offset: Any = None,
    antiquant_scale: Any = None,
    antiquant_offset: Any = None,
    group_list: Any = None,
) -> Any:
    """Call the later primitive, which PyNative mode learns the results of."""
    x = [each.swapaxes(-1, -2) for each in x] if self.transpose_a else x
    weight = [each.swapaxes(-1, -2) for each in weight] if self.transpose_b else weight
    more = (None, group_list, None, None, None, self.split_item, self.group_type, 0, 0, None)
    return grouped_matmul_v4_op(x, weight, bias, scale, offset, antiquant_scale, antiquant_offset, *more)


def _grouped(x: Any, weight: Any, groups: Any, group_type: Any, listed: Any) -> Any:
    # By place, because GRAPH mode takes no names: between are bias, scales and offsets, behind activation and type.
    return grouped_matmul_v4_op(
        [x],
        [weight],
        None,
        None,
        None,
        None,
        None,
        None,
        groups,
        None,
        None,
        None,
        _JOINED,
        group_type,
        listed,
        0,
        None,
    )[0]


class _GroupedRows(nn.Cell):  # type: ignore[misc] # MindSpore has no types
    """The product of groups of rows with a matrix each, and its gradient."""

    def __init__(self, listed: int) -> None:
        super().__init__()
        self.listed = listed

    def construct(self, x: Any, weight: Any, groups: Any) -> Any:
        """Compute the product."""
        return _grouped(x, weight, groups, _ROWS, self.listed)

    def bprop(self, x: Any, weight: Any, groups: Any, out: Any, dout: Any) -> Any:
        """Compute the gradients: a product of rows, and one that sums over them."""
        dx = _grouped(dout, mint.transpose(weight, -1, -2), groups, _ROWS, self.listed)
        dweight = _grouped(mint.transpose(x, -1, -2), dout, groups, _INNER, self.listed)
        return dx, dweight, mint.zeros_like(groups)


class _GroupedInner(nn.Cell):  # type: ignore[misc] # MindSpore has no types
    """The products of groups of columns and rows, and their gradients."""

    def __init__(self, listed: int) -> None:
        super().__init__()
        self.listed = listed

    def construct(self, x: Any, weight: Any, groups: Any) -> Any:
        """Compute the products."""
        return _grouped(x, weight, groups, _INNER, self.listed)

    def bprop(self, x: Any, weight: Any, groups: Any, out: Any, dout: Any) -> Any:
        """Compute the gradients, which are products of rows."""
        dx = _grouped(weight, mint.transpose(dout, -1, -2), groups, _ROWS, self.listed)
        dweight = _grouped(mint.transpose(x, -1, -2), dout, groups, _ROWS, self.listed)
        return mint.transpose(dx, -1, -2), dweight, mint.zeros_like(groups)


_rows_by_ends, _rows_by_counts = _GroupedRows(0), _GroupedRows(1)
_inner_by_ends, _inner_by_counts = _GroupedInner(0), _GroupedInner(1)


def gmm(
    x: Any, weight: Any, bias: Any = None, group_list: Any = None, group_type: Any = 0, group_list_type: Any = 0
) -> Any:
    """Compute the product of one tensor and one weight that holds a matrix for each group."""
    if bias is not None or len(x) != 1 or len(weight) != 1:
        raise ValueError("gmm with a bias or several tensors is not supported; use one x and one weight")
    groups = group_list if isinstance(group_list, Tensor) else Tensor(group_list, dtype.int64)
    if group_type == _ROWS:
        cell = _rows_by_ends if group_list_type == 0 else _rows_by_counts
    else:
        cell = _inner_by_ends if group_list_type == 0 else _inner_by_counts
    return (cell(x[0], weight[0], groups),)


def gmm_backward(grad: Any, x: Any, weight: Any, *, group_list: Any = None, group_list_type: Any = 0) -> Any:
    """Compute the gradients of :func:`gmm` for groups of rows."""
    dx = _grouped(grad[0], mint.transpose(weight[0], -1, -2), group_list, _ROWS, group_list_type)
    dweight = _grouped(mint.transpose(x[0], -1, -2), grad[0], group_list, _INNER, group_list_type)
    return (dx,), (dweight,), ()


def gmm_backward_fusion(grad: Any, weight: Any, *, group_list: Any = None, group_list_type: Any = 0) -> Any:
    """Compute the gradient of the input of :func:`gmm` for groups of rows."""
    return ((_grouped(grad[0], mint.transpose(weight[0], -1, -2), group_list, _ROWS, group_list_type),),)
