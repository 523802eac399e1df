"""
A session that is killed, or whose journal is kept beside its result: ``killed_session.py STEPS END``.

END is ``kill`` (SIGKILL after the last step) or ``keep`` (the journal is copied to ``kept`` before it is removed). A
step takes 0.15 s.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import npu_bridge  # noqa: F401 - brings the NPU to TensorFlow
import numpy as np
import tensorflow.compat.v1 as tf

from drynpu.recorder import Recorder

STEPS, END = int(sys.argv[1]), sys.argv[2]

if END == "keep":
    settle = Recorder.settle

    def keep(recorder: Recorder) -> None:
        """Wait until the last part is written, and copy the journal."""
        kept = recorder.journal
        if kept is not None:
            kept._parts.put(None)
            kept._thread.join()
            shutil.copytree(kept.path, Path("kept") / kept.path.name)
        settle(recorder)

    Recorder.settle = keep

tf.disable_eager_execution()
features = tf.placeholder(tf.float32, [None, 8])
kernel = tf.get_variable("kernel", [8, 3], initializer=tf.ones_initializer())
loss = tf.reduce_mean(tf.square(tf.matmul(features, kernel) - 1.0))
train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
config = tf.ConfigProto()
custom = config.graph_options.rewrite_options.custom_optimizers.add()
custom.name = "NpuOptimizer"
custom.parameter_map["use_off_line"].b = True
custom.parameter_map["profiling_mode"].b = True
options = json.dumps({"output": "out", "task_trace": "on", "training_trace": "on"})
custom.parameter_map["profiling_options"].s = options.encode()
data = np.arange(40, dtype=np.float32).reshape(5, 8) / 40
Path("out").mkdir(exist_ok=True)
with tf.Session(config=config) as session:
    session.run(tf.global_variables_initializer())
    for step in range(STEPS):
        session.run([loss, train], {features: data})
        print("STEP", step, flush=True)
        if step + 1 < STEPS or END == "kill":
            time.sleep(0.15)
    if END == "keep":
        time.sleep(0.6)  # so that the last run, too, is followed by another after the time between two parts
        session.run([loss, train], {features: data})
    if END == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
