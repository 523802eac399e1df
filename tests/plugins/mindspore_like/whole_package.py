"""Uses each name of mindspore_like that has no profiler in it: run by test_whole_package.py."""

from __future__ import annotations

import json

import numpy as np

import mindspore_like as ms
from mindspore_like import Callback, LossMonitor, Model, RunContext, Tensor, TimeMonitor, context, ops, runtime
from mindspore_like.dataset import GeneratorDataset
from mindspore_like.profiler import ProfilerLevel, _ExperimentalConfig, mstx, profile, tensorboard_trace_handler


def show(name, value):
    print(f"{name}={json.dumps(value)}")


class Spy(Callback):
    """Notes what it is called with, and ends the training in the second step."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_train_step_end(self, run_context):
        assert isinstance(run_context, RunContext)
        told = run_context.original_args()
        self.seen.append([told.cur_step_num, float(told.net_outputs)])
        if told.cur_step_num == 2:
            run_context.request_stop()

    def on_train_end(self, run_context):
        self.seen.append(["stopped", run_context.get_stop_requested()])


ms.set_context(mode=context.GRAPH_MODE, device_target="Ascend", device_id=1)
show("context", [ms.get_context("mode") == context.GRAPH_MODE, ms.get_context("device_id")])
ms.set_device("Ascend", 0)
show("device", [ms.get_context("device_target"), context.get_context("device_id")])
ms.set_context(mode=context.PYNATIVE_MODE)
spy = Spy()
weight = Tensor(np.eye(4, dtype=np.float32))
config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1, mstx=True)
data = GeneratorDataset(lambda: iter([(np.full((2, 4), row, np.float32),) for row in range(4)]), ["x"])
with profile(on_trace_ready=tensorboard_trace_handler("data"), experimental_config=config):
    Model(lambda x: (ops.relu(x) @ weight).mean()).train(1, data, [spy, LossMonitor(), TimeMonitor()])
    runtime.synchronize()
    mstx.mark("on the host")
    mstx.mark("on a stream", runtime.current_stream())
    with ms.scope("Default/network-Net"):
        ops.exp(weight)
    ms.record_operator("Cos", [weight.asnumpy()], [weight.asnumpy()], start_ns=1, end_ns=2, attrs={}, arguments=())
    with ms.timed_operator("Tanh", [weight.asnumpy()]) as operator:
        operator.outputs = [np.tanh(weight.asnumpy())]
show("seen", spy.seen)
try:
    ms.nn.Dense(1, 1)
except AttributeError as error:
    show("nn", str(error))
