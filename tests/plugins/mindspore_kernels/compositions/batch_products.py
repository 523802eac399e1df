"""Multiplies batches of different sizes in a network, as rotary embeddings do, and prints how far NumPy is."""

from __future__ import annotations

import json
import sys

import mindspore as ms
import numpy as np
from mindspore import nn, ops
from mindspore.profiler import profile, tensorboard_trace_handler

# Shapes of both, and which are transposed; in the last pair the batches are equal.
PAIRS = (
    ((2, 3, 4, 6), (5, 6), False, True),
    ((2, 3, 4, 6), (3, 6, 5), False, False),
    ((1, 3, 6, 4), (2, 1, 6, 5), True, False),
    ((3, 6, 4), (6, 5), True, False),
    ((4, 6), (2, 3, 6, 5), False, False),
    ((2, 3, 4, 6), (2, 3, 6, 5), False, False),
)
ms.set_context(mode=getattr(ms, f"{sys.argv[1]}_MODE"), device_target="Ascend")
random = np.random.default_rng(4)


def normal(shape):
    return ms.Tensor(random.normal(size=shape).astype(np.float32))


class Product(nn.Cell):
    def __init__(self, shape, left, right):
        super().__init__()
        self.product = ops.BatchMatMul(left, transpose_b=right).add_prim_attr("note", 1)
        self.weight = ms.Parameter(normal(shape), name="weight")

    def construct(self, x):
        return self.product(x, self.weight)


class Weighted(nn.Cell):
    """The sum of a product times a slope, whose gradient is not the same everywhere."""

    def __init__(self, net, slope):
        super().__init__()
        self.net, self.slope = net, slope

    def construct(self, x):
        return (self.net(x) * self.slope).sum()


def turned(values, transposed):
    return values.swapaxes(-1, -2) if transposed else values


found = []
with profile(on_trace_ready=tensorboard_trace_handler("profiled")):
    for x_shape, y_shape, left, right in PAIRS:
        net, x = Product(y_shape, left, right), normal(x_shape)
        slope = random.normal(size=np.matmul(turned(x.asnumpy(), left), turned(net.weight.asnumpy(), right)).shape)
        factor = ms.Tensor(slope.astype(np.float32))

        dx, (dy,) = ms.grad(Weighted(net, factor), 0, net.trainable_params())(x)
        a, b = turned(x.asnumpy(), left), turned(net.weight.asnumpy(), right)
        da, db = factor.asnumpy() @ b.swapaxes(-1, -2), a.swapaxes(-1, -2) @ factor.asnumpy()
        expected = []
        for gradient, shape, transposed in ((da, x_shape, left), (db, y_shape, right)):
            gradient = turned(gradient, transposed)
            gradient = gradient.sum(axis=tuple(range(gradient.ndim - len(shape))))
            axes = tuple(axis for axis, size in enumerate(shape) if size == 1 != gradient.shape[axis])
            expected.append(gradient.sum(axis=axes, keepdims=True))
        pairs = ((net(x), a @ b), (dx, expected[0]), (dy, expected[1]))
        found.append([float(np.abs(one.asnumpy() - other).max()) for one, other in pairs])
print("found=" + json.dumps(found))
