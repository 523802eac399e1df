"""``tf.contrib.legacy_seq2seq``: decoders and losses over lists of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from drynpu_tf.foreign import Cell, DType, Scope, State, Tensor, TensorLike

Loss = Callable[..., Any]
SMALLEST = 1e-12
"""Keeps the division by weights that are all 0 from being one by 0."""


def sequence_loss_by_example(
    logits: Sequence[TensorLike],
    targets: Sequence[TensorLike],
    weights: Sequence[TensorLike],
    average_across_timesteps: bool = True,
    softmax_loss_function: Loss | None = None,
    name: str | None = None,
) -> Tensor:
    """
    Return the weighted cross-entropy of each sequence, ``(count,)``.

    Parameters
    ----------
    logits, targets, weights:
        One entry for each step: ``(count, classes)``, ``(count,)`` and ``(count,)``.
    average_across_timesteps:
        Whether to divide by the sum of the weights.
    softmax_loss_function:
        Called with ``labels`` and ``logits`` in place of the sparse softmax cross-entropy.
    name:
        Of the operators.

    Raises
    ------
    ValueError
        The lists have different lengths.
    """
    if len(targets) != len(logits) or len(weights) != len(logits):
        raise ValueError(
            f"Lengths of logits, weights, and targets must be the same {len(logits)}, {len(weights)}, {len(targets)}."
        )
    loss_function = softmax_loss_function or tf.nn.sparse_softmax_cross_entropy_with_logits
    with tf.name_scope(name, "sequence_loss_by_example", [*logits, *targets, *weights]):
        losses = [
            (
                loss_function(labels=label, logits=logit)
                if softmax_loss_function
                else loss_function(labels=tf.reshape(label, [-1]), logits=logit)
            )
            * weight
            for logit, label, weight in zip(logits, targets, weights, strict=True)
        ]
        total = tf.add_n(losses)
        return total / (tf.add_n(list(weights)) + SMALLEST) if average_across_timesteps else total


def sequence_loss(
    logits: Sequence[TensorLike],
    targets: Sequence[TensorLike],
    weights: Sequence[TensorLike],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Loss | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the sum of the losses of all sequences, divided by their number if *average_across_batch*."""
    with tf.name_scope(name, "sequence_loss", [*logits, *targets, *weights]):
        losses = sequence_loss_by_example(logits, targets, weights, average_across_timesteps, softmax_loss_function)
        total = tf.reduce_sum(losses)
        return total / tf.cast(tf.shape(targets[0])[0], total.dtype) if average_across_batch else total


def rnn_decoder(
    decoder_inputs: Sequence[TensorLike],
    initial_state: State,
    cell: Cell,
    loop_function: Callable[[Any, int], Any] | None = None,
    scope: Scope = None,
) -> tuple[list[Tensor], State]:
    """Return outputs and last state of a cell over a list of inputs; *loop_function* makes an input of an output."""
    outputs: list[Any] = []
    state = initial_state
    with tf.variable_scope(scope or "rnn_decoder"):
        for index, step in enumerate(decoder_inputs):
            if loop_function is not None and outputs:
                with tf.variable_scope("loop_function", reuse=True):
                    step = loop_function(outputs[-1], index)
            if index > 0:
                tf.get_variable_scope().reuse_variables()
            output, state = cell(step, state)
            outputs.append(output)
    return outputs, state


def attention_decoder(
    decoder_inputs: Sequence[TensorLike],
    initial_state: State,
    attention_states: TensorLike,
    cell: Cell,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: Callable[[Any, int], Any] | None = None,
    dtype: DType = None,
    scope: Scope = None,
    initial_state_attention: bool = False,
) -> tuple[list[Tensor], State]:
    """
    Return outputs and last state of a cell that attends to *attention_states*, ``(count, length, size)``.

    Each head scores the states by ``v * tanh(W states + U state)``; the softmax of the scores weighs them. The result
    is joined to the next input, and to the output before it is projected to *output_size*.

    Raises
    ------
    ValueError
        There are no inputs or no heads, or the size of the attention states is not known.
    """
    if not decoder_inputs or num_heads < 1 or attention_states.shape[2].value is None:
        raise ValueError("Attention needs at least 1 input to the decoder, 1 head, and states of a known size.")
    width = output_size or cell.output_size
    with tf.variable_scope(scope or "attention_decoder", dtype=dtype) as outer:
        heads = [_Head(attention_states, index, outer.dtype) for index in range(num_heads)]
        size = attention_states.shape[2].value
        count = tf.shape(decoder_inputs[0])[0]
        attentions = [tf.ensure_shape(tf.zeros(tf.stack([count, size]), outer.dtype), [None, size]) for _ in heads]
        state = initial_state
        if initial_state_attention:
            attentions = [head(initial_state) for head in heads]
        outputs: list[Any] = []
        for index, step in enumerate(decoder_inputs):
            if index > 0:
                tf.get_variable_scope().reuse_variables()
            if loop_function is not None and outputs:
                with tf.variable_scope("loop_function", reuse=True):
                    step = loop_function(outputs[-1], index)
            joined = _project([step, *attentions], step.shape[1].value, "attention_input_projection")
            output, state = cell(joined, state)
            with tf.variable_scope(
                tf.get_variable_scope(), reuse=True if index == 0 and initial_state_attention else None
            ):
                attentions = [head(state) for head in heads]
            outputs.append(_project([output, *attentions], width, "attention_output_projection"))
    return outputs, state


def _project(values: Sequence[TensorLike], width: int, scope: str) -> Tensor:
    joined = tf.concat(list(values), 1)
    with tf.variable_scope(scope):
        kernel = tf.get_variable("kernel", [joined.shape[1].value, width], joined.dtype)
        bias = tf.get_variable("bias", [width], joined.dtype, tf.zeros_initializer())
    return tf.nn.bias_add(tf.matmul(joined, kernel), bias)


class _Head:
    """One head of attention: scores the states and returns their weighted sum."""

    def __init__(self, states: State, index: int, dtype: DType) -> None:
        self._index = index
        length, size = states.shape[1].value or tf.shape(states)[1], states.shape[2].value
        self._states = tf.reshape(states, [-1, length, 1, size])
        kernel = tf.get_variable(f"AttnW_{index}", [1, 1, size, size], dtype)
        self._features = tf.nn.conv2d(self._states, kernel, [1, 1, 1, 1], "SAME")
        self._vector = tf.get_variable(f"AttnV_{index}", [size], dtype)
        self._size = size

    def __call__(self, state: State) -> Tensor:
        query = tf.concat(tf.nest.flatten(state), 1)
        with tf.variable_scope(f"Attention_{self._index}"):
            kernel = tf.get_variable("kernel", [query.shape[1].value, self._size], query.dtype)
            bias = tf.get_variable("bias", [self._size], query.dtype, tf.zeros_initializer())
        projected = tf.reshape(tf.nn.bias_add(tf.matmul(query, kernel), bias), [-1, 1, 1, self._size])
        scores = tf.reduce_sum(self._vector * tf.tanh(self._features + projected), [2, 3])
        weights = tf.expand_dims(tf.expand_dims(tf.nn.softmax(scores), 2), 3)
        return tf.reshape(tf.reduce_sum(weights * self._states, [1, 2]), [-1, self._size])
