"""
Functions in place of MindSpore's own that refuse on the CPU before a primitive is called.

GRAPH mode reads their source, so they hold nothing but calls and branches. Imported where MindSpore is loaded.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from mindspore import Tensor, nn
from mindspore.ops import auto_generate, functional_overload, tensor_method
from mindspore.ops._primitive_cache import _get_cache_prim
from mindspore.ops.auto_generate import gen_ops_prim
from mindspore.ops.auto_generate.gen_ops_prim import (
    MaxPoolWithIndices,
    MaxPoolWithMask,
    conv1d_ext_op,
    conv3d_ext_op,
    dropout_ext_op,
    index_add_ext_op,
    index_op,
    inplace_bernoulli_scalar_op,
    inplace_bernoulli_tensor_op,
    inplace_fill_diagonal_op,
    inplace_put_op,
    kthvalue_op,
    new_full_op,
    repeat_op,
)
from mindspore.ops.function import array_func, math_func, nn_func, random_func
from mindspore.ops.function.grad import grad_func

from drynpu import own_names
from drynpu_mindspore_kernels.compositions import _functions
from drynpu_mindspore_kernels.compositions._batch_products import replace_products
from drynpu_mindspore_kernels.compositions._common_types import join_types
from drynpu_mindspore_kernels.compositions._einsum import einsum
from drynpu_mindspore_kernels.compositions._second_order_steps import replace_second_order
from drynpu_mindspore_kernels.compositions._steps import replace_steps


def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: Any = 1
) -> Any:
    """Call the primitive for a padding of numbers, or that for a named one."""
    if isinstance(padding, str):
        return _functions.padded_convolution(input, weight, bias, stride, padding, dilation, groups)
    return conv1d_ext_op(input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: Any = 1
) -> Any:
    """Call the primitive for a padding of numbers, or that for a named one."""
    if isinstance(padding, str):
        return _functions.padded_convolution(input, weight, bias, stride, padding, dilation, groups)
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


def fill_diagonal_(input: Any, fill_value: Any, wrap: Any = False) -> Any:
    """Call the primitive."""
    return inplace_fill_diagonal_op(input, fill_value, wrap)


def index(input: Any, indices: Any) -> Any:
    """Call the primitive."""
    return index_op(input, indices)


def put_(input: Any, index: Any, source: Any, accumulate: Any = False) -> Any:
    """Call the primitive."""
    return inplace_put_op(input, index, source, accumulate)


_REPLACED = (
    (random_func, "inplace_exponential_op", _functions.inplace_exponential_op),
    (nn_func, "dropout2d_ext_op", _functions.dropout2d_ext_op),
    (nn_func, "multilabel_margin_loss", _functions.multilabel_margin_loss),
    (nn_func, "moe_token_unpermute", _functions.moe_token_unpermute),
    (math_func, "round", _functions.round_to),
    (math_func, "quantile", _functions.quantile),
    (math_func, "nanquantile", _functions.nanquantile),
    (functional_overload, "gmm", _functions.gmm),
    (functional_overload, "gmm_backward", _functions.gmm_backward),
    (functional_overload, "gmm_backward_fusion", _functions.gmm_backward_fusion),
    (functional_overload, "empty", _functions.empty),
    (functional_overload, "empty_like", _functions.empty_like),
    (functional_overload, "conv2d", _functions.conv2d),
    (gen_ops_prim, "conv1d_padding_op", _functions.padded_convolution),
    (gen_ops_prim, "conv2d_padding_op", _functions.padded_convolution),
    (gen_ops_prim, "conv3d_padding_op", _functions.padded_convolution),
    (array_func, "non_zero_ext_", _functions.non_zero_ext),
    (grad_func, "stop_gradient_", _functions.stop_gradient_),
    (array_func, "unique_ext", _functions.unique),
    (array_func, "type_as_", _functions.type_as),
    (array_func, "type_as", _functions.type_as),
)
"""Where a function of MindSpore is found, its name, and what stands in its place."""


def _replace_everywhere() -> None:
    """Replace functions in every module of MindSpore that has taken them over, under any name."""
    functions = {id(vars(home)[name]): function for home, name, function in _REPLACED if name in vars(home)}
    for path, module in list(sys.modules.items()):
        if path.split(".")[0] != "mindspore":
            continue
        for name, value in list(own_names(module).items()):
            if id(value) in functions:
                setattr(module, name, functions[id(value)])


_LOST_IN_PLACE = (
    *("add_", "sub_", "mul_", "div_", "exp_", "floor_", "log_", "tanh_", "sigmoid_", "floor_divide_"),
    *("remainder_", "addmm_"),
)
"""Methods of which the CPU build returns the result, and leaves the tensor as it was in PyNative mode."""


def _kept(genuine: Any) -> Any:
    """Return a method that changes its tensor, too."""

    @functools.wraps(genuine)
    def in_place(self: Any, *arguments: Any, **keywords: Any) -> Any:
        return self.copy_(genuine(self, *arguments, **keywords))

    return in_place


# N18, docs/tricks.md
def replace_methods() -> None:
    """Put the functions where MindSpore looks for them."""
    _replace_everywhere()
    join_types()
    replace_steps()
    replace_products()
    replace_second_order()
    nn.MultilabelMarginLoss.__init__ = _functions.keep_reduction
    nn.MultilabelMarginLoss.construct = _functions.margin_of_cell
    methods: Any = tensor_method
    # Only there: elsewhere MindSpore's own call has a number of the right type.
    nn_func.masked_fill_op = _functions.masked_fill_op
    Tensor.quantile, Tensor.nanquantile = _functions.quantile, _functions.nanquantile
    gen_ops_prim.GroupedMatmul.__call__ = _functions.grouped_matmul
    Tensor.round, Tensor.unique, Tensor.new_empty = _functions.rounded, _functions.unique, _functions.new_empty
    for name in _LOST_IN_PLACE:
        if hasattr(Tensor, name):
            setattr(Tensor, name, _kept(getattr(Tensor, name)))
    methods.tensor_index, methods.tensor_put_ = index, put_
    methods.conv1d, methods.conv3d = conv1d, conv3d
    methods.all_gather_matmul = _functions.all_gather_matmul
    methods.matmul_reduce_scatter = _functions.matmul_reduce_scatter
    methods.tensor_index_add, methods.tensor_kthvalue = index_add, kthvalue
    methods.tensor_inplace_fill_diagonal = fill_diagonal_
    methods.tensor_new_full, methods.tensor_repeat = new_full, repeat
    methods.deprecated_einsum, methods.tensor_bernoulli_ = einsum, bernoulli_
    for name, function in (("func_max_pool2d_op", func_max_pool2d), ("func_dropout_ext_op", func_dropout_ext)):
        genuine = getattr(gen_ops_prim, name, None)
        modules: tuple[Any, ...] = (nn_func, auto_generate, gen_ops_prim)
        for module in modules:
            if genuine is not None and getattr(module, name, None) is genuine:
                setattr(module, name, function)
