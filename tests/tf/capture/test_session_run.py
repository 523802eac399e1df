"""Runs of sessions that are read later are what the runtime told of each."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from tensorflow.core.protobuf import config_pb2

from drynpu import CaptureError
from drynpu_tf.capture import RunContent, SessionCapture

KEY = ("train",)


@pytest.fixture(scope="module")
def runs():
    """Return a capture and what it kept of runs with loops of several lengths and batches of several sizes."""
    with tf.Graph().as_default() as graph:
        features = tf.placeholder(tf.float32, [None, 8], name="features")
        turns = tf.placeholder(tf.int32, [], name="turns")
        weights = tf.constant(np.ones((8, 8), np.float32))
        _, hidden = tf.while_loop(
            lambda turn, _: turn < turns, lambda turn, x: (turn + 1, tf.nn.relu(x @ weights)), (0, features)
        )
        loss = tf.reduce_mean(hidden, name="loss")
        positive = tf.where(hidden > 0)
        capture, kept = SessionCapture(), []
        with tf.Session(graph=graph) as session:
            for batch, number in ((3, 1), (3, 4), (5, 2), (3, 1)):
                content = RunContent()
                feeds = {features: np.ones((batch, 8)), turns: number}
                session.run([loss, positive], feeds, capture.prepare(None, KEY), content)
                kept.append(capture.take(KEY, content.content, graph))
    return capture, kept, [capture.read(KEY, *run) for run in zip(kept, (7, 8, 9, 7), strict=True)]


def expected(content, names):
    """Return ``(name, start, end)`` of a run, read node by node."""
    metadata = config_pb2.RunMetadata.FromString(content)
    nodes = [node for device in metadata.step_stats.dev_stats for node in device.node_stats if node.node_name in names]
    rows = [
        (node.node_name, node.all_start_nanos + node.op_start_rel_nanos, node.all_start_nanos + node.op_end_rel_nanos)
        for node in nodes
    ]
    return sorted(rows, key=lambda row: (row[1], -row[2]))


def test_nodes_and_times_are_those_of_each_run(runs):
    _, kept, found = runs
    for content, run in zip(kept, found, strict=True):
        table = run.operators
        rows = zip(table.name, table.start_ns.tolist(), table.end_ns.tolist(), strict=True)
        assert [(table.names[name], start, end) for name, start, end in rows] == expected(content, set(table.names))
    assert [set(run.operators.thread.tolist()) for run in found] == [{7}, {8}, {9}, {7}]
    turns = [sum(run.operators.names[name].endswith("/matmul") for name in run.operators.name) for run in found]
    assert turns == [1, 4, 2, 1]


def test_shapes_are_those_of_each_run(runs):
    _, _, found = runs
    batches = []
    for run in found:
        (product,) = [call for call in run.operators.signatures if call.name == "MatMul"]
        batches.append(product.inputs[0].shape[0])
    assert batches == [3, 3, 5, 3]
    # The same shapes are the same calls, however many turns a loop made.
    assert found[0].operators.signatures is found[1].operators.signatures
    assert found[0].operators.signatures is found[3].operators.signatures


def test_the_graph_is_asked_for_once_and_not_kept(runs):
    capture, kept, _ = runs
    assert not capture.prepare(None, KEY).output_partition_graphs
    assert not config_pb2.RunMetadata.FromString(kept[0]).partition_graphs
    own = config_pb2.RunOptions(timeout_in_ms=5)
    prepared = capture.prepare(own, ("other",))
    assert (prepared.timeout_in_ms, prepared.output_partition_graphs) == (5, True)
    assert own.trace_level == own.NO_TRACE


def test_what_cannot_be_read_is_told(runs):
    capture, kept, _ = runs
    with pytest.raises(CaptureError, match="step stats cannot be read"):
        capture.read(KEY, kept[0][:-3], 1)
