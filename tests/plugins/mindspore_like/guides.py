"""The ways of MindSpore's guides with a step function in the place of a network: run by test_served.py."""

from __future__ import annotations

import json

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import Profiler, context, ops
from mindspore.profiler import ProfilerActivity, ProfilerLevel, profile, schedule, tensorboard_trace_handler
from mindspore.profiler.profiler import analyse
from mindspore.profiler.schedule import ProfilerAction, Schedule
from mindspore.train import Model
from mindspore.train.callback import Callback

import mindspore_like

WEIGHT = ms.Tensor(np.ones((2, 2), np.float32))


def show(name, value):
    print(f"{name}={json.dumps(value)}")


def train(x, label):
    return (ops.relu(x @ WEIGHT) - label).mean()


def generator():
    for row in range(4):
        yield np.full((2, 2), row, np.float32), np.ones((2, 1), np.float32)


def data():
    return ds.GeneratorDataset(generator, ["data", "label"])


class StopAtStep(Callback):
    def __init__(self, start_step, stop_step):
        super().__init__()
        self.start_step, self.stop_step = start_step, stop_step
        self.profiler = Profiler(start_profile=False, output_path="steps")

    def step_begin(self, run_context):
        if run_context.original_args().cur_step_num == self.start_step:
            self.profiler.start()

    def step_end(self, run_context):
        if run_context.original_args().cur_step_num == self.stop_step:
            self.profiler.stop()

    def end(self, run_context):
        self.profiler.analyse(step_list=[2, 3], mode="sync")


class StopAtEpoch(Callback):
    def __init__(self, start_epoch, stop_epoch):
        super().__init__()
        self.start_epoch, self.stop_epoch = start_epoch, stop_epoch
        self.profiler = Profiler(start_profile=False, output_path="epochs")

    def epoch_begin(self, run_context):
        if run_context.original_args().cur_epoch_num == self.start_epoch:
            self.profiler.start()

    def epoch_end(self, run_context):
        if run_context.original_args().cur_epoch_num == self.stop_epoch:
            self.profiler.stop()

    def end(self, run_context):
        self.profiler.analyse()


context.set_context(mode=context.GRAPH_MODE, device_target="Ascend")
profiler = Profiler(
    profiler_level=ProfilerLevel.Level0, activities=[ProfilerActivity.CPU, ProfilerActivity.NPU], output_path="whole"
)
Model(train).train(1, data())
profiler.analyse()
Model(train).train(1, data(), callbacks=[StopAtStep(2, 3)], dataset_sink_mode=False)
Model(train).train(3, data(), callbacks=[StopAtEpoch(2, 2)], dataset_sink_mode=True)

profiler = Profiler(start_profile=False, output_path="loop")
losses = []
for i, batch in enumerate(data().create_dict_iterator()):
    losses.append(float(train(batch["data"], batch["label"])))
    if i == 0:
        profiler.start()
    if i == 2:
        profiler.stop()
profiler.analyse()
show("losses", losses)

with profile(
    schedule=schedule(wait=1, warmup=1, active=2, repeat=1), on_trace_ready=tensorboard_trace_handler("cycle")
) as prof:
    for batch in data().create_dict_iterator():
        train(batch["data"], batch["label"])
        prof.step()

profiler.analyse()  # a second time: there is nothing
analyse("loop", max_process_number=1)
show("ours", [ms is mindspore_like, ms.train is mindspore_like.train, Schedule is schedule, ms.Profiler is Profiler])
show("action", schedule(wait=0, warmup=1, active=1)(0) is ProfilerAction.WARM_UP)
show("spec", [ms.__name__, ms.__spec__.name])
show("device", [ms.get_context("device_target"), ms.get_context("device_id")])
for statement in ("from mindspore import nn", "import mindspore.nn", "from mindspore.train import Accuracy"):
    try:
        exec(statement)
    except ImportError as error:
        show(statement, [type(error).__name__, str(error)])
