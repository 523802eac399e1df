"""
Trains a small network in a loop of its own (PyNative), and profiles two cycles of its steps by a schedule.

    drynpu run examples/mindspore/train_schedule.py

Every cycle leaves a directory. Needs MindSpore (pip install 'drynpu[mindspore]') and nothing of drynpu: on a machine
with an NPU it runs as it is.
"""

import argparse

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import nn
from mindspore.profiler import (
    AicoreMetrics,
    ExportType,
    ProfilerActivity,
    ProfilerLevel,
    _ExperimentalConfig,
    mstx,
    profile,
    schedule,
    tensorboard_trace_handler,
)

ROWS, SIDE, CLASSES = 8, 12, 4


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(1, 8, 3, pad_mode="valid", has_bias=True)
        self.norm = nn.BatchNorm2d(8)
        self.relu = nn.ReLU()
        self.flatten = nn.Flatten()
        self.dense = nn.Dense(8 * (SIDE - 2) ** 2, CLASSES)

    def construct(self, x):
        return self.dense(self.flatten(self.relu(self.norm(self.convolution(x)))))


def images(count):
    random = np.random.default_rng(1)
    for _ in range(count):
        image = random.normal(size=(1, SIDE, SIDE)).astype(np.float32)
        yield image, np.int32(image.mean() > 0)


parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=8)
parser.add_argument("--output", default="./demo_out")
arguments = parser.parse_args()

ms.set_context(mode=ms.PYNATIVE_MODE)
ms.set_device("Ascend", 0)
ms.set_seed(1)
net = Net()
loss_of = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
optimizer = nn.Adam(net.trainable_params(), learning_rate=2e-3)
gradients_of = ms.value_and_grad(lambda x, y: loss_of(net(x), y), None, optimizer.parameters)
pictures = ds.GeneratorDataset(lambda: images(arguments.steps * ROWS), ["image", "label"], shuffle=False)
batches = pictures.map(lambda image: image * 2, ["image"]).batch(ROWS)

with profile(
    activities=[ProfilerActivity.CPU, ProfilerActivity.NPU],
    with_stack=True,
    record_shapes=True,
    schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
    on_trace_ready=tensorboard_trace_handler(arguments.output),
    experimental_config=_ExperimentalConfig(
        profiler_level=ProfilerLevel.Level1,
        aic_metrics=AicoreMetrics.PipeUtilization,
        export_type=[ExportType.Text, ExportType.Db],
        mstx=True,
    ),
) as prof:
    for step, (x, y) in enumerate(batches.create_tuple_iterator(num_epochs=1)):
        training = mstx.range_start("training")
        loss, gradients = gradients_of(x, y)
        optimizer(gradients)
        mstx.range_end(training)
        print("step", step, "loss", f"{float(loss.asnumpy()):.9f}")
        prof.step()
