"""Asks the patched MindSpore what it offers and what it says of itself: run by test_scripts.py."""

from __future__ import annotations

import json

import mindspore as ms
from mindspore import profiler
from mindspore.profiler import mstx
from mindspore.profiler.common.constant import ProfilerLevel
from mindspore.profiler.dynamic_profiler import DynamicProfilerMonitor
from mindspore.profiler.envprofiler import EnvProfiler
from mindspore.profiler.profiler import Profile, analyse, tensor_board_trace_handler
from mindspore.profiler.schedule import ProfilerAction, Schedule


def show(name, value):
    print(f"{name}={json.dumps(value)}")


ours = "drynpu_mindspore"
show(
    "ours",
    {
        name: any(base.__module__.startswith(ours) for base in getattr(profiler, name).__mro__)
        for name in profiler.__all__
        if isinstance(getattr(profiler, name), type)
    },
)
show(
    "same",
    [
        ms.Profiler is profiler.Profiler,
        ms.EnvProfiler is profiler.EnvProfiler is EnvProfiler,
        Profile is profiler.profile,
        Schedule is profiler.schedule,
        ProfilerLevel is profiler.ProfilerLevel,
        DynamicProfilerMonitor is profiler.DynamicProfilerMonitor,
        issubclass(DynamicProfilerMonitor, ms.train.Callback),
        callable(analyse) and callable(tensor_board_trace_handler),
        profiler.schedule(wait=0, warmup=1, active=1)(0) is ProfilerAction.WARM_UP,
    ],
)
show("name", [profiler.profile.__module__, profiler.profile.__qualname__])
show("at_first", ms.get_context("device_target"))
ms.set_context(device_target="Ascend", device_id=3, jit_level="O2", ascend_config={"precision_mode": "force_fp16"})
show("context", [ms.get_context(key) for key in ("device_target", "device_id", "jit_level", "ascend_config")])
show("inside", ms.context.__dict__["get_context"].__wrapped__("device_target"))
show(
    "hal",
    [
        ms.hal.is_available("Ascend"),
        ms.hal.device_count("Ascend"),
        ms.hal.device_count(),
        ms.hal.get_device_name(0, "Ascend"),
        ms.hal.is_available("CPU"),
    ],
)
ms.runtime.synchronize()
begin, end = (ms.runtime.Event(enable_timing=True) for _ in range(2))
begin.record()
end.record(ms.runtime.Stream())
end.wait()
end.synchronize()
assert begin.query(), "it has happened as soon as it is recorded"
for target in ("GPU", "Abacus"):
    try:
        ms.set_context(device_target=target)
    except (RuntimeError, ValueError) as error:
        show(target, str(error).split(".")[0])
show("after_errors", ms.get_context("device_target"))


show("moved", ms.Tensor([1.0, 2.0]).move_to("Ascend").asnumpy().tolist())
show("added", (ms.Tensor([1.0, 2.0]) + ms.Tensor([2.0, 1.0])).asnumpy().tolist())
mstx.mark("done")
ms.context.set_context(device_target="CPU")
show("at_last", ms.get_context("device_target"))
ms.set_context(device_target="Ascend")
