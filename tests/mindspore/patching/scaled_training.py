"""
Run under ``drynpu run``: eight steps of one layer with a dynamic loss scale, through ``Model`` and through the cell.

``scaled_training.py MODE OUT.pickle``; OUT gets, for both, loss, whether there was an overflow, and the scale after it.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import nn
from mindspore.amp import DynamicLossScaleManager
from mindspore.train import Callback, Model

SCALE, WINDOW, RATE, MOMENTUM, BATCH = 2.0**18, 2, 0.05, 0.9, 8


def data() -> tuple[Any, Any, Any]:
    """Return inputs, results and the first weight."""
    rng = np.random.default_rng(7)
    arrays = (rng.normal(size=shape).astype(np.float32) for shape in ((32, 6), (32, 1), (1, 6)))
    x, y, weight = arrays
    return x, y, weight


class Collect(Callback):
    def __init__(self) -> None:
        super().__init__()
        self.steps: list[list[float]] = []

    def on_train_step_end(self, run_context: Any) -> None:
        self.steps.append([float(each.asnumpy()) for each in run_context.original_args().net_outputs])


class Loss(nn.Cell):
    def __init__(self, net: Any) -> None:
        super().__init__()
        self.net, self.loss = net, nn.MSELoss()

    def construct(self, x: Any, y: Any) -> Any:
        return self.loss(self.net(x).astype(ms.float32), y)


def layer() -> Any:
    return nn.Dense(6, 1, ms.Tensor(data()[2]), has_bias=False)


def main(mode: str, out: str) -> None:
    ms.set_context(mode=getattr(ms, f"{mode}_MODE"), device_target="Ascend")
    x, y, _ = data()
    rows, net = ds.NumpySlicesDataset((x, y), ["x", "y"], shuffle=False).batch(BATCH), layer()
    manager = DynamicLossScaleManager(init_loss_scale=SCALE, scale_factor=2, scale_window=WINDOW)
    optimizer, seen = nn.Momentum(net.trainable_params(), RATE, MOMENTUM), Collect()
    model = Model(net, nn.MSELoss(), optimizer, amp_level="O2", loss_scale_manager=manager)
    model.train(2, rows, callbacks=[seen], dataset_sink_mode=False)
    other = layer().to_float(ms.float16)
    update = nn.DynamicLossScaleUpdateCell(SCALE, 2, WINDOW)
    optimizer = nn.Momentum(other.trainable_params(), RATE, MOMENTUM)
    step = nn.TrainOneStepWithLossScaleCell(Loss(other), optimizer, update).set_train()
    parts = [slice(begin, begin + BATCH) for begin in range(0, len(x), BATCH)] * 2
    stepped = [[float(each.asnumpy()) for each in step(ms.Tensor(x[part]), ms.Tensor(y[part]))] for part in parts]
    Path(out).write_bytes(pickle.dumps((seen.steps, stepped)))


if __name__ == "__main__":
    main(*sys.argv[1:])
