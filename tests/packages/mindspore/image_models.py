"""
Builds image models of MindCV and trains each for a step: ``image_models.py MODE NAME...``.

Prints a line ``NAME=loss`` for each, and leaves a profile of each below ``profiled``.
"""

from __future__ import annotations

import json
import sys

import mindcv
import mindspore as ms
import numpy as np
from mindspore import nn
from mindspore.profiler import ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler

CLASSES = 10


def main(mode, *names):
    ms.set_context(mode=getattr(ms, f"{mode}_MODE"), device_target="Ascend")
    random = np.random.default_rng(0)
    x = ms.Tensor(random.normal(size=(2, 3, 224, 224)).astype(np.float32))
    labels = ms.Tensor(np.array([1, 3], np.int32))
    config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1)
    for name in names:
        network = mindcv.create_model(name, num_classes=CLASSES)
        optimizer = nn.Momentum(network.trainable_params(), 0.01, 0.9)
        step = nn.TrainOneStepCell(nn.WithLossCell(network, nn.CrossEntropyLoss()), optimizer)
        step.set_train()
        with profile(experimental_config=config, on_trace_ready=tensorboard_trace_handler(f"profiled/{name}")):
            loss = float(step(x, labels).asnumpy())
        print(f"{name}={json.dumps(loss)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
