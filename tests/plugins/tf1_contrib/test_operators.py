"""Functions and cells of ``tf.contrib`` that drynpu brings, against NumPy and by their definitions."""

from __future__ import annotations

import functools
import itertools
import sys
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import json
import npu_bridge
import numpy as np
import tensorflow as tf
from tensorflow.contrib.image.python.ops import distort_image_ops

RANDOM = np.random.RandomState(7)
X = RANDOM.randn(2, 5, 3).astype(np.float32)
LENGTHS = np.array([5, 3])


def show(name, fetches, feed=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = session.run([fetches, {v.op.name: v for v in tf.global_variables()}], feed)
    as_lists = tf.nest.map_structure(lambda x: x.tolist() if hasattr(x, "tolist") else x, values)
    print(name + "=" + json.dumps(as_lists))
    tf.reset_default_graph()


show("inputs", tf.constant(X))

cells = {
    "norm": lambda: tf.contrib.rnn.LayerNormBasicLSTMCell(4),
    "plain": lambda: tf.contrib.rnn.LayerNormBasicLSTMCell(4, layer_norm=False),
    "nas": lambda: tf.contrib.rnn.NASCell(4, num_proj=2, use_bias=True),
    "block": lambda: tf.contrib.rnn.LSTMBlockCell(4),
    "gru": lambda: tf.contrib.cudnn_rnn.CudnnCompatibleGRUCell(4),
    "projected": lambda: tf.contrib.rnn.OutputProjectionWrapper(tf.contrib.rnn.GRUCell(4), 2),
}
for name, build in cells.items():
    tf.set_random_seed(3)
    outputs, state = tf.nn.dynamic_rnn(build(), tf.constant(X), LENGTHS, dtype=tf.float32)
    with tf.control_dependencies(tf.gradients(outputs, tf.trainable_variables())):
        outputs = tf.identity(outputs)
    show(name, outputs)

weights = tf.placeholder(tf.float32, [7, 16])
step = np.zeros([1, 4], np.float32)
whole = tf.concat([tf.constant(X[:1, 0]), step], 1)
block = tf.raw_ops.LSTMBlockCell(
    x=tf.constant(X[:1, 0]), cs_prev=step + 0.3, h_prev=step + 0.2, w=weights, wci=step[0], wcf=step[0], wco=step[0],
    b=np.zeros(16, np.float32), forget_bias=1.0,
)
reference = tf.matmul(tf.concat([tf.constant(X[:1, 0]), step + 0.2], 1), weights)
i, j, f, o = tf.split(reference, 4, 1)
c = 0.3 * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
h = tf.sigmoid(o) * tf.tanh(c)
ours = tf.gradients(tf.reduce_sum(block.h * [1.0, 2.0, 3.0, 4.0]) + tf.reduce_sum(block.cs), weights)[0]
theirs = tf.gradients(tf.reduce_sum(h * [1.0, 2.0, 3.0, 4.0]) + tf.reduce_sum(c), weights)[0]
show("gradient", [ours, theirs], {weights: RANDOM.randn(7, 16)})

forward = [tf.contrib.rnn.GRUCell(3) for _ in range(2)]
backward = [tf.contrib.rnn.GRUCell(3) for _ in range(2)]
outputs, first, second = tf.contrib.rnn.stack_bidirectional_dynamic_rnn(
    forward, backward, tf.constant(X), dtype=tf.float32, sequence_length=LENGTHS
)
show("stacked", [outputs, first[1], second[1]])
scope = tf.variable_scope("run", reuse=tf.AUTO_REUSE)
with scope:
    cell = tf.nn.rnn_cell.GRUCell(3)
    there, _ = tf.contrib.recurrent.functional_rnn(cell, tf.constant(X), dtype=tf.float32, reverse=True)
with scope:
    plain, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(3), tf.constant(X[:, ::-1]), dtype=tf.float32)
show("reversed", [there, plain])

