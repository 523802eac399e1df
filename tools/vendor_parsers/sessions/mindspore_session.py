"""
Two steps of a small network and what a step of PyNative adds, with marks.

    drynpu run mindspore_session.py FOLDER LEVEL [METRICS]
"""

from __future__ import annotations

import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops
from mindspore.profiler import (
    AicoreMetrics,
    ProfilerActivity,
    ProfilerLevel,
    _ExperimentalConfig,
    mstx,
    profile,
    schedule,
    tensorboard_trace_handler,
)

LEVELS = {"l0": ProfilerLevel.Level0, "l1": ProfilerLevel.Level1, "l2": ProfilerLevel.Level2}
STEPS = 2


class Network(nn.Cell):
    """Two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Dense(48, 96, activation="relu"), nn.Dense(96, 7)

    def construct(self, features: Tensor) -> Tensor:
        """Return the scores of each row."""
        return self.second(self.first(features))


def main() -> None:
    """Record."""
    folder, level, *metrics = sys.argv[1:]
    counters = AicoreMetrics(metrics[0]) if metrics and metrics[0] else AicoreMetrics.AiCoreNone
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_device("Ascend")
    ms.set_seed(1)
    network = Network()
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(network.trainable_params(), 0.1, 0.9)
    step = nn.TrainOneStepCell(nn.WithLossCell(network, loss), optimizer).set_train()
    features, labels = Tensor(np.ones((20, 48), np.float32)), Tensor(np.arange(20, dtype=np.int32) % 7)
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.NPU],
        profile_memory=True,
        schedule=schedule(wait=0, active=STEPS, repeat=1),
        on_trace_ready=tensorboard_trace_handler(folder),
        experimental_config=_ExperimentalConfig(profiler_level=LEVELS[level], aic_metrics=counters, mstx=True),
    ) as profiler:
        for number in range(STEPS):
            around = mstx.range_start(f"step {number}")
            step(features, labels)
            mstx.mark(f"loss {number}")
            mstx.range_end(around)
            ms.set_context(mode=ms.PYNATIVE_MODE)
            (ops.matmul(features, Tensor(np.ones((48, 33), np.float32))) + 1).asnumpy()
            ms.set_context(mode=ms.GRAPH_MODE)
            profiler.step()


if __name__ == "__main__":
    main()
