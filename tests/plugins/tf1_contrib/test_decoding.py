"""``tf.contrib.seq2seq`` against steps that NumPy makes."""

from __future__ import annotations

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
from tensorflow.contrib import seq2seq
from tensorflow.contrib.seq2seq.python.ops import beam_search_ops, decoder as decoders

RANDOM = np.random.RandomState(5)
X = RANDOM.randn(2, 4, 3).astype(np.float32)
MEMORY = RANDOM.randn(2, 5, 3).astype(np.float32)
LENGTHS = [4, 2]


def show(name, fetches):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        values = session.run([fetches, {v.op.name: v for v in tf.global_variables()}])
    print(name + "=" + json.dumps(tf.nest.map_structure(lambda x: x.tolist(), values)))
    tf.reset_default_graph()


show("data", [tf.constant(X), tf.constant(MEMORY)])
cell = tf.nn.rnn_cell.GRUCell(4)
helper = seq2seq.TrainingHelper(X, LENGTHS)
layer = tf.layers.Dense(6, use_bias=False, name="out")
decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32), layer)
assert isinstance(decoder, decoders.Decoder)
outputs, state, lengths = seq2seq.dynamic_decode(decoder, impute_finished=True)
gradient = tf.gradients(outputs.rnn_output, tf.trainable_variables())
with tf.variable_scope("decoder", reuse=True):
    plain, last = tf.nn.dynamic_rnn(cell, tf.constant(X), LENGTHS, dtype=tf.float32)
show("trained", [outputs.rnn_output, outputs.sample_id, state, lengths, layer(plain), last])

table = tf.constant(RANDOM.randn(6, 3).astype(np.float32))
cell = tf.nn.rnn_cell.BasicRNNCell(6)
helper = seq2seq.GreedyEmbeddingHelper(table, [1, 2], end_token=0)
decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
outputs, state, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=5, output_time_major=True)
sampled = seq2seq.BasicDecoder(
    cell, seq2seq.SampleEmbeddingHelper(table, [1, 2], 0, seed=1), cell.zero_state(2, tf.float32)
)
samples, _, _ = seq2seq.dynamic_decode(sampled, maximum_iterations=5)
show("greedy", [outputs.rnn_output, outputs.sample_id, lengths, table, samples.sample_id])

for name, kind, options in (
    ("luong", seq2seq.LuongAttention, {"scale": True}),
    ("bahdanau", seq2seq.BahdanauAttention, {}),
    ("normal", seq2seq.BahdanauAttention, {"normalize": True}),
):
    mechanism = kind(4, MEMORY, memory_sequence_length=[5, 3], **options)
    wrapper = seq2seq.AttentionWrapper(
        tf.nn.rnn_cell.GRUCell(4), mechanism, attention_layer_size=2, alignment_history=True
    )
    helper = seq2seq.TrainingHelper(X, LENGTHS)
    decoder = seq2seq.BasicDecoder(wrapper, helper, wrapper.zero_state(2, tf.float32))
    outputs, state, _ = seq2seq.dynamic_decode(decoder)
    gradient = tf.gradients(outputs.rnn_output, tf.trainable_variables())
    assert all(each is not None for each in gradient), name
    cells = tf.nn.rnn_cell.GRUCell(4)
    show(name, [outputs.rnn_output, state.alignment_history.stack(), state.cell_state])

