"""What drynpu knows of one operator of torch_npu."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import torch
from attrs import field, frozen

from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import Launch

Compute: TypeAlias = Callable[..., Any]
"""Computes results; its parameters are those arguments of the schema that it needs, by name, or the whole call."""


FLOATS: Final = "float32, float16"
SIXTEEN_BITS: Final = "float16, bfloat16"
"""Types of operators that take no others, as :class:`NpuOperator` lists them."""

Launches: TypeAlias = Callable[[Call], Iterable[Launch]]
"""States the kernels of a call."""


@frozen(kw_only=True)
class Gradient:
    """
    How an operator is differentiated.

    Attributes
    ----------
    compute:
        Takes the call, with the kept tensors alone, and one gradient for each result; returns gradients by argument.
    keeps:
        Names of the tensor arguments, and positions of the tensors among the results, that the backward pass needs.
    outputs:
        Positions of the results that are differentiable.
    """

    compute: Callable[..., Mapping[str, torch.Tensor | None]]
    keeps: tuple[str | int, ...]
    outputs: tuple[int, ...] = (0,)


@frozen(kw_only=True)
class NpuOperator:
    """
    One operator.

    Attributes
    ----------
    compute:
        Computes the results on the CPU, and their shapes on the device ``meta`` unless there is ``shapes``.
    kernels:
        States the kernels of a call.
    shapes:
        Makes the results on the device ``meta`` where they are not to be had by computing: counts that only the
        contents of tensors tell.
    left_out:
        Arguments that have to keep their defaults, because what they change is not computed.
    """

    compute: Compute
    kernels: Launches
    gradient: Gradient | None = None
    shapes: Compute | None = None
    left_out: tuple[str, ...] = ()
    dtypes: str = field(default="float32, float16, bfloat16")
    """Types of the tensors, as docs/torch-operators.md shows them."""
