"""Creation, filling and random numbers. Fills write only; random bits come from the DSA engine."""

from __future__ import annotations

import math
from typing import Final

from drynpu.kernels import KernelPlan, Named, TaskType, TensorDesc, tensor_like
from drynpu.kernels.ops import drop_mask, fill_kernel
from drynpu_torch.rules._call import AtenCall, scalar

_DEFAULT_FLOAT = "FLOAT"


def fill(call: AtenCall) -> KernelPlan | None:
    """Return the plan of writing every element of ``x``."""
    return _fill(call, *call.tensors("x"))


def fill_with(call: AtenCall) -> KernelPlan | None:
    """Return the plan of filling ``x`` with a number or with a tensor of one element."""
    form = call if call.tensor("value") is None else call.spelled("aclnnInplaceFillTensor:Fill()")
    return _fill(form, *call.tensors("x"))


def create(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a filled tensor; its type is ``dtype``, else the type of ``x`` or of the value, else FLOAT."""
    size, x = call.dims("size"), call.tensor("x")
    if size is None or min(size, default=0) < 0:
        return None
    value = None if x else call.attribute("value")
    natural = "BOOL" if isinstance(value, bool) else "INT64" if isinstance(value, int) else _DEFAULT_FLOAT
    return _fill(call, call.tensor_of(size, call.dtype("dtype") or (x.dtype if x else natural)))


def create_like(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a new, filled tensor of the shape of ``x``."""
    (x,) = call.tensors("x")
    return _fill(call, tensor_like(x, dtype=call.dtype("dtype")))


def wrap(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a 0-dim tensor that holds a number."""
    known = isinstance(call.attribute("value"), (bool, int, float))
    return _fill(call, scalar(call.dtype("dtype") or _DEFAULT_FLOAT)) if known else None


def arange(call: AtenCall) -> KernelPlan | None:
    """
    Return the plan of a range, whose bounds follow from the number of arguments.

    They are ``(end, ...)``, ``(start, end, ...)`` or ``(start, end, step, ...)``. The form that PyTorch calls inside
    has the result as its last argument.
    """
    arguments = len(call.signature.inputs)
    out = call.signature.tensor(arguments - 1) if arguments else None
    # Behind the numbers stand dtype, layout, device and pin_memory, or the result.
    count = {2: 1, 4: 3}.get(arguments) if out is not None else arguments - 4
    if count not in (1, 2, 3):
        return None
    numbers = [v for v in map(call.attribute, range(count)) if isinstance(v, (int, float)) and math.isfinite(v)]
    if len(numbers) != count:
        return None
    start, end = (0, numbers[0]) if count == 1 else numbers[:2]
    step = numbers[2] if count > 2 else 1
    whole = all(isinstance(value, int) for value in (start, end, step))
    dtype = out.dtype if out is not None else call.dtype(count) or ("INT64" if whole else _DEFAULT_FLOAT)
    length = max(int(-((start - end) // step)), 0) if step else 0
    # Bounds are handed over as INT64 or DOUBLE scalars (measured).
    bound = scalar("INT64" if dtype.startswith("INT") else "DOUBLE")
    result = call.tensor_of((length,), dtype)
    return call.plan(call.kernel("Range", [bound] * 3, [result], cost=2, over=length, read=0))


def linspace(call: AtenCall) -> KernelPlan | None:
    """Return the plan of evenly spaced numbers."""
    count = call.attribute("count")
    if not isinstance(count, int) or count < 0:
        return None
    dtype = call.dtype("dtype") or _DEFAULT_FLOAT
    bounds = [scalar(dtype), scalar(dtype), scalar("INT64")]
    return call.plan(call.main_kernel(bounds, [call.tensor_of((count,), dtype)], over=count, read=0))


def random(call: AtenCall) -> KernelPlan | None:
    """Return the plan of random numbers of any distribution, which the DSA engine draws."""
    return call.plan(call.main_kernel([], call.tensors("x"), task=TaskType.DSA, cost=0))


def permutation(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a random permutation, on the AI CPU."""
    length = call.attribute("length")
    if not isinstance(length, int) or length < 0:
        return None
    return call.plan(call.main_kernel([], [call.tensor_of((length,), "INT64")], task=TaskType.AI_CPU))


def multinomial(call: AtenCall) -> KernelPlan | None:
    """Return the plan of drawing ``count`` samples from each row, on the AI CPU."""
    (x,), count = call.tensors("x"), call.attribute("count")
    if not isinstance(count, int) or count < 0:
        return None
    out = call.tensor_of((*x.shape[:-1], count), "INT64")
    return call.plan(call.main_kernel([x], [out], task=TaskType.AI_CPU))


def dropout(call: AtenCall) -> KernelPlan | None:
    """Return the plan of dropout in training: PyTorch's CPU draws and multiplies, an NPU draws bits and masks."""
    active = call.attribute("train") is True and 0 < call.number("share", 0.0) < 1
    return _drop(call) if active else KernelPlan(claims=False)


def native_dropout(call: AtenCall) -> KernelPlan | None:
    """Return the plan of dropout, which drops unless ``train`` is False."""
    return KernelPlan(claims=False) if call.attribute("train") is False else _drop(call)


def dropout_gradient(call: AtenCall) -> KernelPlan | None:
    """Return the plan of the gradient of dropout: the bits that were drawn mask it."""
    (dy,) = call.tensors("dy")
    inputs = [dy, drop_mask(dy.elements), TensorDesc((1,), dy.dtype)]
    return call.plan(call.main_kernel(inputs, [dy], over=dy.elements))


def _drop(call: AtenCall) -> KernelPlan:
    (x,) = call.tensors("x")
    mask = drop_mask(x.elements)
    draw = call.under("aclnnDropoutGenMaskV2").kernel("DSAGenBitMask", [], [mask], task=TaskType.DSA, cost=0)
    return call.plan(draw, call.main_kernel([x, mask, TensorDesc((1,), x.dtype)], [x], over=x.elements))


def _fill(call: AtenCall, out: TensorDesc) -> KernelPlan:
    """Return the plan of a fill; the kernels ZerosLike and OnesLike list the tensor as input but read nothing."""
    dims = TensorDesc((max(len(out.shape), 1),), "INT64")
    inputs = [dims, scalar(out.dtype)] if call.binding.kernel == "Fill" else [out]
    return call.plan(fill_kernel(call, inputs, out))


NAMES: Final = (
    Named(fill, "x!", "zero_=InplaceZero:ZerosLike"),
    Named(fill_with, "x! value", "fill_=InplaceFillScalar:Fill"),
    Named(create, "size dtype", "zeros=InplaceZero:ZerosLike ones=InplaceOne:OnesLike"),
    Named(create, "size value dtype", "full=InplaceFillScalar:Fill"),
    Named(create, "x! size dtype", "new_zeros=InplaceZero:ZerosLike new_ones=InplaceOne:OnesLike"),
    Named(create, "x! size value dtype", "new_full=InplaceFillScalar:Fill"),
    Named(create_like, "x! dtype", "zeros_like=InplaceZero:ZerosLike ones_like=InplaceFillScalar:Fill"),
    Named(create_like, "x! value dtype", "full_like=InplaceFillScalar:Fill"),
    Named(wrap, "value dtype", "scalar_tensor=InplaceFillScalar:Fill"),
    Named(arange, "", "arange=Arange:Range"),
    Named(linspace, "start end count dtype", "linspace=Linspace:LinSpace*2"),
    Named(
        random,
        "x!",
        "normal_=InplaceNormal:DSARandomNormal uniform_=InplaceUniform:DSARandomUniform "
        "random_=InplaceRandom:DSARandomUniform bernoulli_=InplaceBernoulli:DSARandomUniform "
        "bernoulli=Bernoulli:DSARandomUniform exponential_=InplaceExponential:DSARandomUniform",
    ),
    Named(permutation, "length", "randperm=Randperm:StatelessRandperm*8"),
    Named(multinomial, "x! count", "multinomial=Multinomial:MultinomialWithReplacement*4"),
    Named(dropout, "x! share train", "dropout=DropoutDoMask:DropOutDoMask*2"),
    Named(native_dropout, "x! share train", "native_dropout=DropoutDoMask:DropOutDoMask*2"),
    Named(dropout_gradient, "dy! mask!", "native_dropout_backward=DropoutDoMask:DropOutDoMask*2"),
)
