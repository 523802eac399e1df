"""Types of kernels that have constants compiled in: on the first generation they end in D, on the A2 they do not."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import json
import npu_bridge.npu_init
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
given = tf.placeholder(tf.float32, [6, 10])
turned = tf.transpose(given, [1, 0], name="turned")
joined = tf.concat([turned, turned * 2.0], 1, name="joined")
total = tf.reduce_sum(joined, 0, name="total")
best = tf.nn.top_k(joined, 3, name="best")
config = tf.ConfigProto()
options = config.graph_options.rewrite_options.custom_optimizers.add(name="NpuOptimizer").parameter_map
options["profiling_mode"].b = True
options["profiling_options"].s = json.dumps({"output": "out", "task_time": "on"}).encode()
with tf.Session(config=config) as session:
    session.run([total, best], {given: np.ones((6, 10), np.float32)})
"""
NODES = ("turned", "joined", "total", "best")


@pytest.mark.parametrize(
    ("chip", "types"),
    [
        ("Ascend910A", ["TransposeD", "ConcatD", "ReduceSumD", "TopKD"]),
        ("Ascend910B2", ["Transpose", "ConcatD", "ReduceSum", "TopKV2"]),
    ],
)
def test_the_generation_of_the_chip_decides(chip: str, types: list[str], scripts: Any) -> None:
    run = scripts(SCRIPT, environment={"DRYNPU_QUIET": "1", "DRYNPU_CHIP": chip})
    rows = {row["Op Name"]: row for row in run.prof("out").rows("op_summary")}
    assert [rows[node]["OP Type"] for node in NODES] == types
    assert rows["turned"]["Output Shapes"].strip('"') == "10,6"
    assert all(float(rows[node]["Task Duration(us)"]) > 0 for node in NODES)
