"""
What took the place of ``tf.contrib``, which TensorFlow 2 does not have.

``npu_bridge`` never brought it: with TensorFlow 1.15 it was TensorFlow's own. So nothing stands in for it here; whoever
looks for it is told what to write in its place.
"""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Iterator, Mapping
from types import FrameType, MappingProxyType

_PARTS: Mapping[str, str] = MappingProxyType(
    {
        "data": "tf.data",
        "distribute": "tf.distribute",
        "estimator": "tf.estimator",
        "framework": "tf.train, tf.errors and the package tf_slim",
        "layers": "tf.layers and the package tf_slim",
        "losses": "tf.losses",
        "lookup": "tf.lookup",
        "metrics": "tf.metrics",
        "opt": "tf.train, and tensorflow_addons for LAMB and AdamW",
        "rnn": "tf.nn.rnn_cell",
        "seq2seq": "the package tensorflow_addons",
        "slim": "the package tf_slim",
        "training": "tf.train and tf.estimator",
    }
)
"""Where the names went that porting guides and model scripts take from tf.contrib."""

NAMES: Mapping[str, str] = MappingProxyType(
    {
        "data.AUTOTUNE": "tf.data.experimental.AUTOTUNE",
        "data.map_and_batch": "tf.data.experimental.map_and_batch",
        "data.parallel_interleave": "tf.data.experimental.parallel_interleave",
        "data.shuffle_and_repeat": "tf.data.experimental.shuffle_and_repeat",
        "framework.get_or_create_global_step": "tf.train.get_or_create_global_step",
        "framework.get_variables": "tf.global_variables",
        "framework.list_variables": "tf.train.list_variables",
        "framework.load_variable": "tf.train.load_variable",
        "framework.nest": "tf.nest",
        "layers.batch_norm": "tf.layers.batch_normalization",
        "layers.conv2d": "tf.layers.conv2d(..., activation=tf.nn.relu)",
        "layers.flatten": "tf.layers.flatten",
        "layers.fully_connected": "tf.layers.dense(..., activation=tf.nn.relu)",
        "layers.l1_regularizer": "tf.keras.regularizers.l1(scale)",
        "layers.l2_regularizer": "tf.keras.regularizers.l2(scale / 2)",
        "layers.layer_norm": "tf.keras.layers.LayerNormalization",
        "layers.max_pool2d": "tf.layers.max_pooling2d",
        "layers.variance_scaling_initializer": "tf.variance_scaling_initializer(2.0)",
        "layers.xavier_initializer": "tf.glorot_uniform_initializer()",
        "layers.xavier_initializer_conv2d": "tf.glorot_uniform_initializer()",
        "metrics.streaming_accuracy": "tf.metrics.accuracy",
        "metrics.streaming_mean": "tf.metrics.mean",
        "rnn.static_rnn": "tf.nn.static_rnn",
        "tpu.TPUEstimator": "tf.estimator.tpu.TPUEstimator",
        "tpu.TPUEstimatorSpec": "tf.estimator.tpu.TPUEstimatorSpec",
        **{
            f"rnn.{name}": f"tf.nn.rnn_cell.{name}"
            for name in ("BasicLSTMCell", "BasicRNNCell", "DropoutWrapper", "GRUCell", "LSTMCell", "LSTMStateTuple")
        },
        **{f"rnn.{name}": f"tf.nn.rnn_cell.{name}" for name in ("MultiRNNCell", "ResidualWrapper", "RNNCell")},
    }
)
"""What to write in place of single names; they have the defaults of `contrib` where arguments are shown."""

_USE = re.compile(r"contrib\.([\w.]+)(?:\s+import\s+([\w, ]+))?")


def absence() -> str:
    """Return the message for whoever looks for ``tf.contrib``; the line that does so says which names it wants."""
    named = dict.fromkeys(name for name in _wanted(_calling_line()) if name in NAMES)
    exact = "".join(f" In place of tf.contrib.{name} write {NAMES[name]}." for name in named)
    where = "; ".join(f"tf.contrib.{name}: {place}" for name, place in _PARTS.items())
    return f"TensorFlow 2 has no tf.contrib.{exact} Where its parts went: {where}."


def _wanted(line: str) -> Iterator[str]:
    """Yield the names below ``contrib`` that a line of a script uses or imports."""
    for path, imported in _USE.findall(line):
        yield ".".join(path.split(".")[:2])
        for name in imported.split(","):
            yield f"{path}.{name.split(' as ')[0].strip()}"


def _calling_line() -> str:
    """Return the line of the script that looks for the name: the nearest outside of this package and of imports."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if not name.startswith(("drynpu_tf.face", "importlib", "_frozen_importlib", "tensorflow")):
            return linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return ""
