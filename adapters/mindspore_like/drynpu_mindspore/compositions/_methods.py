"""
Functions in place of MindSpore's own that refuse on the CPU before a primitive is called.

GRAPH mode reads their source, so they hold nothing but calls and branches. Imported where MindSpore is loaded.
"""

from __future__ import annotations

from typing import Any

from mindspore import Tensor
from mindspore.ops import auto_generate, tensor_method
from mindspore.ops._primitive_cache import _get_cache_prim
from mindspore.ops.auto_generate import gen_ops_prim
from mindspore.ops.auto_generate.gen_ops_prim import (
    MaxPoolWithIndices,
    MaxPoolWithMask,
    conv1d_ext_op,
    conv3d_ext_op,
    dropout_ext_op,
    index_add_ext_op,
    inplace_bernoulli_scalar_op,
    inplace_bernoulli_tensor_op,
    kthvalue_op,
    new_full_op,
    repeat_op,
)
from mindspore.ops.function import nn_func

from drynpu_mindspore.compositions._einsum import einsum


def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: Any = 1
) -> Any:
    """Call the primitive, for a padding of numbers."""
    return conv1d_ext_op(input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: Any = 1
) -> Any:
    """Call the primitive, for a padding of numbers."""
    return conv3d_ext_op(input, weight, bias, stride, padding, dilation, groups)


def func_max_pool2d(
    input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: Any, return_indices: Any
) -> Any:
    """Call the primitive that a device uses with or without places."""
    if return_indices:
        return _get_cache_prim(MaxPoolWithIndices)(kernel_size, stride, padding, dilation, ceil_mode)(input)
    return _get_cache_prim(MaxPoolWithMask)(kernel_size, stride, padding, dilation, ceil_mode)(input)


def func_dropout_ext(input: Any, p: Any, training: Any, inplace: Any, seed: Any, offset: Any) -> Any:
    """Call the primitive where something is dropped."""
    if not training or p == 0:
        return input
    if inplace:
        return input.copy_(dropout_ext_op(input, p, seed, offset)[0])
    return dropout_ext_op(input, p, seed, offset)[0]


def index_add(input: Any, dim: Any, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """Call the primitive, which takes an index of any whole numbers."""
    return index_add_ext_op(input, dim, index, source, alpha)


def kthvalue(input: Any, k: Any, dim: Any = -1, keepdim: Any = False) -> Any:
    """Call the primitive."""
    return kthvalue_op(input, k, dim, keepdim)


def bernoulli_(input: Any, share: Any, seed: Any, offset: Any) -> Any:
    """Call the primitive for shares in a tensor, or that for one number."""
    if isinstance(share, Tensor):
        return inplace_bernoulli_tensor_op(input, share, seed, offset)
    return inplace_bernoulli_scalar_op(input, share, seed, offset)


def new_full(input: Any, size: Any, fill_value: Any, *, dtype: Any = None) -> Any:
    """Call the primitive."""
    return new_full_op(input, size, fill_value, dtype)


def repeat(input: Any, *repeats: Any) -> Any:
    """Call the primitive, for counts one by one or in a tuple."""
    if len(repeats) == 1 and isinstance(repeats[0], (tuple, list)):
        return repeat_op(input, repeats[0])
    return repeat_op(input, repeats)


def replace_methods() -> None:
    """Put the functions where MindSpore looks for them."""
    methods: Any = tensor_method
    methods.conv1d, methods.conv3d = conv1d, conv3d
    methods.tensor_index_add, methods.tensor_kthvalue = index_add, kthvalue
    methods.tensor_new_full, methods.tensor_repeat = new_full, repeat
    methods.deprecated_einsum, methods.tensor_bernoulli_ = einsum, bernoulli_
    for name, function in (("func_max_pool2d_op", func_max_pool2d), ("func_dropout_ext_op", func_dropout_ext)):
        genuine = getattr(gen_ops_prim, name, None)
        modules: tuple[Any, ...] = (nn_func, auto_generate, gen_ops_prim)
        for module in modules:
            if genuine is not None and getattr(module, name, None) is genuine:
                setattr(module, name, function)
