"""Train one layer beside objects that raise when somebody looks at them, with every option of a profiler."""

from __future__ import annotations

import gc
import json
import sys
import types
import weakref

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn
from mindspore.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler
from mindspore.train import Callback, Model

ms.set_context(mode=ms.PYNATIVE_MODE, device_target="Ascend")
OPTIONS = ("with_stack", "profile_memory", "data_process", "hbm_ddr", "pcie")


def raising(name):
    def find(self, *_):
        raise RuntimeError(f"nobody is to ask for {name}")

    return find


class Object:
    __class__ = property(raising("__class__"))
    __getattr__ = raising("an attribute")
    __eq__ = __hash__ = __bool__ = __len__ = __repr__ = __str__ = __iter__ = raising("a special method")
    dtype = shape = name = property(raising("a property"))


class Kind(type):
    __instancecheck__ = __subclasscheck__ = raising("its instances")


class OfKind(metaclass=Kind):
    pass


class RaisingTensor(Tensor):
    __repr__ = __str__ = __len__ = __eq__ = __bool__ = raising("a special method")
    __hash__ = object.__hash__
    dtype = shape = name = property(raising("a property"))


class Watcher(Callback):
    """A callback of a training whose attributes raise, but for those that MindSpore calls."""

    __repr__ = __str__ = __len__ = __eq__ = raising("a special method")
    __hash__ = object.__hash__
    name = property(raising("a property"))


def module_raises():
    lazy = types.ModuleType("lazy_module")
    lazy.__getattr__ = lambda name: raising(name)(None)
    sys.modules["lazy_module"], sys.modules["raising_module"] = lazy, object.__new__(Object)
    return lazy


def references():
    dead = OfKind()
    kept = [weakref.ref(dead, raising("a callback")), weakref.proxy(dead)]
    weakref.finalize(dead, lambda: None)
    return kept


KINDS = {
    "nothing": lambda: None,
    "class_raises": lambda: object.__new__(Object),
    "instances_raise": lambda: (OfKind, OfKind()),
    "tensor_raises": lambda: RaisingTensor(np.ones(3, np.float32)),
    "references": references,
    "collected": lambda: gc.callbacks.append(lambda phase, info: None),
    "module_raises": module_raises,
}
net, loss = nn.Dense(8, 3), nn.MSELoss()
optimizer = nn.SGD(net.trainable_params(), 0.0)
x, y = Tensor(np.ones((4, 8), np.float32)), Tensor(np.zeros((4, 3), np.float32))
gradient = ms.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)


def rows():
    for _ in range(2):
        yield np.ones(8, np.float32), np.zeros(3, np.float32)


def train(folder, option):
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.NPU],
        schedule=schedule(wait=0, warmup=0, active=2, repeat=1),
        on_trace_ready=tensorboard_trace_handler(folder),
        **{option: True},
    ) as prof:
        for _ in range(2):
            value, gradients = gradient(x, y)
            optimizer(gradients)
            prof.step()
    batches = ms.dataset.GeneratorDataset(rows, ["x", "y"], shuffle=False).batch(1)
    Model(net, loss, optimizer).train(1, batches, callbacks=[Watcher()], dataset_sink_mode=False)
    return float(value.asnumpy())


kept, losses = [], {}
gradient(x, y)
for kind, make in KINDS.items():
    kept.append(make())
    for option in OPTIONS:
        losses[f"{kind}-{option}"] = train(f"{kind}-{option}", option)
print("losses=" + json.dumps(losses))
