"""
Train, evaluate and use a small image classifier with NPUEstimator, profiled by its configuration.

An ordinary ported TensorFlow 1 script: it imports nothing of drynpu. Options: --steps, --output, --model-dir, --plain
(the same with tf.estimator, without the NPU).
"""

from __future__ import annotations

import argparse
import json
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf
from npu_bridge.estimator.npu.npu_config import NPURunConfig, ProfilingConfig
from npu_bridge.estimator.npu.npu_estimator import NPUEstimator, NPUEstimatorSpec
from npu_bridge.estimator.npu.npu_optimizer import NPUDistributedOptimizer

SIZE, CLASSES, BATCH, IMAGES = 12, 4, 16, 128


class PrintLosses(tf.train.SessionRunHook):
    """Prints the loss of every step."""

    def before_run(self, _context):
        return tf.train.SessionRunArgs({"loss": "loss:0", "step": tf.train.get_global_step()})

    def after_run(self, _context, run_values):
        print(f"loss {run_values.results['loss']:.9f}", flush=True)


def images(mode):
    """Return an input function: images whose class is the quarter that is bright."""

    def input_fn():
        data = np.random.RandomState(0)
        pictures = data.rand(IMAGES, SIZE, SIZE, 1).astype(np.float32)
        labels = data.randint(0, CLASSES, IMAGES)
        half = SIZE // 2
        for picture, label in zip(pictures, labels):
            top, left = half * (label // 2), half * (label % 2)
            picture[top : top + half, left : left + half] += 1.0
        dataset = tf.data.Dataset.from_tensor_slices((pictures, labels)).batch(BATCH, drop_remainder=True)
        return dataset.repeat() if mode == "train" else dataset

    return input_fn


def model_fn(features, labels, mode, params):
    """Two convolutions and a dense layer."""
    hidden = features
    for number, channels in enumerate((8, 16)):
        with tf.variable_scope(f"conv{number}"):
            kernel = tf.get_variable("kernel", [3, 3, hidden.shape[-1], channels])
            bias = tf.get_variable("bias", [channels], initializer=tf.zeros_initializer())
            hidden = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(hidden, kernel, strides=1, padding="SAME"), bias))
            hidden = tf.nn.max_pool2d(hidden, 2, 2, padding="SAME")
    hidden = tf.reshape(hidden, [-1, int(np.prod(hidden.shape[1:]))])
    with tf.variable_scope("head"):
        logits = tf.matmul(hidden, tf.get_variable("kernel", [hidden.shape[-1], CLASSES]))
    spec = params["spec"]
    if mode == tf.estimator.ModeKeys.PREDICT:
        return spec(mode, predictions={"label": tf.argmax(logits, axis=-1)})
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(loss, name="loss")
    if mode == tf.estimator.ModeKeys.EVAL:
        accuracy = tf.metrics.accuracy(labels, tf.argmax(logits, axis=-1))
        return spec(mode, loss=loss, eval_metric_ops={"accuracy": accuracy})
    optimizer = params["wrap"](tf.train.AdamOptimizer(0.01))
    return spec(mode, loss=loss, train_op=optimizer.minimize(loss, tf.train.get_global_step()))


def npu_estimator(model_dir, output):
    """Return the estimator of the NPU, whose sessions are profiled."""
    options = {
        "output": output,
        "training_trace": "on",
        "task_time": "on",
        "aicpu": "on",
        "fp_point": "",
        "bp_point": "",
        "aic_metrics": "PipeUtilization",
    }
    profiling = ProfilingConfig(enable_profiling=True, profiling_options=json.dumps(options))
    config = NPURunConfig(
        profiling_config=profiling,
        model_dir=model_dir,
        tf_random_seed=1,
        save_checkpoints_steps=1000,
        session_config=tf.ConfigProto(allow_soft_placement=True),
    )
    return NPUEstimator(model_fn, config=config, params={"spec": NPUEstimatorSpec, "wrap": NPUDistributedOptimizer})


def plain_estimator(model_dir):
    """Return the estimator of TensorFlow."""
    config = tf.estimator.RunConfig(model_dir=model_dir, tf_random_seed=1, save_checkpoints_steps=1000)
    params = {"spec": tf.estimator.EstimatorSpec, "wrap": lambda optimizer: optimizer}
    return tf.estimator.Estimator(model_fn, config=config, params=params)


def main():
    """Train and print the losses, then what the model is worth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--output", default="./tf_out")
    parser.add_argument("--model-dir")
    parser.add_argument("--plain", action="store_true")
    arguments = parser.parse_args()

    tf.logging.set_verbosity(tf.logging.ERROR)
    model_dir = arguments.model_dir or tempfile.mkdtemp()
    estimator = plain_estimator(model_dir) if arguments.plain else npu_estimator(model_dir, arguments.output)
    estimator.train(images("train"), steps=arguments.steps, hooks=[PrintLosses()])
    metrics = estimator.evaluate(images("eval"))
    print(f"evaluated loss {metrics['loss']:.9f} accuracy {metrics['accuracy']:.4f}")
    labels = [int(row["label"]) for row in estimator.predict(images("eval"))]
    print("predicted", labels[:BATCH])


if __name__ == "__main__":
    main()
