"""Uses the profiler in the ways of MindSpore's guides, all in one process: run by test_scripts.py."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import Profiler, context, nn
from mindspore.profiler import (
    AicoreMetrics,
    DynamicProfilerMonitor,
    ProfilerActivity,
    ProfilerLevel,
    schedule,
    tensorboard_trace_handler,
)
from mindspore.train import Callback, Model

SEEN = []


def is_collecting():
    """Return whether an object that is collected calls: when that happens to a profiler depends on MindSpore."""
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


class Spy:
    """Notes what the surface asks of the recording."""

    def __init__(self, backend):
        self.backend = backend

    def __getattr__(self, name):
        call = getattr(self.backend, name)
        if name == "exchange":  # whose turn it is, between all calls
            return call

        def noted(*arguments):
            if not is_collecting():
                SEEN.append([name, *(a for a in arguments if isinstance(a, int))])
            return call(*arguments)

        return noted


session = ms._drynpu_surface.session
session.backend = Spy(session.backend)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(2, 2)

    def construct(self, x):
        return self.fc(x)


def data(batches):
    def generator():
        for _ in range(batches):
            yield np.ones([2, 2]).astype(np.float32), np.ones([2]).astype(np.int32)

    return ds.GeneratorDataset(generator, ["data", "label"])


def model():
    net = Net()
    optimizer = nn.Momentum(net.trainable_params(), 1, 0.9)
    return Model(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True), optimizer)


class Between(Callback):
    """Profiles from one step, or epoch, to another; both are recorded."""

    def __init__(self, first, last, of):
        super().__init__()
        self.first, self.last, self.of = first, last, of
        self.profiler = Profiler(start_profile=False, output_path=of)

    def begins(self, run_context, what):
        number = getattr(run_context.original_args(), f"cur_{what}_num")
        SEEN.append([f"{what} begins", number])
        if what == self.of and number == self.first:
            self.profiler.start()

    def ends(self, run_context, what):
        if what == self.of and getattr(run_context.original_args(), f"cur_{what}_num") == self.last:
            self.profiler.stop()

    def step_begin(self, run_context):
        self.begins(run_context, "step")

    def step_end(self, run_context):
        self.ends(run_context, "step")

    def epoch_begin(self, run_context):
        self.begins(run_context, "epoch")

    def epoch_end(self, run_context):
        self.ends(run_context, "epoch")

    def end(self, run_context):
        self.profiler.analyse(step_list=[1, 2], mode="sync")  # counted from the start of the recording


def ran(name):
    print(name + "=" + json.dumps([each for each in SEEN if each[0] not in ("prepare", "trace_ready")]))
    SEEN.clear()


context.set_context(mode=context.GRAPH_MODE, device_target="Ascend")
profiler = Profiler(
    profiler_level=ProfilerLevel.Level0,
    activities=[ProfilerActivity.CPU, ProfilerActivity.NPU],
    aicore_metrics=AicoreMetrics.AiCoreNone,
)
model().train(1, data(2))
profiler.analyse()
ran("example")

model().train(1, data(4), callbacks=[Between(2, 3, "step")], dataset_sink_mode=False)
ran("steps")

model().train(3, data(2), callbacks=[Between(2, 2, "epoch")], dataset_sink_mode=True)
ran("epochs")

profiler = Profiler(start_profile=False, output_path="loop")
trained = nn.TrainOneStepCell(
    nn.WithLossCell(Net(), nn.SoftmaxCrossEntropyWithLogits(sparse=True)), nn.SGD(Net().trainable_params())
)
for i, batch in enumerate(data(4).create_dict_iterator()):
    trained(batch["data"], batch["label"])
    SEEN.append(["trained", i])
    if i == 1:
        profiler.start()
    if i == 2:
        profiler.stop()
profiler.analyse()
ran("loop")

Path("profiler_config.json").write_text(
    json.dumps({"start_step": 2, "stop_step": 3, "analyse": True, "analyse_mode": 0})
)
model().train(1, data(4), callbacks=[DynamicProfilerMonitor(".", output_path="dynamic")], dataset_sink_mode=False)
ran("dynamic")

with Profiler(
    schedule=schedule(wait=1, warmup=1, active=1, repeat=1), on_trace_ready=tensorboard_trace_handler("cycle")
) as profiler:
    for batch in data(4).create_dict_iterator():
        trained(batch["data"], batch["label"])
        profiler.step()
ran("cycle")
