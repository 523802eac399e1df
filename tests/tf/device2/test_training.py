"""Keras, functions and eager code on a device of TensorFlow 2: what they leave, and that they compute the same."""

from __future__ import annotations

import re
from typing import Any

import pytest

_DEFAULT_FILES = {
    "README.txt",
    "api_statistic.csv",
    "fusion_op.csv",
    "msprof.json",
    "op_statistic.csv",
    "op_summary.csv",
    "step_trace.csv",
    "step_trace.json",
    "task_time.csv",
}

# The TensorFlow 2 sample of the collection guide, with another place for its output.
GUIDE = """
import npu_device
import numpy as np
import tensorflow as tf
# profiling
npu_device.global_options().profiling_config.enable_profiling = True
profiling_options = '{"output":"./out", \\
			"training_trace":"on", \\
			"task_trace":"on", \\
			"fp_point":"", \\
			"bp_point":""}'
npu_device.global_options().profiling_config.profiling_options = profiling_options
npu_device.open().as_default()
model = tf.keras.Sequential([tf.keras.layers.Dense(4, input_shape=(8,))])
model.compile("sgd", "mse")
model.fit(np.ones((12, 8)), np.ones((12, 4)), batch_size=4, epochs=1, verbose=0)
"""

OWN_CODE = """
import npu_device as npu
import tensorflow as tf
npu.global_options().profiling_config.enable_profiling = True
npu.global_options().profiling_config.profiling_options = '{"output":"./out","task_time":"on"}'
tf.linalg.matmul(tf.ones((2, 2)), tf.ones((2, 2)))
handle = npu.open()
handle.as_default()
tf.linalg.matmul(tf.ones((64, 32)), tf.ones((32, 16)))

@tf.function(jit_compile=True)
def turn(x):
    for _ in tf.range(4):
        x = tf.nn.softmax(tf.matmul(x, x))
    return x

turn(tf.ones((8, 8)))
tf.profiler.experimental.start("theirs")
turn(tf.ones((8, 8)))
tf.nn.relu(tf.ones((5, 5)))
tf.profiler.experimental.stop()
turn(tf.ones((8, 8)))
raise KeyError("the script fails")
"""

SLOW_DATA = """
import time
import npu_device as npu
import numpy as np
import tensorflow as tf
npu.global_options().profiling_config.enable_profiling = True
npu.global_options().profiling_config.profiling_options = '{"output":"./out","task_time":"on","training_trace":"on"}'
npu.open().as_default()

def batches():
    for number in range(3):
        time.sleep(0.04)
        yield np.full((4, 8), number, "float32"), np.zeros(4, "int64")

shapes = (tf.TensorSpec((4, 8), tf.float32), tf.TensorSpec((4,), tf.int64))
model = tf.keras.Sequential([tf.keras.layers.Dense(3, input_shape=(8,))])
model.compile(optimizer="sgd", loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(tf.data.Dataset.from_generator(batches, output_signature=shapes), verbose=0)
"""

# Says nothing of profiling: the environment does.
CLOSED = """
import npu_device as npu
import tensorflow as tf
handle = npu.open()
tf.nn.relu(tf.ones((3, 3)))
with handle.scope():
    tf.nn.softmax(tf.ones((3, 3)))
tf.nn.relu(tf.ones((3, 3)))
npu.npu_device.close()
import glob
print("written=%d" % len(glob.glob("out/PROF_*/mindstudio_profiler_output/op_summary_*.csv")))
"""


@pytest.fixture(scope="module")
def runs(scripts: Any, example: Any) -> tuple[Any, Any]:
    """Return the example on the NPU, and without it."""
    script = example / "train_keras.py"
    on_npu = scripts(script, "--steps", "4", environment={"DRYNPU_CHIP": "Ascend910A"})
    return on_npu, scripts(script, "--steps", "4", "--plain")


@pytest.fixture(scope="module")
def own(scripts: Any) -> Any:
    return scripts(OWN_CODE, status=1, environment={"DRYNPU_QUIET": "1"})


def test_losses_are_those_of_plain_tensorflow(runs: tuple[Any, Any]) -> None:
    losses = [re.findall(r"^(?:epoch|fine tuning) \d+ loss .*$", run.stdout, re.MULTILINE) for run in runs]
    assert len(losses[0]) == 5
    assert losses[0] == losses[1]
    assert not (runs[1].folder / "tf2_out").exists()


def test_the_example_leaves_every_default_file(runs: tuple[Any, Any]) -> None:
    assert runs[0].prof("tf2_out").stems == {*_DEFAULT_FILES, "aicpu.csv", "aicpu_mi.csv", "dp.csv"}
    assert "Every operator that launches a kernel is mapped." in runs[0].stdout


def test_every_step_of_fit_takes_a_batch_from_the_queue(runs: tuple[Any, Any]) -> None:
    prof = runs[0].prof("tf2_out")
    assert prof.column("dp", "Source") == ["iterator"] * 8
    taking = [row for row in prof.rows("op_summary") if row["OP Type"] == "GetNext"]
    assert {(row["Task Type"], row["Output Shapes"].strip('"')) for row in taking} == {("AI_CPU", "32,16,16,1;32")}
    takes = [event for event in prof.trace("step_trace") if event["name"] == "GetNext"]
    assert len(taking) == len(takes) == len(prof.rows("aicpu_mi")) == 8
    # The first batch is made when it is asked for; the host does not run ahead of what is launched before.
    assert takes[0]["dur"] > 0


