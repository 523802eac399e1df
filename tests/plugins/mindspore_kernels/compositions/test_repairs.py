"""Steps whose kernels are repaired: what was right before keeps its bits, what was not is what the formula says."""

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

ms.set_context(mode=getattr(ms, f"{sys.argv[1]}_MODE"), device_target=sys.argv[2])


def trained(optimizer, *rates, **options):
    ms.set_seed(7)
    network = nn.Dense(6, 3)
    draw = np.random.default_rng(3).normal
    network.weight.set_data(ms.Tensor(draw(size=(3, 6)).astype(np.float32)))
    step = optimizer(network.trainable_params(), *rates, **options)
    cell = nn.TrainOneStepCell(nn.WithLossCell(network, nn.MSELoss()), step).set_train()
    batch = [ms.Tensor(draw(size=(5, width)).astype(np.float32)) for width in (6, 3)]
    for _ in range(4):
        cell(*batch)
    return network.weight.asnumpy().tobytes().hex()


print("plain=" + json.dumps([trained(nn.RMSProp, 0.1), trained(nn.RMSProp, 0.1, centered=True), trained(nn.Adagrad)]))
weight = ms.Parameter(ms.Tensor([0.5, -1.0, 2.0]), name="weight")
step = nn.Adagrad([weight], accum=0.25, learning_rate=0.1, update_slots=False)
for gradient in ([1.0, 2.0, -1.0], [3.0, 0.5, 1.0]):
    step((ms.Tensor(gradient),))
print("weight=" + json.dumps(weight.asnumpy().tolist()))
"""


@pytest.mark.parametrize("mode", ["PYNATIVE", "GRAPH"])
def test_repaired_steps_train_like_those_of_the_cpu_and_keep_sums_that_stay(mode: str, scripts: Any) -> None:
    served = scripts.simulated(SCRIPT, mode, "Ascend")
    plain = scripts(SCRIPT, mode, "CPU")
    assert served.printed("plain") == plain.printed("plain")
    moved = np.array([0.5, -1.0, 2.0]) - 0.1 * np.array([4.0, 2.5, 0.0]) / 0.5
    np.testing.assert_allclose(served.printed("weight"), moved, rtol=1e-5)
    assert abs(np.array(plain.printed("weight")) - moved).max() > 0.1
