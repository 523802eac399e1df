"""One worker of a Keras training: ``training_workers.py OUTPUT``, workers named by the environment."""

from __future__ import annotations

import json
import os

import npu_device as npu
import numpy as np
import tensorflow as tf

options = npu.global_options()
options.profiling_config.enable_profiling = True
options.profiling_config.profiling_options = json.dumps(
    {"output": f"out{os.environ.get('RANK_ID', '')}", "training_trace": "on", "task_time": "on"}
)
handle = npu.open().as_default()
rank, size = handle.worker_id, handle.workers_num
tf.keras.utils.set_random_seed(11 + rank)
rng = np.random.default_rng(3)
x, y = (rng.normal(size=(32, width)).astype(np.float32) for width in (5, 1))
dataset, batch = npu.distribute.shard_and_rebatch_dataset(tf.data.Dataset.from_tensor_slices((x, y)), 8)
dataset = dataset.batch(batch, drop_remainder=True)

model = tf.keras.Sequential([tf.keras.layers.Dense(6, "tanh", input_shape=(5,)), tf.keras.layers.Dense(1)])
npu.distribute.broadcast(model.trainable_variables)
optimizer = npu.distribute.npu_distributed_keras_optimizer_wrapper(tf.keras.optimizers.SGD(0.1, momentum=0.9))
model.compile(optimizer, "mse")
history = model.fit(dataset, epochs=2, verbose=0, shuffle=False)


@tf.function
def total(value):
    return npu.distribute.all_reduce(value, "sum")


print("sums=" + json.dumps([float(total(tf.constant(float(rank + 1)))), float(total(tf.constant(float(rank + 1))))]))
print("eager=" + json.dumps(float(npu.distribute.all_reduce(tf.constant(float(rank)), "max"))))
print("losses=" + json.dumps(history.history["loss"]))
print("weights=" + json.dumps([weight.tolist() for weight in model.get_weights()]))
