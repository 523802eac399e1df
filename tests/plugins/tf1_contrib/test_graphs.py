"""``tf.contrib.graph_editor``, ``predictor`` and ``opt.ScipyOptimizerInterface``."""

from __future__ import annotations

import sys
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import importlib.util
import json
import npu_bridge
import numpy as np
import tensorflow as tf
import tensorflow.contrib.graph_editor as ge

x = tf.placeholder(tf.float32, [2], name="x")
w = tf.get_variable("w", initializer=[1.0, -2.0])
first = tf.multiply(x, w, name="first")
second = tf.tanh(first, name="second")
third = tf.square(second, name="third")
aside = tf.identity(x, name="aside")
names = lambda ops: sorted(op.name for op in ops)
forward = ge.get_forward_walk_ops(first.op)
found = {
    "forward": names(forward),
    "behind": names(ge.get_forward_walk_ops([first.op], inclusive=False)),
    "backward": [op for op in names(ge.get_backward_walk_ops([third.op])) if "/" not in op],
    "within": names(ge.get_backward_walk_ops(third.op, within_ops=forward)),
    "tensors": names(ge.filter_ts(forward, True)),
    "pattern": names(ge.filter_ts_from_regex(forward, "sec|third")),
    "selected": names(ge.select_ops("^(first|aside)$", graph=tf.get_default_graph())),
}
copies, info = ge.copy_with_input_replacements(ge.sgv([first.op, second.op]), {x: aside + 1.0})
changed = ge.reroute_ts([info.transformed(second)], [second], can_modify=[third.op])
order = tf.constant(0.0, name="order")
ge.add_control_inputs(third.op, [order.op])
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    found["values"] = session.run([second, third], {x: [0.5, 0.25]})
    tf.saved_model.simple_save(session, "./saved", {"x": x}, {"y": second})
found["values"] = [value.tolist() for value in found["values"]]
found["copied"] = [len(copies.ops), changed, third.op.control_inputs[0].name]
predict = tf.contrib.predictor.from_saved_model("./saved")
found["predicted"] = predict({"x": [0.5, 0.25]})["y"].tolist()
try:
    predict({"z": 1})
except ValueError as error:
    found["refused"] = str(error)
tf.reset_default_graph()
v = tf.get_variable("v", initializer=[5.0, 5.0])
u = tf.get_variable("u", initializer=3.0)
loss = tf.reduce_sum(tf.square(v - [1.0, -2.0])) + tf.square(u + 4.0)
try:
    interface = tf.contrib.opt.ScipyOptimizerInterface
    bounded = interface(loss, var_to_bounds={u: (-1.0, 9.0)}, options={"maxiter": 50})
    constrained = interface(loss, var_list=[v], equalities=[v[0] + v[1]])
    seen = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        bounded.minimize(session, fetches=[loss], loss_callback=seen.append)
        found["least"] = [session.run(v).tolist(), float(session.run(u)), len(seen) > 1]
        constrained.minimize(session)
        found["least"].append(session.run(v).tolist())
except ModuleNotFoundError as error:
    found["missing"] = error.name
print("found=" + json.dumps(found))
"""
RUN = (sys.executable, "-W", "ignore", "-m", "drynpu", "run", "--quiet")


def test_graphs_are_walked_copied_and_run(scripts: Any) -> None:
    found = scripts(SCRIPT, program=RUN).printed("found")
    assert found["forward"] == ["first", "second", "third"]
    assert found["behind"] == ["second", "third"]
    assert found["backward"] == ["first", "second", "third", "w", "x"]
    assert found["within"] == ["first", "second", "third"]
    assert found["tensors"] == ["first:0", "second:0", "third:0"]
    assert found["pattern"] == ["second:0", "third:0"]
    assert found["selected"] == ["aside", "first"]
    # tanh(x w), and the square of tanh((x + 1) w), which the copies compute.
    second, third = found["values"]
    assert second == pytest.approx([0.46211716, -0.46211716])
    assert third == pytest.approx([0.90514825**2, 0.98661430**2])
    assert found["copied"] == [2, 1, "order"]
    assert found["predicted"] == second
    assert found["refused"].startswith("Got unexpected keys in input_dict: ['z']")


def test_scipy_minimizes_within_bounds(scripts: Any) -> None:
    pytest.importorskip("scipy", reason="scipy is not installed, which ScipyOptimizerInterface needs")
    found = scripts(SCRIPT, program=RUN).printed("found")
    free, bound, seen, constrained = found["least"]
    assert free == pytest.approx([1.0, -2.0], abs=1e-3)
    assert bound == pytest.approx(-1.0)
    assert seen
    # The nearest point of the line x + y = 0 to (1, -2).
    assert constrained == pytest.approx([1.5, -1.5], abs=1e-3)