SCORES = RANDOM.randn(3, 4, 3).astype(np.float32)
TAGS = RANDOM.randint(0, 3, [3, 4])
MOVES = RANDOM.randn(3, 3).astype(np.float32)
STEPS = np.array([4, 2, 1])
likelihood, _ = tf.contrib.crf.crf_log_likelihood(SCORES, TAGS, STEPS, MOVES)
tags, best = tf.contrib.crf.crf_decode(SCORES, MOVES, STEPS)
path, top = tf.contrib.crf.viterbi_decode(SCORES[0], MOVES)
show("crf", [likelihood, tags, best, tf.constant(path), tf.constant(top)])
short, moves = tf.contrib.crf.crf_log_likelihood(tf.constant(SCORES[:, :1]), TAGS[:, :1], [1, 1, 1])
short_tags, _ = tf.contrib.crf.crf_decode(SCORES[:, :1], MOVES, [1, 1, 1])
show("short", [short, short_tags])
show("crf-inputs", [tf.constant(SCORES), tf.constant(TAGS), tf.constant(MOVES)])

image = np.arange(12, dtype=np.float32).reshape(1, 3, 4, 1)
show(
    "moved",
    [
        tf.contrib.image.translate(image, [1.0, 0.0])[0, :, :, 0],
        tf.contrib.image.rotate(image[:, :, :3], np.pi / 2)[0, :, :, 0],
        tf.contrib.image.transform(image[0, :, :, 0], [1.0, 0, 0.5, 0, 1, 0, 0, 0], "BILINEAR"),
        tf.contrib.image.compose_transforms([1.0, 0, 1, 0, 1, 2, 0, 0], [2.0, 0, 0, 0, 2, 0, 0, 0]),
    ],
)
pixel = np.array([[[0.2, 0.5, 0.7]]], np.float32)
show(
    "colours",
    [
        distort_image_ops.adjust_hsv_in_yiq(pixel, 0.0, 1.0, 1.0),
        distort_image_ops.adjust_hsv_in_yiq(pixel, 0.0, 0.0, 2.0),
        tf.shape(distort_image_ops.random_hsv_in_yiq(pixel, 0.1, 0.9, 1.1)),
    ],
)
distances = np.array([[0.5, 0.1, 0.3], [0.2, 0.15, 0.9], [0.01, 0.0, 0.0]], np.float32)
show("matched", tf.contrib.image.python.ops.image_ops.bipartite_match(distances, [2]))

data = RANDOM.rand(2, 4, 5, 2).astype(np.float32)
places = np.array([[[1.0, 2.0], [1.5, 0.5]], [[-0.5, 0.0], [9.0, 9.0]]], np.float32)
show("resampled", [tf.contrib.resampler.resampler(data, places), tf.constant(data)])

logits = [tf.constant(X[:, index]) for index in range(3)]
targets = [np.array([0, 2]), np.array([1, 1]), np.array([2, 0])]
shares = [np.array([1.0, 1.0], np.float32), np.array([1.0, 0.5], np.float32), np.array([0.0, 2.0], np.float32)]
legacy = tf.contrib.legacy_seq2seq
each = legacy.sequence_loss_by_example(logits, targets, shares)
show("legacy", [each, legacy.sequence_loss(logits, targets, shares)])
logits = [tf.constant(X[:, index]) for index in range(3)]
outputs, state = legacy.rnn_decoder(logits, tf.zeros([2, 4]), tf.nn.rnn_cell.GRUCell(4))
attended, _ = legacy.attention_decoder(
    logits, tf.zeros([2, 4]), tf.constant(X), tf.nn.rnn_cell.GRUCell(4), output_size=2, num_heads=2
)
show("decoders", [tf.stack(outputs), state, tf.stack(attended)])

ids = np.array([[1, 1, 3], [0, 3, 1]])
with tf.variable_scope("one"):
    rows = tf.contrib.layers.embed_sequence(ids, 5, 2, unique=True)
show("embedded", rows)
batches = tf.data.Dataset.range(7).apply(tf.contrib.data.batch_and_drop_remainder(3))
step = batches.make_one_shot_iterator().get_next()
show("batches", [step, tf.constant(step.shape.as_list())])
with tf.contrib.summary.create_file_writer("./logs").as_default(), tf.contrib.summary.always_record_summaries():
    tf.contrib.summary.scalar("loss", 1.0, step=tf.constant(1, tf.int64))
