"""Times between events, without and with a profiler, in PyNative and in a graph; prints them as JSON."""

from __future__ import annotations

import json
import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

mode = sys.argv[1]
ms.set_context(device_target="Ascend", mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
BIG, SMALL = (Tensor(np.ones((size, size), np.float32)) for size in (1024, 16))


class Net(nn.Cell):  # type: ignore[misc]
    """Products one behind the other."""

    def construct(self, x: Tensor) -> Tensor:
        """Return the product of six."""
        for _ in range(5):
            x = ops.matmul(x, x)
        return x


net = Net()


def times(module: object) -> list[float]:
    """Return the ms of one and of four nets, of a part of them, and of nothing."""
    begin, middle, end, last = (module.Event(enable_timing=True) for _ in range(4))  # type: ignore[attr-defined]
    begin.record()
    net(BIG)
    middle.record()
    for _ in range(3):
        net(BIG)
    end.record()
    last.record()
    ms.runtime.synchronize()
    pairs = ((begin, middle), (begin, end), (middle, end), (end, last))
    return [first.elapsed_time(second) for first, second in pairs]


def refusal(first: object, second: object) -> str:
    """Return what an event says that has no time."""
    try:
        first.elapsed_time(second)  # type: ignore[attr-defined]
    except RuntimeError as error:
        return str(error)
    return "nothing"


net(BIG)
modules = (ms.runtime, ms.hal) * 3
shown = {"alone": [times(module) for module in modules]}
handler = ms.profiler.tensorboard_trace_handler("data")
before = ms.runtime.Event(enable_timing=True)
before.record()
net(SMALL)
with ms.profiler.profile(on_trace_ready=handler) as profile:
    shown["profiled"] = [times(module) for module in modules]
    inside = ms.runtime.Event(enable_timing=True)
    inside.record()
    profile.step()
shown["after"] = [times(module) for module in modules]
shown["across"] = [before.elapsed_time(inside)]
untimed, unrecorded = ms.runtime.Event(), ms.runtime.Event(enable_timing=True)
untimed.record()
shown["refused"] = [refusal(untimed, before), refusal(before, unrecorded)]
print(json.dumps(shown))
