"""Train one graph beside objects that raise when somebody looks at them, some of which the session gets itself."""

from __future__ import annotations

import gc
import json
import sys
import types
import weakref

import npu_bridge  # noqa: F401 - brings the NPU to TensorFlow
import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.client import session as sessions

tf.disable_eager_execution()
DATA = np.arange(40, dtype=np.float32).reshape(5, 8) / 40
OPTIONS = {
    "task_time": {"task_time": "on"},
    "training_trace": {"training_trace": "on"},
    "aicpu": {"aicpu": "on"},
    "metrics": {"task_time": "on", "aic_metrics": "PipeUtilization"},
    "host": {"host_sys": "cpu,mem", "host_sys_usage": "cpu"},
}


def raising(name):
    def find(self, *_):
        raise RuntimeError(f"nobody is to ask for {name}")

    return find


class Object:
    __class__ = property(raising("__class__"))
    __getattr__ = raising("an attribute")
    __eq__ = __hash__ = __bool__ = __len__ = __repr__ = __str__ = __iter__ = raising("a special method")
    dtype = shape = name = graph = property(raising("a property"))


class Kind(type):
    __instancecheck__ = __subclasscheck__ = raising("its instances")


class OfKind(metaclass=Kind):
    pass


class Fetch:
    """What a script has taught sessions to fetch; the session asks for nothing but the conversion."""

    __getattr__ = __repr__ = __str__ = __len__ = __eq__ = raising("a special method")
    __hash__ = object.__hash__
    dtype = shape = name = graph = property(raising("a property"))

    def __init__(self, tensor):
        self.tensor = tensor


sessions.register_session_run_conversion_functions(Fetch, lambda fetch: ([fetch.tensor], lambda values: values[0]))


class Names(dict):
    """A dictionary of feeds whose own methods raise, but for those that TensorFlow calls."""

    __repr__ = __str__ = keys = values = get = raising("a special method")


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
    "references": references,
    "collected": lambda: gc.callbacks.append(lambda phase, info: None),
    "module_raises": module_raises,
}


def train(output, options, *, awkward):
    tf.reset_default_graph()
    features = tf.placeholder(tf.float32, [None, 8])
    kernel = tf.get_variable("kernel", [8, 3], initializer=tf.ones_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(features, kernel) - 1.0))
    train_op = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    config = tf.ConfigProto()
    custom = config.graph_options.rewrite_options.custom_optimizers.add()
    custom.name = "NpuOptimizer"
    custom.parameter_map["use_off_line"].b = True
    custom.parameter_map["profiling_mode"].b = True
    custom.parameter_map["profiling_options"].s = json.dumps({"output": output, **options}).encode()
    fetched = Fetch(loss) if awkward else loss
    feeds = Names({features: DATA}) if awkward else {features: DATA}
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        return [float(session.run([fetched, train_op], feeds)[0]) for _ in range(3)]


kept, losses = [], {}
for kind, make in KINDS.items():
    kept.append(make())
    for name, options in OPTIONS.items():
        losses[f"{kind}-{name}"] = train(f"{kind}-{name}", options, awkward=kind != "nothing")
print("losses=" + json.dumps(losses))
