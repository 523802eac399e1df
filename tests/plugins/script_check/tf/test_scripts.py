"""``drynpu check`` of TensorFlow scripts with planted mistakes, each of which has to be found at its line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drynpu.analysis.hints import remedy_for

pytestmark = pytest.mark.slow

Check = Callable[..., Any]
SESSION = """
import numpy as np
import tensorflow as tf
from npu_bridge.npu_init import *
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig

tf.compat.v1.disable_eager_execution()
x = tf.compat.v1.placeholder(tf.{dtype}, [32, 16])
w = tf.compat.v1.get_variable("w", [16, 8], tf.{dtype})
loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
train = tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(loss)
config = tf.compat.v1.ConfigProto()
custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
custom_op.name = "NpuOptimizer"
custom_op.parameter_map["use_off_line"].b = True
custom_op.parameter_map["profiling_mode"].b = True
custom_op.parameter_map["profiling_options"].s = tf.compat.as_bytes('{options}')
config.graph_options.rewrite_options.remapping = RewriterConfig.OFF
with tf.compat.v1.Session(config=config) as session:
    session.run(tf.compat.v1.global_variables_initializer())
    for step in range({steps}):
        session.run([train, loss], {{x: np.ones((32, 16))}})
open("ended", "w").close()
"""
KERAS = """
import numpy as np
import tensorflow as tf
import npu_device

npu_device.open().as_default()
model = tf.keras.Sequential([tf.keras.layers.Dense(8, input_shape=(16,))])
model.compile("sgd", "mse")
model.fit(np.ones((96, 16), np.float32), np.ones((96, 8), np.float32), batch_size=8, epochs=1, verbose=0)
"""


def session(folder: Path, options: str, *, dtype: str = "float32", steps: int = 9) -> str:
    (folder / "out").mkdir(exist_ok=True)
    return SESSION.format(options=options.replace("OUT", str(folder / "out")), dtype=dtype, steps=steps)


def test_planted_mistakes_are_found(checked: Check, tmp_path: Path) -> None:
    options = '{"output":"OUT","task_trace":"on","dvpp_freq":"50","aic_metrics":"PipeUtilization"}'
    found = checked(session(tmp_path, options, dtype="float64"), tmp_path)
    opened = "with tf.compat.v1.Session(config=config) as session:"
    assert set(found.sources("option")) == {opened}
    assert {each["title"].split()[2] for each in found.named("option")} == {"task_trace", "dvpp_freq"}
    assert found.sources("not-simulated") == [opened]
    (double,) = found.named("float64")
    assert "MatMulV2" in double["evidence"]
    assert "ai-cpu" in found.names
    assert found.document["warnings"] >= 4
    # The host waits while the device computes what it was given, so its waits cost nothing.
    assert not found.named("synchronising-calls")
    assert "iterations_per_loop" in remedy_for("synchronising-calls", "tensorflow")
    assert "torch" not in str(found.document["mistakes"])


def test_it_ends_after_the_first_steps_and_leaves_no_profile(checked: Check, tmp_path: Path) -> None:
    found = checked(session(tmp_path, '{"output":"OUT","task_time":"on"}', steps=50), tmp_path, "--first", "6")
    assert (found.status, found.document["steps"], found.document["ended_by_limit"]) == (0, 6, True)
    assert found.document["exit_code"] == 0
    # Forward, backward and the update of one layer, not of the three steps that were skipped or of the set-up.
    assert 6 <= found.document["kernels_per_step"] <= 40
    assert not list((tmp_path / "out").iterdir())
    assert not (tmp_path / "ended").exists()


def test_a_directory_that_cannot_be(checked: Check, tmp_path: Path) -> None:
    found = checked(session(tmp_path, '{"output":"/proc/none/out","task_time":"on"}'), tmp_path)
    assert (found.status, found.document["errors"]) == (1, 1)
    assert found.sources("script-fails") == ["with tf.compat.v1.Session(config=config) as session:"]


def test_a_short_script_is_recorded_from_its_beginning(checked: Check, tmp_path: Path) -> None:
    found = checked(session(tmp_path, '{"output":"OUT","task_time":"on"}', steps=1), tmp_path)
    assert (found.document["steps"], found.document["ended_by_limit"]) == (1, False)
    assert found.document["kernels_per_step"] > 0
    assert (tmp_path / "ended").exists()


def test_functions_on_an_open_device_are_steps(checked: Check, tmp_path: Path) -> None:
    found = checked(KERAS, tmp_path)
    assert (found.status, found.document["steps"], found.document["ended_by_limit"]) == (0, 5, True)
    assert found.document["kernels_per_step"] > 0
    # The steps before the recording, with the building of the function, are no part of it.
    assert found.document["step_us"] < 200_000
