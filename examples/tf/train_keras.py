"""
Train a small convolution net with Keras and finish with a loop of one's own, profiled by npu_device's options.

An ordinary TensorFlow 2 script for an NPU: it imports nothing of drynpu. Options: --steps, --output, --plain (the same
training without the NPU).
"""

from __future__ import annotations

import argparse
import json

import numpy as np
import tensorflow as tf

SIDE, CLASSES, BATCH = 16, 10, 32
# Keras 2, TensorFlow's up to 2.15, keeps the optimizers of NPU scripts in a module of its own; Keras 3 has one kind.
HAS_KERAS_2 = tuple(map(int, tf.__version__.split(".")[:2])) < (2, 16)
OPTIMIZERS = tf.keras.optimizers.legacy if HAS_KERAS_2 else tf.keras.optimizers


def open_npu(output):
    """Make the NPU the default device, with profiling on."""
    import npu_device

    options = {
        "output": output,
        "training_trace": "on",
        "task_time": "on",
        "aicpu": "on",
        "fp_point": "",
        "bp_point": "",
        "aic_metrics": "PipeUtilization",
    }
    npu_device.global_options().profiling_config.enable_profiling = True
    npu_device.global_options().profiling_config.profiling_options = json.dumps(options)
    npu_device.open().as_default()


def build_model():
    """Return a compiled model."""
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Conv2D(8, 3, activation="relu", input_shape=(SIDE, SIDE, 1)),
            tf.keras.layers.MaxPool2D(),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(CLASSES),
        ]
    )
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=OPTIMIZERS.Adam(0.01), loss=loss)
    return model


@tf.function
def fine_tune(model, optimizer, images, labels):
    """Make one step on the last layer."""
    last = model.layers[-1].trainable_variables
    with tf.GradientTape() as tape:
        logits = model(images, training=True)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    optimizer.apply_gradients(zip(tape.gradient(loss, last), last))
    return loss


def main():
    """Train and print the losses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--output", default="./tf2_out")
    parser.add_argument("--plain", action="store_true")
    arguments = parser.parse_args()
    if not arguments.plain:
        open_npu(arguments.output)

    tf.keras.utils.set_random_seed(1)
    data = np.random.default_rng(0)
    images = data.normal(size=(arguments.steps * BATCH, SIDE, SIDE, 1)).astype("float32")
    labels = data.integers(0, CLASSES, len(images))

    model = build_model()
    history = model.fit(images, labels, batch_size=BATCH, epochs=2, verbose=0)
    for epoch, loss in enumerate(history.history["loss"]):
        print(f"epoch {epoch} loss {loss:.9f}")

    optimizer = OPTIMIZERS.SGD(0.01)
    for step in range(3):
        loss = fine_tune(model, optimizer, tf.constant(images[:BATCH]), tf.constant(labels[:BATCH]))
        print(f"fine tuning {step} loss {float(loss):.9f}")


if __name__ == "__main__":
    main()