ids = np.array([[[1, 2]], [[3, 4]], [[5, 0]]])
parents = np.array([[[0, 0]], [[0, 0]], [[1, 0]]])
show(
    "tree",
    [
        beam_search_ops.gather_tree(ids, parents, [3], 0),
        beam_search_ops.gather_tree(ids, parents, [2], 0),
        seq2seq.tile_batch(tf.constant([[1], [2]]), 2),
        seq2seq.hardmax(tf.constant([[0.1, 0.7], [2.0, 1.0]])),
    ],
)
weights = np.array([[1, 1, 1, 0], [1, 0.5, 0, 0]], np.float32)
targets = np.array([[0, 1, 2, 0], [2, 1, 0, 0]])
show(
    "losses",
    [
        seq2seq.sequence_loss(X, targets, weights),
        seq2seq.sequence_loss(X, targets, weights, average_across_timesteps=False),
        seq2seq.sequence_loss(X, targets, weights, False, False),
    ],
)
"""
RUN = (sys.executable, "-W", "ignore", "-m", "drynpu", "run", "--quiet")


def softmax(x: Any) -> Any:
    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def gru(x: Any, state: Any, w: dict[str, Any], at: str) -> Any:
    joined = np.concatenate([x, state], -1)
    r, u = np.split(sigmoid(joined @ w[f"{at}/gates/kernel"] + w[f"{at}/gates/bias"]), 2, -1)
    new = np.tanh(np.concatenate([x, r * state], -1) @ w[f"{at}/candidate/kernel"] + w[f"{at}/candidate/bias"])
    return u * state + (1 - u) * new


def scores(kind: str, output: Any, keys: Any, w: dict[str, Any]) -> Any:
    at = "decoder/attention_wrapper/"
    if kind == "luong":
        return w[f"{at}luong_attention/attention_g"] * np.einsum("bu,btu->bt", output, keys)
    query = output @ w[f"{at}bahdanau_attention/query_layer/kernel"]
    v = w[f"{at}bahdanau_attention/attention_v"]
    bias = 0
    if kind == "normal":
        v = w[f"{at}bahdanau_attention/attention_g"] * v / np.linalg.norm(v)
        bias = w[f"{at}bahdanau_attention/attention_b"]
    return (v * np.tanh(keys + query[:, None] + bias)).sum(-1)


def test_decoders_and_attention(scripts: Any) -> None:
    run = scripts(SCRIPT, program=RUN)
    assert not [line for line in run.stderr.splitlines() if "drynpu_tf" in line and "deprecated" in line]

    def found(name: str) -> tuple[Any, dict[str, Any]]:
        values, variables = run.printed(name)
        return values, {key: np.array(value) for key, value in variables.items()}

    def close(one: Any, other: Any) -> None:
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)

    x, memory = map(np.array, found("data")[0])
    outputs, samples, state, lengths, plain, last = found("trained")[0]
    close(outputs, plain)
    close(state, last)
    assert lengths == [4, 2]
    assert np.array(samples)[0].tolist() == np.array(plain)[0].argmax(-1).tolist()
    greedy(found, close)
    for kind in ("luong", "bahdanau", "normal"):
        (outputs, history, state), w = found(kind)
        keys = (memory * np.array([[1] * 5, [1, 1, 1, 0, 0]])[:, :, None]) @ w["memory_layer/kernel"]
        cell, attention = np.zeros([2, 4]), np.zeros([2, 2])
        for time in range(4):
            if time == 2:
                x[1, 2:] = x[1, 2:]  # the helper feeds what there is until all sequences have ended
            cell = gru(np.concatenate([x[:, time], attention], -1), cell, w, "decoder/attention_wrapper/gru_cell")
            score = scores(kind, cell, keys, w)
            score[1, 3:] = -np.inf
            weights = softmax(score)
            context = np.einsum("bt,btu->bu", weights, memory * (np.arange(5) < [[5], [3]])[:, :, None])
            joined = np.concatenate([cell, context], -1)
            attention = joined @ w["decoder/attention_wrapper/attention_layer/kernel"]
            close(np.array(history)[time], weights)
            close(np.array(outputs)[:, time], attention)
        close(state, cell)
    whole, cut, tiled, hard = found("tree")[0]
    assert whole == [[[1, 1]], [[4, 3]], [[5, 0]]]
    assert cut == [[[1, 1]], [[3, 4]], [[0, 0]]]
    assert (tiled, hard) == ([[1], [1], [2], [2]], [[0, 1], [1, 0]])
    losses(found, close, x)


def greedy(found: Any, close: Any) -> None:
    (outputs, samples, lengths, table, drawn), w = found("greedy")
    table, state, ids = np.array(table), np.zeros([2, 6]), np.array([1, 2])
    ended = np.zeros(2, bool)
    expected = np.zeros(2, int)
    for time in range(len(samples)):
        at = "decoder/basic_rnn_cell/"
        state = np.tanh(np.concatenate([table[ids], state], -1) @ w[f"{at}kernel"] + w[f"{at}bias"])
        close(outputs[time], state)
        ids = state.argmax(-1)
        assert samples[time] == ids.tolist()
        expected = np.where(ended, expected, time + 1)
        ended |= ids == 0
    assert lengths == expected.tolist()
    assert len(samples) == 5 or ended.all()
    assert set(np.array(drawn).ravel()) <= set(range(6))


def losses(found: Any, close: Any, x: np.ndarray) -> None:
    every, by_time, each = found("losses")[0]
    logs = np.log(softmax(x))
    targets = np.array([[0, 1, 2, 0], [2, 1, 0, 0]])
    weights = np.array([[1, 1, 1, 0], [1, 0.5, 0, 0]])
    crossed = -np.take_along_axis(logs, targets[:, :, None], 2)[:, :, 0] * weights
    close(each, crossed)
    close(every, crossed.sum() / weights.sum())
    close(by_time, crossed.sum(0) / np.maximum(weights.sum(0), 1e-12))
