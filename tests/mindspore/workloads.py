"""
Networks that MindSpore runs for real, captured.

``python workloads.py graph|pynative <file>`` writes, pickled, the captures by name: the tests of capture and rules
share the two processes.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from pathlib import Path

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import nn, ops

from drynpu_mindspore.capture import Capture, CaptureOptions

F32 = np.float32
RANDOM = np.random.default_rng(7)


class Mlp(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.drop = nn.Dense(16, 32, activation="relu"), nn.Dense(32, 4), nn.Dropout(p=0.1)

    def construct(self, x):
        return self.second(self.drop(self.first(x)))


class LeNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1, self.norm = nn.Conv2d(1, 6, 5, pad_mode="valid"), nn.BatchNorm2d(6)
        self.conv2 = nn.Conv2d(6, 8, 3, has_bias=True)
        self.relu, self.max, self.mean = nn.ReLU(), nn.MaxPool2d(2, 2), nn.AvgPool2d(2, 2)
        self.flat, self.head = nn.Flatten(), nn.Dense(8 * 6 * 6, 10)

    def construct(self, x):
        x = self.max(self.relu(self.norm(self.conv1(x))))
        return self.head(self.flat(self.mean(self.relu(self.conv2(x)))))


class Recurrent(nn.Cell):
    def __init__(self, kind):
        super().__init__()
        self.lstm = kind == "lstm"
        self.cell = nn.LSTMCell(8, 16) if self.lstm else nn.GRUCell(8, 16)
        self.head = nn.Dense(16, 4)

    def construct(self, x):
        h = ops.zeros((x.shape[0], 16), x.dtype)
        c = h
        for t in range(3):
            if self.lstm:
                h, c = self.cell(x[:, t], (h, c))
            else:
                h = self.cell(x[:, t], h)
        return self.head(h)


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.embed, self.norm1, self.norm2 = nn.Embedding(11, 16), nn.LayerNorm((16,)), nn.LayerNorm((16,))
        self.q, self.k, self.v, self.out = (nn.Dense(16, 16) for _ in range(4))
        self.up, self.gelu, self.down = nn.Dense(16, 64), nn.GELU(), nn.Dense(64, 16)
        self.head, self.softmax = nn.Dense(16, 4), nn.Softmax(-1)

    def heads(self, x):
        return x.reshape(x.shape[0], x.shape[1], 2, -1).transpose(0, 2, 1, 3)

    def construct(self, tokens):
        x = self.embed(tokens)
        y = self.norm1(x)
        q, k, v = self.heads(self.q(y)), self.heads(self.k(y)), self.heads(self.v(y))
        attention = self.softmax(ops.matmul(q, k.transpose(0, 1, 3, 2)) / 2.8284)
        x = x + self.out(ops.matmul(attention, v).transpose(0, 2, 1, 3).reshape(x.shape))
        x = x + self.down(self.gelu(self.up(self.norm2(x))))
        return self.head(x.mean(axis=1))


def images(count):
    return RANDOM.random((count, 1, 28, 28)).astype(F32)


def rows(*shape):
    return RANDOM.random(shape).astype(F32)


CASES = {
    "mlp_sgd": (Mlp, rows(8, 16), np.arange(8, dtype=np.int32) % 4, "sparse", "sgd"),
    "mlp_mse": (Mlp, rows(8, 16), rows(8, 4), "mse", "adam"),
    "lenet": (LeNet, images(2), np.arange(2, dtype=np.int32), "sparse", "momentum"),
    "lstm": (lambda: Recurrent("lstm"), rows(2, 3, 8), rows(2, 4), "mse", "adam"),
    "gru": (lambda: Recurrent("gru"), rows(2, 3, 8), np.eye(4, dtype=F32)[:2], "dense", "momentum"),
    "block": (Block, np.arange(10, dtype=np.int32).reshape(2, 5), np.arange(2, dtype=np.int32), "sparse", "adamw"),
}
OPTIMIZERS = {
    "sgd": lambda p: nn.SGD(p, 0.1, momentum=0.9),
    "momentum": lambda p: nn.Momentum(p, 0.1, 0.9),
    "adam": lambda p: nn.Adam(p, 0.1),
    "adamw": lambda p: nn.AdamWeightDecay(p, 0.1),
    "lamb": lambda p: nn.Lamb(p, 0.1),
}
LOSSES = {
    "sparse": lambda: nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"),
    "dense": lambda: nn.SoftmaxCrossEntropyWithLogits(sparse=False, reduction="mean"),
    "mse": nn.MSELoss,
}


def training(network, loss, optimizer):
    step = nn.TrainOneStepCell(
        nn.WithLossCell(network, LOSSES[loss]()), OPTIMIZERS[optimizer](network.trainable_params())
    )
    step.set_train()
    return step


def captured(capture, work, found, name, **options):
    capture.start(CaptureOptions(**options))
    begin_ns = time.time_ns()
    work()
    found[name] = (begin_ns, capture.stop(), time.time_ns())


def pipeline():
    def samples():
        for _ in range(24):
            time.sleep(0.002)
            yield rows(8, 16), np.int32(1)

    table = ds.GeneratorDataset(samples, ["x", "y"], shuffle=False)
    return table.map(lambda x: x * 2, input_columns=["x"], num_parallel_workers=2).batch(8)


def main(mode, file):
    ms.set_device("CPU")
    ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
    ds.config.set_monitor_sampling_interval(5)
    capture, found = Capture(), {}
    capture.graphs.begin()
    for name, (make, x, y, loss, optimizer) in CASES.items():
        network, x, y = make(), ms.Tensor(x), ms.Tensor(y)
        step = training(network, loss, optimizer)
        step(x, y).asnumpy()

        def twice(step=step, x=x, y=y):
            for _ in range(2):
                step(x, y).asnumpy()

        captured(capture, twice, found, name, profile_memory=True)
        if name == "mlp_sgd":
            captured(capture, twice, found, "again")
            captured(capture, twice, found, "events", host_events=True)
            captured(capture, twice, found, "calls", host_events=True, with_stack=True)
            captured(capture, twice, found, "memory", profile_memory=True)
            network.set_train(False)
            captured(capture, lambda network=network: network(ms.Tensor(rows(3, 16))).asnumpy(), found, "inference")

    def failing():
        try:
            training(Mlp(), "mse", "lamb")(ms.Tensor(rows(8, 16)), ms.Tensor(rows(8, 4))).asnumpy()
        except RuntimeError as error:
            assert "Lamb" in str(error)
        else:
            raise AssertionError("the CPU has no Lamb")

    captured(capture, failing, found, "failing")
    captured(capture, twice, found, "after_failing")
    captured(capture, lambda: None, found, "nothing")
    everything = {"data_process": True, "host_events": True}
    captured(capture, lambda: list(pipeline().create_tuple_iterator(num_epochs=1)), found, "dataset", **everything)
    captured(capture, lambda: None, found, "no_dataset", data_process=True)
    folder = Path(capture.graphs.folder)
    assert folder.is_dir()
    capture.close()
    found["left"] = (folder.exists(), os.environ.get("MS_DEV_DUMP_IR_PASSES"))
    Path(file).write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
