"""What calls of docs/lists/mindspore-primitives may use besides MindSpore: functions, parameters, sparse tensors."""

from __future__ import annotations

from typing import Any

import mindspore as ms
from mindspore import ops

squared = ops.MultitypeFuncGraph("squared")


@squared.register("Tensor")
def _square(x: Any) -> Any:
    return x * x


def registered(functions: Any) -> Any:
    """Return overloaded functions with one that doubles tensors."""

    @functions.register("Tensor")
    def double(x: Any) -> Any:
        return 2 * x

    return functions


def subtracted(x: Any, y: Any) -> Any:
    """Return a difference."""
    return x - y


def parameter(x: Any) -> Any:
    """Return a parameter that starts as a tensor."""
    return ms.Parameter(x.copy(), name="parameter")


def coo(values: Any) -> Any:
    """Return a sparse tensor of four numbers by their places."""
    return ms.COOTensor(ms.Tensor([[0, 3], [1, 0], [1, 2], [3, 1]]), values, (4, 4))


def csr(values: Any) -> Any:
    """Return a sparse tensor of four numbers by rows: in the first, twice in the second and in the last."""
    starts, columns = ms.Tensor([0, 1, 3, 3, 4], ms.int32), ms.Tensor([3, 0, 2, 1], ms.int32)
    return ms.CSRTensor(starts, columns, values, (4, 4))


def after_step(step: Any, states: Any, *arguments: Any) -> Any:
    """Return the first of several parameters after a step that changes them, whatever the step returns."""
    parameters = [ms.Parameter(each.copy(), name=f"state{place}") for place, each in enumerate(states)]
    step(*parameters, *arguments)
    return parameters[0]


def hooked(x: Any) -> Any:
    """Return a sum of squares whose gradient a hook triples."""
    return (ops.HookBackward(lambda gradients: 3 * gradients[0])(x) ** 2).sum()


def _between(gradient: Any) -> Any:
    return ops.clip_by_value(gradient, ms.Tensor(-1.0), ms.Tensor(1.0))


clipping = ops.InsertGradientOf(_between)


def clipped(x: Any) -> Any:
    """Return a sum of squares whose gradient stays between -1 and 1."""
    return (clipping(x) ** 2).sum()
