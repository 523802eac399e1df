"""
A training that is killed, or whose journal is kept beside its result: ``killed_training.py STEPS MODE END``.

MODE is ``pynative``, ``graph``, or ``model`` (``Model.train`` under a profiler whose ``step`` is never called). END is
``kill`` (SIGKILL after the last step) or ``keep`` (the journal is copied to ``kept`` before it is removed). A step
takes 0.15 s.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import nn
from mindspore.profiler import ProfilerActivity, ProfilerLevel, _ExperimentalConfig, mstx, profile, schedule
from mindspore.profiler import tensorboard_trace_handler as trace_handler

from drynpu.recorder import Recorder
from drynpu_mindspore.recording import _saved

STEPS, MODE, END = int(sys.argv[1]), sys.argv[2], sys.argv[3]

if END == "keep":
    settle = Recorder.settle

    def keep(recorder: Recorder) -> None:
        """Wait until the last part is written, and copy the journal."""
        kept = recorder.journal
        if kept is not None:
            kept._parts.put(None)
            kept._thread.join()
            shutil.copytree(kept.path, Path("kept") / kept.path.parent.name / kept.path.name)
        settle(recorder)

    Recorder.settle = keep
    _saved._LEAST_SHARE = 0  # else a slow machine would save the last part later than this script waits

ms.set_context(mode=ms.PYNATIVE_MODE if MODE == "pynative" else ms.GRAPH_MODE)
ms.set_device("Ascend")
net = nn.SequentialCell(nn.Dense(8, 6, weight_init="ones"), nn.ReLU(), nn.Dense(6, 3, weight_init="ones"))
optimizer = nn.SGD(net.trainable_params(), learning_rate=0.01)
features = np.arange(32, dtype=np.float32).reshape(4, 8) / 32
labels = np.ones((4, 3), np.float32)
if MODE == "pynative":
    gradients = ms.value_and_grad(lambda x, y: nn.MSELoss()(net(x), y), None, optimizer.parameters)
else:
    one = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)


def step(number: int) -> None:
    """Train once."""
    if MODE == "pynative":
        loss, found = gradients(ms.Tensor(features), ms.Tensor(labels))
        optimizer(found)
    else:
        loss = one(ms.Tensor(features), ms.Tensor(labels))
    mstx.mark(f"step {number}")
    print("STEP", number, float(loss.asnumpy()) > 0, flush=True)


class Pause(ms.Callback):
    """Has a step take long enough."""

    def on_train_step_end(self, run_context: object) -> None:
        """Wait."""
        print("STEP", flush=True)
        time.sleep(0.15)


def end() -> None:
    """Kill the process if that is wanted."""
    if END == "kill":
        os.kill(os.getpid(), signal.SIGKILL)


config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1, mstx=True)
keywords = {
    "activities": [ProfilerActivity.CPU, ProfilerActivity.NPU],
    "on_trace_ready": trace_handler("out"),
    "experimental_config": config,
    "profile_memory": True,
}
if MODE == "model":
    data = ms.dataset.NumpySlicesDataset({"x": [features] * STEPS, "y": [labels] * STEPS}, shuffle=False)
    with profile(**keywords):
        ms.Model(net, nn.MSELoss(), optimizer).train(1, data, callbacks=[Pause()], dataset_sink_mode=False)
        end()
else:
    plan = schedule(wait=0, warmup=1, active=STEPS + 1, repeat=1, skip_first=0)
    step(-1)
    with profile(schedule=plan, **keywords) as profiler:
        profiler.add_metadata("purpose", "killed")
        profiler.step()
        for number in range(STEPS):
            step(number)
            if number + 1 < STEPS or END == "kill":
                time.sleep(0.15)
            if number + 1 == STEPS:
                end()
                time.sleep(0.6)  # so that the next boundary is late enough for a part to be saved
            profiler.step()
