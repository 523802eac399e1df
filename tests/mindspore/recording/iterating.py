"""
Scripts whose steps nothing but the compiled graphs tells: ``python iterating.py <jit level>``.

Each way of training or predicting leaves a run in a folder of its name; what a step is follows in ``test_iterations``.
"""

from __future__ import annotations

import sys

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import Profiler, Tensor, nn, ops
from mindspore.train import Callback

BATCHES, EPOCHS = 3, 2


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.relu, self.last = nn.Dense(8, 8), nn.ReLU(), nn.Dense(8, 4)

    def construct(self, x):
        return self.last(self.relu(self.first(x)))


class StopAtStep(Callback):
    def __init__(self, start, stop, folder):
        super().__init__()
        self.start, self.stop = start, stop
        self.profiler = Profiler(start_profile=False, output_path=folder)

    def step_begin(self, run_context):
        if run_context.original_args().cur_step_num == self.start:
            self.profiler.start()

    def step_end(self, run_context):
        if run_context.original_args().cur_step_num == self.stop:
            self.profiler.stop()

    def end(self, run_context):
        self.profiler.analyse()


class StopAtEpoch(StopAtStep):
    def step_begin(self, run_context):
        pass

    def step_end(self, run_context):
        pass

    def epoch_begin(self, run_context):
        if run_context.original_args().cur_epoch_num == self.start:
            self.profiler.start()

    def epoch_end(self, run_context):
        if run_context.original_args().cur_epoch_num == self.stop:
            self.profiler.stop()


def rows():
    for number in range(2 * BATCHES):
        yield np.ones([8], np.float32), np.int32(number % 4)


def data():
    return ds.GeneratorDataset(rows, ["x", "y"], shuffle=False).batch(2)


X, Y = np.ones([2, 8], np.float32), np.array([0, 1], np.int32)
LOSS = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")


def parts():
    network = Net()
    return network, nn.Momentum(network.trainable_params(), 0.1, 0.9)


def model(**options):
    network, optimizer = parts()
    return ms.Model(network, LOSS, optimizer, metrics={"acc"}, **options)


def forward_of(network):
    def forward(x, y):
        return LOSS(network(x), y)

    return forward


def train():
    model().train(EPOCHS, data())


def fit():
    model().fit(EPOCHS, data(), data())


def sink():
    model().train(EPOCHS, data(), dataset_sink_mode=True)


class Steps(Callback):
    def step_end(self, run_context):
        print("step", run_context.original_args().cur_step_num)


def sink_size():
    model().train(EPOCHS, data(), dataset_sink_mode=True, sink_size=2, callbacks=[Steps()])


def loss_scale():
    model(amp_level="O2", loss_scale_manager=ms.DynamicLossScaleManager(2**10, 2, 100)).train(EPOCHS, data())


def loop():
    network, optimizer = parts()
    step = nn.TrainOneStepCell(nn.WithLossCell(network, LOSS), optimizer)
    step.set_train()
    for _ in range(5):
        step(Tensor(X), Tensor(Y))


def predict():
    network = Net()
    for _ in range(4):
        network(Tensor(X))


def jit():
    network, optimizer = parts()
    gradients = ops.value_and_grad(forward_of(network), None, optimizer.parameters)

    @ms.jit
    def step(x, y):
        loss, changes = gradients(x, y)
        return ops.depend(loss, optimizer(changes))

    for _ in range(5):
        step(Tensor(X), Tensor(Y))


def eager():
    network, optimizer = parts()
    gradients = ops.value_and_grad(forward_of(network), None, optimizer.parameters)
    for _ in range(3):
        optimizer(gradients(Tensor(X), Tensor(Y))[1])


def profiled(work, folder="", **options):
    profiler = Profiler(output_path=folder or work.__name__)
    work()
    profiler.analyse(**options)


def main(level):
    ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": level})
    for work in (train, fit, sink, sink_size, loss_scale, loop, predict):
        profiled(work)
    model().train(EPOCHS, data(), callbacks=[StopAtStep(2, 5, "stop_at_step")])
    model().train(EPOCHS, data(), dataset_sink_mode=True, callbacks=[StopAtEpoch(2, 2, "stop_at_epoch")])
    profiled(train, "three_steps", step_list=[2, 3, 4])
    ms.set_context(mode=ms.PYNATIVE_MODE)
    for work in (jit, eager):
        profiled(work)


if __name__ == "__main__":
    main(*sys.argv[1:])
