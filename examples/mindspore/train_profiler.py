"""
Trains a small network with MindSpore, and profiles some of its steps from a callback.

    drynpu run examples/mindspore/train_profiler.py

Needs MindSpore (pip install 'drynpu[mindspore]') and nothing of drynpu: on a machine with an NPU it runs as it is.
"""

import argparse

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import Profiler, nn
from mindspore.profiler import ProfilerActivity, ProfilerLevel
from mindspore.train import Callback, LossMonitor, Model

ROWS, WIDTH, CLASSES = 64, 16, 3


class ProfiledSteps(Callback):
    """Turns the profiler on before the first step given and off after the last."""

    def __init__(self, first, last, output):
        super().__init__()
        self.first, self.last = first, last
        self.profiler = Profiler(
            start_profile=False,
            output_path=output,
            profiler_level=ProfilerLevel.Level1,
            activities=[ProfilerActivity.CPU, ProfilerActivity.NPU],
        )

    def on_train_step_begin(self, run_context):
        if run_context.original_args().cur_step_num == self.first:
            self.profiler.start()

    def on_train_step_end(self, run_context):
        if run_context.original_args().cur_step_num == self.last:
            self.profiler.stop()

    def on_train_end(self, run_context):
        self.profiler.analyse()


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.SequentialCell(nn.Dense(WIDTH, 64), nn.ReLU(), nn.Dense(64, CLASSES))

    def construct(self, x):
        return self.layers(x)


def rows(steps):
    random = np.random.default_rng(1)
    for _ in range(steps):
        x = random.normal(size=(ROWS, WIDTH)).astype(np.float32)
        yield x, x[:, :CLASSES].argmax(1).astype(np.int32)


parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=6)
parser.add_argument("--output", default="./demo_out")
arguments = parser.parse_args()

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend")
ms.set_seed(1)
net = Net()
loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
model = Model(net, loss, nn.Momentum(net.trainable_params(), 0.1, 0.9))
data = ds.GeneratorDataset(list(rows(arguments.steps)), ["data", "label"], shuffle=False)
model.train(1, data, callbacks=[LossMonitor(), ProfiledSteps(2, 4, arguments.output)], dataset_sink_mode=False)
