"""Runs a tf.function with a loop, a Keras fit and eager operators under the capture; prints what it holds."""

from __future__ import annotations

import json
import threading

import numpy as np
import tensorflow as tf

from drynpu_tf.capture import TraceCapture

tf.config.optimizer.set_experimental_options({"remapping": False})


@tf.function
def soften(x):
    return tf.nn.softmax(x)


@tf.function
def loop(x, w):
    for _ in tf.range(3):
        x = tf.nn.relu(x @ w)
    return tf.reduce_sum(soften(x))


@tf.function
def known_before(x):
    return tf.reduce_mean(x * 2.0, axis=1)


def shape(tensor):
    return None if tensor is None else [list(tensor.shape), tensor.dtype]


def table(operators):
    rows = []
    for row in range(len(operators)):
        call = operators.signatures[operators.signature[row]]
        rows.append(
            {
                "name": operators.names[operators.name[row]],
                "type": call.name,
                "inputs": [shape(tensor) for tensor in call.inputs],
                "outputs": [shape(tensor) for tensor in call.attributes[0]],
                "attributes": {name: value for name, value in call.attributes[2] if name in ("padding", "transpose_b")},
                "start": int(operators.start_ns[row]),
                "end": int(operators.end_ns[row]),
                "thread": int(operators.thread[row]),
                "backward": bool(operators.scope[row] == 1),
            }
        )
    return rows


def stretch(found):
    return {
        "functions": [
            {
                "function": run.function,
                "start": run.start_ns,
                "end": run.end_ns,
                "thread": run.thread,
                "step": run.step,
                "operators": table(run.operators),
                "takes": [[take.row, take.source, take.end_ns, take.buffered] for take in run.reads],
                "fusions": [{"name": made.name, "nodes": list(made.original_ops)} for made in run.fusions],
            }
            for run in found.functions
        ],
        "eager": [] if found.eager is None else table(found.eager),
    }


x, w = tf.ones((8, 4)), tf.ones((4, 4))
known_before(x)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(4, 3, activation="relu", padding="same", input_shape=(8, 8, 3)),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(2),
    ]
)
model.compile("sgd", "mse")
images, targets = np.ones((40, 8, 8, 3), "float32"), np.zeros((40, 2), "float32")
data = tf.data.Dataset.from_tensor_slices((images, targets)).map(lambda a, b: (tf.nn.sigmoid(a), b)).batch(16)
data = data.prefetch(2)

capture = TraceCapture()
refused = capture.start()
loop(x, w)
worker = threading.Thread(target=lambda: (capture.attend(), loop(x, w), tf.matmul(x, w)))
worker.start()
worker.join()
parts = [stretch(capture.pause())]
tf.profiler.experimental.start("their_log")
taken = capture.resume()
tf.nn.relu(x)
tf.profiler.experimental.stop()
parts.append(stretch(capture.pause()))
again = capture.resume()
model.fit(data, epochs=1, verbose=0)
known_before(x)
tf.linalg.matmul(x, x, transpose_b=True)
parts.append(stretch(capture.stop()))
tf.nn.relu(x)

print("refused=" + json.dumps([refused, taken, again]))
print("parts=" + json.dumps(parts))
print("threads=" + json.dumps([threading.get_native_id(), worker.native_id]))
print("left=" + json.dumps(len(capture.eager._events)))
