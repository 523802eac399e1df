"""Train beside recordings of which one step after the other raises: ``lost_parts.py STEP ...``, ``module:function``."""

from __future__ import annotations

import functools
import importlib
import sys
from unittest import mock

import mindspore
import mindspore.profiler
import numpy as np
from mindspore import Tensor, nn

mindspore.set_context(mode=mindspore.PYNATIVE_MODE, device_target="Ascend")
profiler = mindspore.profiler
net, loss = nn.Dense(8, 8), nn.MSELoss()
optimizer = nn.SGD(net.trainable_params(), 0.1)
x, y = Tensor(np.ones((4, 8), np.float32)), Tensor(np.zeros((4, 8), np.float32))
gradient = mindspore.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)


def train(folder):
    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU],
        with_stack=True,
        profile_memory=True,
        data_process=True,
        schedule=profiler.schedule(wait=0, warmup=0, active=3, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(folder),
    ) as prof:
        for _ in range(3):
            _, gradients = gradient(x, y)
            optimizer(gradients)
            prof.step()


def fail(*_, **__):
    raise ZeroDivisionError("for this test")


train("whole")
for number, step in enumerate(sys.argv[1:]):
    module_name, _, path = step.partition(":")
    *parents, name = path.split(".")
    owner = functools.reduce(getattr, parents, importlib.import_module(module_name))
    print(f"[drynpu] begin {step}", file=sys.stderr, flush=True)
    with mock.patch.object(owner, name, fail):
        train(str(number))
print("trained to the end")
