"""Private names of TensorFlow: this release has them, and one that lacks some runs scripts unrecorded, with a line."""

from __future__ import annotations

import csv
from typing import Any

import pytest
from tests.scripts import FRESH

from drynpu_tf import inside

MOVED = """
import drynpu_tf.inside as inside
inside.PLACES = {**inside.PLACES, NAME: "tensorflow.python.moved.elsewhere"}
"""
SESSION = """
import npu_bridge
import tensorflow.compat.v1 as tf
tf.disable_eager_execution()
with tf.Session() as session:
    print("sum=%s" % session.run(tf.reduce_sum(tf.ones((2, 3)))))
"""
FUNCTION = """
import npu_device as npu
import tensorflow as tf
npu.global_options().profiling_config.enable_profiling = True
npu.global_options().profiling_config.profiling_options = '{"output":"./out","task_time":"on"}'
npu.open().as_default()
print("sum=%s" % float(tf.function(tf.reduce_sum)(tf.ones((2, 3)))))
"""
PRODUCT = (
    FUNCTION
    + """
tf.function(lambda x, y: tf.nn.relu(tf.matmul(x, y)))(tf.ones((16, 8)), tf.ones((8, 4)))
"""
)


@pytest.mark.parametrize("name", sorted(inside.PLACES))
def test_this_release_has_every_private_name(name: str) -> None:
    assert getattr(inside, name) is not None


@pytest.mark.parametrize(
    ("name", "script", "lost"),
    [
        ("op_callbacks", FUNCTION, "functions and eager operators are not recorded"),
        ("polymorphic_function", FUNCTION, "functions and eager operators are not recorded"),
        ("session", SESSION, "sessions are not recorded"),
    ],
)
def test_without_a_private_name_scripts_run_and_a_line_says_what_is_lost(
    scripts: Any, name: str, script: str, lost: str
) -> None:
    done = scripts(f"NAME = {name!r}{MOVED}{script}", environment=FRESH)
    assert done.printed("sum") == 6.0
    (line,) = [line for line in done.stderr.splitlines() if lost in line]
    assert line.startswith("[drynpu] ")
    assert "tensorflow.python.moved.elsewhere" in line
    assert not list(done.folder.glob("**/PROF_*"))


def test_kernels_of_functions_have_the_shapes_of_the_trace(scripts: Any) -> None:
    done = scripts(PRODUCT)
    (folder,) = done.folder.glob("out/PROF_*/mindstudio_profiler_output")
    (summary,) = folder.glob("op_summary_*.csv")
    with summary.open(encoding="utf-8", newline="") as stream:
        (product,) = [row for row in csv.DictReader(stream) if row["OP Type"] == "MatMulV2"]
    assert product["Input Shapes"].strip().strip('"') == "16,8;8,4"
