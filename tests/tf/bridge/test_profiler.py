"""Local profiling: ``with profiler.Profiler(...)`` around runs of a session."""

from __future__ import annotations

from typing import Any

import pytest

SCRIPT = """
import json, os
import numpy as np
from npu_bridge.npu_init import *
tf1 = tf.compat.v1
tf1.disable_v2_behavior()
found = {}

def outcome(call):
    try:
        return call()
    except Exception as error:
        return [type(error).__name__, str(error)]

def local(**options):
    return profiler.Profiler(output_path="out", **options)

def count():
    return len(os.listdir("out")) if os.path.isdir("out") else 0

x = tf1.placeholder(tf.float32, [None, 8])
y = tf.matmul(x, tf1.get_variable("w", [8, 4]))
value = {x: np.ones((2, 8))}
with tf1.Session() as sess:
    sess.run(tf1.global_variables_initializer())
    with local():
        pass
    found["no run"] = count()
    with local(level="L1"):
        found["nested"] = outcome(local().start)
        for _ in range(3):
            sess.run(y, value)
    found["three runs"] = count()
    ready = sess.make_callable(y, [x])
    ready(value[x])
    by_hand = local(level="L2", aic_metrics="Memory")
    by_hand.start()
    ready(value[x])
    by_hand.stop()
    by_hand.stop()
    try:
        with local():
            sess.run(y, value)
            raise KeyError("the script's own")
    except KeyError as error:
        found["error"] = str(error)
    sess.run(y, value)
    found["all"] = count()

config = tf1.ConfigProto()
custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
custom_op.name = "NpuOptimizer"
custom_op.parameter_map["profiling_mode"].b = True
custom_op.parameter_map["profiling_options"].s = b'{"output":"./both"}'
with tf1.Session(config=config) as sess:
    with local():
        found["both"] = outcome(lambda: sess.run(tf1.global_variables_initializer()))

found["refused"] = [
    outcome(local(level="l0").start),
    outcome(local(aic_metrics="Memory").start),
    outcome(local(level="L1", aic_metrics="memory").start),
    outcome(lambda: local(level=0)),
    outcome(lambda: profiler.Profiler(output_path=None)),
    outcome(lambda: profiler.Profiler("L0")),
]
print("found=" + json.dumps(found))
"""


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    return scripts(SCRIPT, environment={"DRYNPU_QUIET": "1"})


def test_only_blocks_with_a_run_leave_a_directory(run: Any) -> None:
    found = run.printed("found")
    assert found["no run"] == 0
    assert found["three runs"] == 1
    assert found["all"] == 3
    assert found["error"] == '"the script\'s own"' or found["error"] == '"the script\'s own"'


def test_a_directory_has_the_runs_of_its_block_and_the_data_of_its_level(run: Any) -> None:
    first, second, third = run.profs("out")
    assert [prof.column("op_summary", "Op Name").count("MatMul") for prof in (first, second, third)] == [3, 1, 1]
    assert "aic_mac_ratio" in first.rows("op_summary")[0]
    assert "aic_mac_ratio" not in second.rows("op_summary")[0]
    assert any("read_bw" in name for name in second.rows("op_summary")[0])
    assert not any(name.startswith("aic_") for name in third.rows("op_summary")[0])
    # L0 has no shapes: the collector asks the graph engine for them from L1 on.
    assert "step_trace.csv" not in first.stems


def test_the_vendors_errors(run: Any) -> None:
    found = run.printed("found")
    assert found["nested"] == ["RuntimeError", "Not support nested call 'profiler.Profiler'."]
    assert found["both"] == [
        "InvalidArgumentError",
        (
            "The option 'profiling_mode' or env variables 'PROFILING_MODE' cannot be set to true when using "
            "'profiler.Profiler'."
        ),
    ]
    metrics = "ArithmeticUtilization, L2Cache, Memory, MemoryL0, MemoryUB, PipeUtilization, ResourceConflictRatio"
    *refused, positional = found["refused"]
    assert refused == [
        ["RuntimeError", "Profiler options: level cannot set to: l0, should set level to [L0, L1, L2]."],
        ["RuntimeError", "Please use L1 or L2 if you want to collect aic metrics!"],
        [
            "RuntimeError",
            f"Profiler options: aic_metrics cannot set to: memory, should set aic_metrics to [{metrics}].",
        ],
        ["ValueError", "Option level should be str, but get type: <class 'int'>"],
        ["ValueError", "Option output_path should be str, but get type: <class 'NoneType'>"],
    ]
    assert positional[0] == "TypeError"