number = len(tf.contrib.summary.all_summary_ops())
w = tf.get_variable("w", [3, 4])
stats = tf.contrib.tfprof.model_analyzer.print_model_analysis(
    tf.get_default_graph(), tfprof_options=tf.contrib.tfprof.model_analyzer.TRAINABLE_VARS_PARAMS_STAT_OPTIONS
)
show("counted", tf.constant([number, stats.total_parameters]))
"""
RUN = (sys.executable, "-W", "ignore", "-m", "drynpu", "run", "--quiet")


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def norm(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)


def lstm(x: Any, state: Any, *, w: dict[str, Any], name: str, normal: bool = False) -> tuple[Any, Any]:
    cell, output = state
    change = norm if normal else (lambda values: values)
    gates = np.concatenate([x, output], -1) @ w[f"rnn/{name}/kernel"]
    i, j, f, o = map(change, np.split(gates, 4, -1))
    cell = change(cell * sigmoid(f + 1) + sigmoid(i) * np.tanh(j))
    output = np.tanh(cell) * sigmoid(o)
    return output, (cell, output)


def nas(x: Any, state: Any, *, w: dict[str, Any]) -> tuple[Any, Any]:
    cell, output = state
    a = np.split(x @ w["rnn/nas_cell/kernel"], 8, -1)
    b = np.split(output @ w["rnn/nas_cell/recurrent_kernel"] + w["rnn/nas_cell/bias"], 8, -1)
    one = np.tanh(sigmoid(a[0] + b[0]) * np.maximum(a[1] + b[1], 0))
    two = np.tanh(sigmoid(a[2] + b[2]) + np.maximum(a[3] * b[3], 0))
    three = np.tanh(np.tanh(a[4] + b[4]) * sigmoid(a[5] + b[5]))
    four = sigmoid(np.tanh(a[6] + b[6]) + sigmoid(a[7] + b[7]))
    cell = np.tanh(one + cell) * two
    output = np.tanh(cell * np.tanh(three + four)) @ w["rnn/nas_cell/projection_weights"]
    return output, (cell, output)


def gru(x: Any, state: Any, *, w: dict[str, Any]) -> tuple[Any, Any]:
    at = "rnn/cudnn_compatible_gru_cell/"
    r, u = np.split(sigmoid(np.concatenate([x, state], -1) @ w[f"{at}gates/kernel"] + w[f"{at}gates/bias"]), 2, -1)
    new = x @ w[f"{at}candidate/input_projection/kernel"]
    old = state @ w[f"{at}candidate/hidden_projection/kernel"]
    state = (1 - u) * np.tanh(new + r * old) + u * state
    return state, state


def over(step: Any, x: np.ndarray, state: Any, lengths: Any) -> np.ndarray:
    outputs = []
    for time in range(x.shape[1]):
        output, state = step(x[:, time], state)
        outputs.append(output * (time < lengths)[:, None])
    return np.stack(outputs, 1)


def test_values_are_those_of_the_definitions(scripts: Any) -> None:
    run = scripts(SCRIPT, program=RUN)
    assert not [line for line in run.stderr.splitlines() if "drynpu_tf" in line and "deprecated" in line]

    def found(name: str) -> tuple[Any, dict[str, Any]]:
        values, variables = run.printed(name)
        return values, {key: np.array(value) for key, value in variables.items()}

    def close(one: Any, other: Any) -> None:
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)

    x = np.array(found("inputs")[0])
    zero, lengths = np.zeros([2, 4]), np.array([5, 3])
    cells: tuple[tuple[str, Any, Any], ...] = (
        ("norm", functools.partial(lstm, name="layer_norm_basic_lstm_cell", normal=True), (zero, zero)),
        ("plain", functools.partial(lstm, name="layer_norm_basic_lstm_cell"), (zero, zero)),
        ("block", functools.partial(lstm, name="lstm_cell"), (zero, zero)),
        ("nas", nas, (zero, np.zeros([2, 2]))),
        ("gru", gru, zero),
    )
    for name, step, state in cells:
        values, w = found(name)
        close(values, over(functools.partial(step, w=w), x, state, lengths))
    values, w = found("projected")
    assert np.array(values).shape == (2, 5, 2)
    assert {"rnn/output_projection_wrapper/kernel", "rnn/output_projection_wrapper/bias"} <= set(w)
    close(*found("gradient")[0])
    close(*[np.array(found("reversed")[0][0]), np.array(found("reversed")[0][1])[:, ::-1]])
    (outputs, first, second), w = found("stacked")
    assert np.array(outputs).shape == (2, 5, 6)
    assert "stack_bidirectional_rnn/cell_1/bidirectional_rnn/bw/gru_cell/gates/kernel" in w
    # The last state forwards is the output at the last step of the sequence, backwards at its first.
    close(np.array(outputs)[[0, 1], [4, 2], :3], first)
    close(np.array(outputs)[:, 0, 3:], second)
    crf(found, close)
    images(found, close)
    rest(found, close, x)


def crf(found: Any, close: Any) -> None:
    scores, tags, moves = map(np.array, found("crf-inputs")[0])
    likelihood, decoded, best, path, top = found("crf")[0]
    for row, length in enumerate((4, 2, 1)):
        totals = {
            order: sum(scores[row, t, tag] for t, tag in enumerate(order))
            + sum(moves[a, b] for a, b in itertools.pairwise(order))
            for order in itertools.product(range(3), repeat=length)
        }
        total = np.log(sum(np.exp(value) for value in totals.values()))
        close(likelihood[row], totals[tuple(tags[row, :length])] - total)
        order = max(totals, key=lambda key: totals[key])
        assert tuple(decoded[row][:length]) == order
        close(best[row], totals[order])
        if row == 0:
            assert tuple(path) == order
            close(top, totals[order])
    short, short_tags = found("short")[0]
    alone = scores[:, 0] - np.log(np.exp(scores[:, 0]).sum(-1, keepdims=True))
    close(short, alone[np.arange(3), tags[:, 0]])
    assert np.array(short_tags)[:, 0].tolist() == scores[:, 0].argmax(-1).tolist()


def images(found: Any, close: Any) -> None:
    moved, turned, between, composed = found("moved")[0]
    assert moved == [[0, 0, 1, 2], [0, 4, 5, 6], [0, 8, 9, 10]]
    assert turned == np.rot90(np.arange(12).reshape(3, 4)[:, :3]).tolist()
    close(np.array(between)[:, :3], np.arange(12).reshape(3, 4)[:, :3] + 0.5)
    # First moved by (1, 2), then everything at half its size: the point (x, y) shows (2x + 1, 2y + 2).
    close(composed, [[2, 0, 1, 0, 2, 2, 0, 0]])
    same, grey, shape = found("colours")[0]
    close(np.round(np.array(same), 3), [[[0.2, 0.5, 0.7]]])
    close(grey, np.full([1, 1, 3], 2 * (0.299 * 0.2 + 0.587 * 0.5 + 0.114 * 0.7)))
    assert shape == [1, 1, 3]
    assert found("matched")[0] == [[1, 0, -1], [1, 0, -1]]
    sampled, data = found("resampled")[0]
    data = np.array(data)
    middle = data[0, 0:2, 1:3].mean((0, 1))
    close(sampled, [[data[0, 2, 1], middle], [0.5 * data[1, 0, 0], [0, 0]]])


def rest(found: Any, close: Any, x: np.ndarray) -> None:
    each, whole = found("legacy")[0]
    steps = x[:, :3]
    logs = steps - np.log(np.exp(steps).sum(-1, keepdims=True))
    losses = -np.array([[logs[0, 0, 0], logs[0, 1, 1], logs[0, 2, 2]], [logs[1, 0, 2], logs[1, 1, 1], logs[1, 2, 0]]])
    shares = np.array([[1, 1, 0], [1, 0.5, 2]])
    expected = (losses * shares).sum(1) / shares.sum(1)
    close(each, expected)
    close(whole, expected.mean())
    outputs, state, attended = found("decoders")[0]
    assert np.array(outputs).shape == (3, 2, 4)
    close(outputs[-1], state)
    assert np.array(attended).shape == (3, 2, 2)
    rows, w = found("embedded")
    close(rows, w["one/EmbedSequence/embeddings"][[[1, 1, 3], [0, 3, 1]]])
    assert found("batches")[0] == [[0, 1, 2], [3]]
    assert found("counted")[0] == [1, 12]
