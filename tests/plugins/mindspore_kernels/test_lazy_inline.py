"""Cells that ``lazy_inline`` compiles once train on Ascend as plain ones do on the CPU, which refuses them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import json
import sys

import mindspore as ms
import numpy as np
from mindspore import nn

device, way = sys.argv[1:]
ms.set_context(mode=ms.GRAPH_MODE, device_target=device)
random = np.random.default_rng(2)


class Part(nn.Cell):
    def __init__(self, size):
        super().__init__()
        self.dense = nn.Dense(size, size, has_bias=False)
        self.dense.weight.set_data(ms.Tensor(random.normal(size=(size, size)).astype(np.float32)))

    if way == "once":
        __init__ = ms.lazy_inline(__init__)

    def construct(self, x):
        return self.dense(x)


network = nn.SequentialCell(*(Part(4) for _ in range(3)))
optimizer = nn.Momentum(network.trainable_params(), 0.001, 0.9)
train = nn.TrainOneStepCell(nn.WithLossCell(network, nn.MSELoss()), optimizer).set_train()
x, y = (ms.Tensor(random.normal(size=(2, 4)).astype(np.float32)) for _ in range(2))
print("losses=" + json.dumps([float(train(x, y).asnumpy()) for _ in range(3)]))
"""


def test_cells_that_are_compiled_once_train(scripts: Any) -> None:
    plain = scripts(SCRIPT, "CPU", "plain").printed("losses")
    np.testing.assert_allclose(scripts.simulated(SCRIPT, "Ascend", "once").printed("losses"), plain, rtol=1e-6)
    assert "must be a Primitive ValueNode" in scripts.simulated(SCRIPT, "CPU", "once", status=1).stderr
