"""
The batch norm with statistics of several devices, as MindSpore's graph passes split it.

``SyncBatchNorm`` becomes BNTrainingReduce, an all-reduce and a product for each of its two sums, and BNTrainingUpdate.
Its gradient becomes BNTrainingUpdateGrad, the same again, and BNTrainingReduceGrad (``SyncBnSplit`` and
``SyncBnGradSplit`` in ``ir_fission/bn_split.cc`` and ``bn_grad_split.cc`` of MindSpore).
"""

from __future__ import annotations

from typing import Any, Final

import mindspore as ms
from mindspore import nn, ops
from mindspore.ops.operations import _grad_ops
from mindspore.ops.primitive import Primitive

from drynpu.device.collectives import WORLD_GROUP

_FORMAT: Final = 0
"""NCHW in MindSpore's enumeration ``FormatEnum``: an argument of the two forward primitives."""


def _primitive(name: str, **attributes: Any) -> Any:
    """Return a primitive whose class in MindSpore 2.7.2 does not have the arguments that it infers results from."""
    primitive = Primitive(name)
    for attribute, value in attributes.items():
        primitive.add_prim_attr(attribute, value)
    return primitive


class SyncBatchNorm(nn.Cell):  # type: ignore[misc]
    """
    Stands for the primitive ``SyncBatchNorm``: takes its arguments, and returns its five results.

    Gradients of scale and offset are means over the devices, as its own are.
    """

    def __init__(
        self, epsilon: float = 1e-5, momentum: float = 0.1, group: str | None = None, device_num: int = 2
    ) -> None:
        super().__init__()
        self.part = ms.Tensor(1 / device_num, ms.float32)
        self.sums, self.all_reduce = _primitive("BNTrainingReduce"), ops.AllReduce("sum", group or WORLD_GROUP)
        self.update = _primitive("BNTrainingUpdate", epsilon=epsilon, factor=momentum, isRef=True, side_effect_mem=True)
        self.gradient_sums = _grad_ops.BNTrainingUpdateGrad(epsilon)
        self.gradient = _grad_ops.BNTrainingReduceGrad(epsilon)

    def construct(self, x: Any, scale: Any, offset: Any, mean: Any, variance: Any) -> Any:
        total, squares = self.sums(x, _FORMAT)
        total, squares = self.all_reduce(total) * self.part, self.all_reduce(squares) * self.part
        return self.update(x, total, squares, scale, offset, mean, variance, _FORMAT)

    def bprop(
        self,
        x: Any,
        scale: Any,
        offset: Any,  # noqa: ARG002 - MindSpore passes all arguments by position
        mean: Any,
        variance: Any,
        out: Any,
        dout: Any,
    ) -> Any:
        dscale, doffset = self.gradient_sums(dout[0], x, out[3], out[4])
        dscale, doffset = self.all_reduce(dscale) * self.part, self.all_reduce(doffset) * self.part
        dx = self.gradient(dout[0], x, dscale, doffset, scale, out[3], out[4])
        return dx, dscale, doffset, ops.zeros_like(mean), ops.zeros_like(variance)
