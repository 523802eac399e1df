"""Train two steps of a small network with MindSpore; the argument chooses PyNative with a schedule, or a graph."""

from __future__ import annotations

import sys

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import nn, ops
from mindspore.profiler import (
    AicoreMetrics,
    ExportType,
    HostSystem,
    ProfilerActivity,
    ProfilerLevel,
    _ExperimentalConfig,
    mstx,
    profile,
    schedule,
    tensorboard_trace_handler,
)

GRAPH = sys.argv[1] == "graph"


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(1, 4, 3, pad_mode="valid", has_bias=True)
        self.norm = nn.BatchNorm2d(4)
        self.dense = nn.Dense(4 * 36, 5)

    def construct(self, x):
        return self.dense(ops.flatten(ops.relu(self.norm(self.convolution(x)))))


def images():
    random = np.random.default_rng(1)
    for _ in range(16):
        image = random.normal(size=(1, 8, 8)).astype(np.float32)
        yield image, np.int32(image.mean() > 0)


ms.set_context(mode=ms.GRAPH_MODE if GRAPH else ms.PYNATIVE_MODE)
ms.set_device("Ascend", 0)
ms.set_seed(1)
net = Net()
loss_of = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
optimizer = nn.Adam(net.trainable_params(), learning_rate=2e-3)
cell = nn.TrainOneStepCell(nn.WithLossCell(net, loss_of), optimizer)
gradients_of = ms.value_and_grad(lambda x, y: loss_of(net(x), y), None, optimizer.parameters)
pictures = ds.GeneratorDataset(images, ["image", "label"], shuffle=False)
batches = pictures.map(lambda image: image * 2, ["image"]).batch(4)

with profile(
    activities=[ProfilerActivity.CPU, ProfilerActivity.NPU],
    with_stack=True,
    record_shapes=True,
    profile_memory=True,
    data_process=True,
    pcie=True,
    hbm_ddr=True,
    schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
    on_trace_ready=tensorboard_trace_handler("out", worker_name="worker", analyse_flag=False),
    experimental_config=_ExperimentalConfig(
        profiler_level=ProfilerLevel.Level2,
        aic_metrics=AicoreMetrics.Memory,
        l2_cache=True,
        mstx=True,
        host_sys=[HostSystem.CPU, HostSystem.MEM],
        export_type=[ExportType.Text, ExportType.Db],
        data_simplification=False,
    ),
) as prof:
    for x, y in batches.create_tuple_iterator(num_epochs=1):
        training = mstx.range_start("training")
        if GRAPH:
            cell(x, y)
        else:
            loss, gradients = gradients_of(x, y)
            optimizer(gradients)
            loss.asnumpy()
        mstx.range_end(training)
        prof.step()
