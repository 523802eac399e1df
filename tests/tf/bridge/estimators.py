"""Trains the same model with NPUEstimator and with TensorFlow's own, and prints what came out."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import tensorflow.compat.v1 as tf
from npu_bridge.estimator.npu.keras_to_npu import model_to_npu_estimator
from npu_bridge.estimator.npu.npu_config import NPURunConfig, ProfilingConfig
from npu_bridge.estimator.npu.npu_estimator import NPUEstimator, NPUEstimatorSpec
from npu_bridge.estimator.npu.npu_hook import NPUOutputTensorHook

tf.logging.set_verbosity(tf.logging.ERROR)
DATA = np.random.RandomState(0).rand(64, 6).astype(np.float32)
GOALS = DATA.sum(axis=1)
found = {}


def batches(repeat):
    def input_fn():
        dataset = tf.data.Dataset.from_tensor_slices((DATA, GOALS)).batch(16)
        return dataset.repeat() if repeat else dataset

    return input_fn


class Losses(tf.train.SessionRunHook):
    def __init__(self):
        self.values = []

    def before_run(self, run_context):
        return tf.train.SessionRunArgs("loss:0")

    def after_run(self, run_context, run_values):
        self.values.append(float(run_values.results))


def dense(inputs, units, name):
    # tf.layers draws its weights anew in every graph of a process, whatever the seed.
    with tf.variable_scope(name):
        kernel = tf.get_variable("kernel", [inputs.shape[-1], units])
        return tf.nn.bias_add(
            tf.matmul(inputs, kernel), tf.get_variable("bias", [units], initializer=tf.zeros_initializer())
        )


def model_fn(features, labels, mode, params):
    output = dense(tf.nn.relu(dense(features, 8, "hidden")), 1, "output")[:, 0]
    spec = params["spec"]
    if mode == "infer":
        return spec(mode, predictions={"value": output})
    loss = tf.identity(tf.reduce_mean((output - labels) ** 2), name="loss")
    if mode == "eval":
        return spec(mode, loss=loss, eval_metric_ops={"error": tf.metrics.mean_absolute_error(labels, output)})
    step = tf.train.get_global_step()
    more = params["more"](loss, step) if "more" in params else {}
    return spec(mode, loss=loss, train_op=tf.train.AdamOptimizer(0.05).minimize(loss, step), **more)


def use(estimator, steps=5):
    hook = Losses()
    estimator.train(batches(repeat=True), steps=steps, hooks=[hook])
    evaluated = estimator.evaluate(batches(repeat=False))
    predicted = [float(row["value"]) for row in estimator.predict(batches(repeat=False))]
    files = sorted(path.name for path in Path(estimator.model_dir).glob("model.ckpt*index"))
    return [hook.values, {name: float(value) for name, value in evaluated.items()}, predicted, files]


def new_folder():
    return tempfile.mkdtemp(dir=".")


found["plain"] = use(
    tf.estimator.Estimator(
        model_fn,
        config=tf.estimator.RunConfig(model_dir=new_folder(), tf_random_seed=3, save_checkpoints_steps=2),
        params={"spec": tf.estimator.EstimatorSpec},
    )
)
# As in the collection guide, but for the directory.
profiling_options = '{"output":"./out","training_trace":"on","task_trace":"on","fp_point":"","bp_point":"","aic_metrics":"PipeUtilization"}'  # noqa: E501
profiling_config = ProfilingConfig(enable_profiling=True, profiling_options=profiling_options)
session_config = tf.ConfigProto()
config = NPURunConfig(profiling_config=profiling_config, session_config=session_config)
found["npu"] = use(
    NPUEstimator(
        model_fn,
        config=config.replace(model_dir=new_folder(), tf_random_seed=3, save_checkpoints_steps=2),
        params={"spec": tf.estimator.EstimatorSpec},
    )
)
handed, outputs = [], []


def with_host_call(loss, step):
    def host_call(loss, step):
        return tf.py_func(lambda *values: handed.append([float(value) for value in values]), [loss, step], [])

    hook = NPUOutputTensorHook({"loss": loss}, output_fn=lambda rows: outputs.append(len(rows)), output_every_n_steps=2)
    return {"host_call": (host_call, [loss, step]), "training_hooks": [hook]}


found["npu spec"] = use(
    NPUEstimator(
        model_fn,
        config=NPURunConfig(model_dir=new_folder(), tf_random_seed=3, save_checkpoints_steps=2),
        params={"spec": NPUEstimatorSpec, "more": with_host_call},
    )
)
found["host call"], found["outputs"] = handed, outputs
looped = NPUEstimator(
    model_fn,
    config=NPURunConfig(model_dir=new_folder(), tf_random_seed=3, iterations_per_loop=2),
    params={"spec": NPUEstimatorSpec},
)
losses = Losses()
looped.train(batches(repeat=True), steps=4, hooks=[losses])
found["loop"] = [losses.values, int(looped.get_variable_value("global_step"))]

wrong = NPUEstimator(lambda features, labels, mode: 1, config=NPURunConfig(model_dir=new_folder()))
for verb in (wrong.train, wrong.evaluate):
    try:
        verb(batches(repeat=False))
    except RuntimeError as error:
        found.setdefault("wrong spec", []).append(str(error))

with tf.Graph().as_default():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(6,), kernel_initializer="ones")])
    model.compile(optimizer="sgd", loss="mse")
    estimator = model_to_npu_estimator(model, config=NPURunConfig(model_dir=new_folder()))
found["keras"] = type(estimator).__name__


def keras_batches():
    return tf.data.Dataset.from_tensor_slices((DATA, GOALS[:, None])).batch(16).repeat()


estimator.train(keras_batches, steps=2)
found["keras loss"] = float(estimator.evaluate(keras_batches, steps=2)["loss"])
print("found=" + json.dumps(found))