def test_late_batches_are_waited_for_before_the_forward_part(scripts: Any) -> None:
    """Each of three batches takes 40 ms, and the pipeline makes the first when it is asked for it."""
    prof = scripts(SLOW_DATA, environment={"DRYNPU_QUIET": "1"}).prof()
    takes = [event for event in prof.trace("step_trace") if event["name"] == "GetNext"]
    # The fourth finds the end of the data.
    assert len(takes) == 4
    assert takes[0]["dur"] >= 40_000
    products = [float(row["Task Start Time(us)"]) for row in prof.rows("op_summary") if row["OP Type"] == "MatMulV2"]
    forward = [float(row["FP Start(us)"]) for row in prof.rows("step_trace")[:3]]
    assert forward == pytest.approx(products[::2][:3], abs=0.001)


def test_every_step_is_an_iteration_with_its_passes(runs: tuple[Any, Any]) -> None:
    rows = runs[0].prof("tf2_out").rows("step_trace")
    models: dict[str, list[int]] = {}
    for row in rows:
        models.setdefault(row["Model ID"], []).append(int(row["Iteration ID"]))
    assert list(models.values()) == [list(range(1, 9)), [1, 2, 3]]
    assert all(row["FP Start(us)"] < row["BP End(us)"] <= row["Iteration End(us)"] for row in rows)


def test_kernels_are_called_as_their_nodes_and_have_shapes(runs: tuple[Any, Any]) -> None:
    rows = runs[0].prof("tf2_out").rows("op_summary")
    forward = [row for row in rows if row["OP Type"] == "Conv2D" and "conv2d/Conv2D" in row["Op Name"]]
    assert len(forward) == 11
    assert {row["Input Data Types"].split(";")[0] for row in forward} == {"FLOAT"}
    assert len([row for row in rows if row["OP Type"].startswith("Conv2DBackpropFilter")]) == 8
    assert all(row["Output Shapes"] not in ("", "N/A") for row in forward)


def test_fused_operators_are_listed(runs: tuple[Any, Any]) -> None:
    originals = [row["Original Ops"] for row in runs[0].prof("tf2_out").rows("fusion_op")]
    assert any(re.search(r"conv2d/Conv2D;.*conv2d/BiasAdd;.*conv2d/Relu", text) for text in originals)


def test_the_guides_sample_leaves_its_results(scripts: Any) -> None:
    run = scripts(GUIDE, environment={"DRYNPU_QUIET": "1"})
    prof = run.prof()
    assert prof.stems >= _DEFAULT_FILES - {"fusion_op.csv"}
    assert len(prof.rows("step_trace")) == 3
    products = [row for row in prof.rows("op_summary") if row["Op Name"].endswith("dense/MatMul")]
    assert products[0]["Input Shapes"].strip('"').split(";")[:2] == ["4,8", "8,4"]


def test_only_what_runs_on_the_device_is_recorded(own: Any) -> None:
    """The product before the device is the default one is the host's."""
    shapes = [row["Input Shapes"] for row in own.prof().rows("op_summary") if row["OP Type"].startswith("MatMul")]
    assert [text for text in shapes if "64,32" in text]
    assert not [text for text in shapes if "2,2" in text.strip('"').split(";")]


def test_loops_run_turn_by_turn_and_are_not_compiled(own: Any) -> None:
    """Two of three runs are recorded: the one in between ran while TensorBoard's profiler was on."""
    rows = own.prof().rows("op_summary")
    assert len([row for row in rows if row["OP Type"] == "SoftmaxV2"]) == 8


def test_another_profiler_gets_its_trace_and_is_told_of(own: Any) -> None:
    assert list((own.folder / "theirs").glob("plugins/profile/*/*.xplane.pb"))
    assert len([line for line in own.said if "TensorBoard" in line]) == 1
    assert [row for row in own.prof().rows("op_summary") if row["OP Type"] == "Relu"]


def test_an_exception_leaves_what_was_recorded(own: Any) -> None:
    assert "KeyError: 'the script fails'" in own.stderr
    assert "op_summary.csv" in own.prof().stems


@pytest.fixture(scope="module")
def closed(scripts: Any) -> Any:
    options = '{"output":"./out","task_time":"on"}'
    environment = {"DRYNPU_QUIET": "1", "PROFILING_MODE": "true", "PROFILING_OPTIONS": options}
    return scripts(CLOSED, environment=environment)


def test_a_scope_records_what_is_inside(closed: Any) -> None:
    types = set(closed.prof().column("op_summary", "OP Type"))
    assert "SoftmaxV2" in types
    assert "Relu" not in types


def test_the_environment_profiles_a_script_that_says_nothing_and_close_writes(closed: Any) -> None:
    assert closed.printed("written") == 1
