"""Prints what callbacks are called with by ``Model``, of MindSpore or of what is served in its place."""

from __future__ import annotations

import json

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore.train import Callback, Model

ASKED = ("cur_epoch_num", "cur_step_num", "epoch_num", "batch_num", "mode", "dataset_sink_mode")
NAMES = [
    f"on_{mode}_{when}"
    for mode in ("train", "eval")
    for when in ("begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end")
]


class Spy(Callback):
    """Notes every call, with the keys that are new; asks for the end at one of them."""

    def __init__(self, stop=None):
        super().__init__()
        self.stop, self.seen, self.known = stop, [], set()

    def note(self, name, run_context):
        told = run_context.original_args()
        new = sorted(told.keys() - self.known)
        self.known |= told.keys()
        self.seen.append([name, *(told.get(each) for each in ASKED), new])
        if self.stop == (name, told.get("cur_step_num")):
            run_context.request_stop()


for method in NAMES:
    setattr(Spy, method, lambda self, run_context, name=method: self.note(name, run_context))


class Mean:
    """A metric that needs nothing of the framework."""

    def clear(self):
        self.number = 0

    def update(self, *outputs):
        self.number += 1

    def eval(self):
        return self.number


def rows():
    for _ in range(3):
        yield np.ones((2, 4), np.float32), np.ones((2, 4), np.float32)


def data():
    return ds.GeneratorDataset(rows, ["x", "label"])


if hasattr(ms, "record_operator"):

    def model():
        return Model(lambda x: x, lambda x, label: (x - label).mean(), metrics={"mean": Mean()})
else:
    from mindspore import nn

    class Metric(Mean, nn.Metric):
        """The same to MindSpore, which asks for its base class."""

    def model():
        net = nn.Dense(4, 4)
        return Model(net, nn.MSELoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9), metrics={"mean": Metric()})


def show(name, *arguments, stop=None, method="train", **keywords):
    spy = Spy(stop)
    getattr(model(), method)(*arguments, callbacks=[spy], dataset_sink_mode=False, **keywords)
    print(f"{name}={json.dumps(spy.seen)}")


ms.set_context(mode=ms.PYNATIVE_MODE)
show("trained", 2, data())
show("stopped_after_a_step", 2, data(), stop=("on_train_step_end", 2))
show("stopped_before_a_step", 2, data(), stop=("on_train_step_begin", 2))
show("stopped_at_once", 2, data(), stop=("on_train_begin", 0))
show("from_the_second_epoch", 3, data(), initial_epoch=1)
show("fitted", 2, data(), data(), method="fit", valid_dataset_sink_mode=False)
show("evaluated", data(), method="eval")
