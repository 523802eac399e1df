"""
Trains a small network with MindSpore, and profiles some of its steps, or one of its epochs, from a callback.

    drynpu run examples/mindspore/train_profiler.py
    drynpu run examples/mindspore/train_profiler.py --by epoch

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


class Profiled(Callback):
    """Holds the profiler, which records nothing before a subclass starts it, and analyses in the end."""

    def __init__(self, first, last, output):
        super().__init__()
        self.first, self.last = first, last
        self.profiler = Profiler(
            start_profile=False,
            output_path=output,
            profiler_level=ProfilerLevel.Level1,
            activities=[ProfilerActivity.CPU, ProfilerActivity.NPU],
        )

    def on_train_end(self, run_context):
        self.profiler.analyse()


class ProfiledSteps(Profiled):
    """Records from the first to the last of the steps given."""

    def on_train_step_begin(self, run_context):
        if run_context.original_args().cur_step_num == self.first:
            self.profiler.start()

    def on_train_step_end(self, run_context):
        if run_context.original_args().cur_step_num == self.last:
            self.profiler.stop()


class ProfiledEpochs(Profiled):
    """Records from the first to the last of the epochs given: all that is told of where a device sinks its data."""

    def on_train_epoch_begin(self, run_context):
        if run_context.original_args().cur_epoch_num == self.first:
            self.profiler.start()

    def on_train_epoch_end(self, run_context):
        if run_context.original_args().cur_epoch_num == self.last:
            self.profiler.stop()


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
parser.add_argument("--by", choices=["step", "epoch"], default="step")
parser.add_argument("--steps", type=int, default=6, help="of an epoch")
parser.add_argument("--output", default="./demo_out")
arguments = parser.parse_args()

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend")
ms.set_seed(1)
net = Net()
loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
model = Model(net, loss, nn.Momentum(net.trainable_params(), 0.1, 0.9))
data = ds.GeneratorDataset(list(rows(arguments.steps)), ["data", "label"], shuffle=False)
if arguments.by == "step":
    model.train(1, data, [LossMonitor(), ProfiledSteps(2, 4, arguments.output)], dataset_sink_mode=False)
else:
    model.train(3, data, [LossMonitor(), ProfiledEpochs(2, 2, arguments.output)], dataset_sink_mode=True)
