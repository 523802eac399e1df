"""
``tf.contrib.crf``: linear-chain conditional random fields.

Scores are sums of one number for each step's tag and one for each pair of tags that follow each other. Shapes:
*inputs* ``(count, time, tags)``, tags ``(count, time)``, *transition_params* ``(tags, tags)``, from the first to the
second.
"""

from __future__ import annotations

import numpy as np
import tensorflow.compat.v1 as tf

from drynpu_tf.foreign import State, Tensor, TensorLike
from drynpu_tf.quiet import without_deprecations


def crf_sequence_score(
    inputs: TensorLike, tag_indices: TensorLike, sequence_lengths: TensorLike, transition_params: TensorLike
) -> Tensor:
    """Return the score of each sequence of tags, ``(count,)``; 0 for a sequence of no length."""
    return crf_unary_score(tag_indices, sequence_lengths, inputs) + crf_binary_score(
        tag_indices, sequence_lengths, transition_params
    )


def crf_unary_score(tag_indices: TensorLike, sequence_lengths: TensorLike, inputs: TensorLike) -> Tensor:
    """Return the sum of the inputs at the tags of each sequence, ``(count,)``."""
    chosen = tf.one_hot(tag_indices, tf.shape(inputs)[2], dtype=inputs.dtype)
    scores = tf.reduce_sum(inputs * chosen, 2)
    return tf.reduce_sum(scores * tf.sequence_mask(sequence_lengths, tf.shape(inputs)[1], inputs.dtype), 1)


def crf_binary_score(tag_indices: TensorLike, sequence_lengths: TensorLike, transition_params: TensorLike) -> Tensor:
    """Return the sum of the transitions between the tags of each sequence, ``(count,)``."""
    transition_params = tf.convert_to_tensor(transition_params)
    tags = tf.cast(tag_indices, tf.int32)
    flat = tags[:, :-1] * tf.shape(transition_params)[0] + tags[:, 1:]
    scores = tf.gather(tf.reshape(transition_params, [-1]), flat)
    # As many pairs as tags, less one.
    lengths = tf.maximum(tf.cast(sequence_lengths, tf.int32) - 1, 0)
    return tf.reduce_sum(scores * tf.sequence_mask(lengths, tf.shape(flat)[1], scores.dtype), 1)


class _ForwardCell(tf.nn.rnn_cell.RNNCell):
    """A step from a number for each tag, ``(count, tags)``, to one for each next tag."""

    def __init__(self, transition_params: TensorLike) -> None:
        super().__init__()
        self._transition_params = tf.expand_dims(transition_params, 0)
        self._num_tags = int(transition_params.shape[0])

    @property
    def state_size(self) -> int:
        """Number of tags."""
        return self._num_tags

    @property
    def output_size(self) -> int:
        """Number of tags."""
        return self._num_tags


class CrfForwardRnnCell(_ForwardCell):
    """The step that adds the next tag to the logarithms of summed scores by tag, ``(count, tags)``."""

    def call(self, inputs: TensorLike, state: State) -> tuple[Tensor, State]:
        """Return the logarithms after one step, twice."""
        scores = inputs + tf.reduce_logsumexp(tf.expand_dims(state, 2) + self._transition_params, [1])
        return scores, scores


def crf_log_norm(inputs: TensorLike, sequence_lengths: TensorLike, transition_params: TensorLike) -> Tensor:
    """Return the logarithm of the sum over all sequences of tags of the exponentials of their scores, ``(count,)``."""
    lengths = tf.cast(sequence_lengths, tf.int32)
    cell = CrfForwardRnnCell(tf.convert_to_tensor(transition_params))
    with without_deprecations():
        _, last = tf.nn.dynamic_rnn(
            cell,
            inputs[:, 1:],
            sequence_length=tf.maximum(lengths - 1, 0),
            initial_state=inputs[:, 0],
            dtype=inputs.dtype,
        )
    norm = tf.reduce_logsumexp(last, [1])
    return tf.where(lengths <= 0, tf.zeros_like(norm), norm)


def crf_log_likelihood(
    inputs: TensorLike, tag_indices: TensorLike, sequence_lengths: TensorLike, transition_params: TensorLike = None
) -> tuple[Tensor, Tensor]:
    """
    Return the logarithm of the probability of each sequence of tags, ``(count,)``, and the transitions.

    Without *transition_params* they are the variable ``transitions``.
    """
    inputs = tf.convert_to_tensor(inputs)
    if transition_params is None:
        tags = int(inputs.shape[2])
        transition_params = tf.get_variable("transitions", [tags, tags])
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    return score - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


class _DecodeForward(_ForwardCell):
    """The step that keeps the best score by tag, and puts out which tag before it gave that score."""

    def call(self, inputs: TensorLike, state: State) -> tuple[Tensor, State]:
        """Return the tags before, int32, and the best scores."""
        scores = tf.expand_dims(state, 2) + self._transition_params
        return tf.cast(tf.argmax(scores, 1), tf.int32), inputs + tf.reduce_max(scores, [1])


class _DecodeBackward(tf.nn.rnn_cell.RNNCell):
    """The step that goes from a tag, ``(count, 1)``, to the one before it."""

    def __init__(self, num_tags: int) -> None:
        super().__init__()
        self._num_tags = num_tags

    @property
    def state_size(self) -> int:
        """One tag."""
        return 1

    @property
    def output_size(self) -> int:
        """One tag."""
        return 1

    def call(self, inputs: TensorLike, state: State) -> tuple[Tensor, State]:
        """Return the tag before, twice."""
        rows = tf.range(tf.shape(inputs)[0])
        tags = tf.expand_dims(tf.gather_nd(inputs, tf.stack([rows, tf.squeeze(state, 1)], 1)), 1)
        return tags, tags


def crf_decode(
    potentials: TensorLike, transition_params: TensorLike, sequence_length: TensorLike
) -> tuple[Tensor, Tensor]:
    """Return the tags of the highest score, int32 ``(count, time)``, and that score; 0 where a sequence has ended."""
    potentials = tf.convert_to_tensor(potentials)
    transition_params = tf.convert_to_tensor(transition_params)
    tags = int(potentials.shape[2])
    lengths = tf.maximum(tf.cast(sequence_length, tf.int32) - 1, 0)
    with without_deprecations(), tf.variable_scope("crf_decode"):
        before, last = tf.nn.dynamic_rnn(
            _DecodeForward(transition_params),
            potentials[:, 1:],
            sequence_length=lengths,
            initial_state=potentials[:, 0],
            scope="forward",
            dtype=tf.int32,
        )
        final = tf.expand_dims(tf.cast(tf.argmax(last, 1), tf.int32), 1)
        earlier, _ = tf.nn.dynamic_rnn(
            _DecodeBackward(tags),
            tf.reverse_sequence(before, lengths, seq_axis=1),
            sequence_length=lengths,
            initial_state=final,
            scope="backward",
            dtype=tf.int32,
        )
    steps = tf.concat([final, tf.squeeze(earlier, 2)], 1)
    return tf.reverse_sequence(steps, lengths + 1, seq_axis=1), tf.reduce_max(last, 1)


def viterbi_decode(score: TensorLike, transition_params: TensorLike) -> tuple[list[int], Tensor]:
    """Return the tags of the highest score of one sequence, by NumPy: *score* is ``(time, tags)``."""
    best = np.zeros_like(score)
    before = np.zeros_like(score, dtype=np.int32)
    best[0] = score[0]
    for step in range(1, score.shape[0]):
        scores = np.expand_dims(best[step - 1], 1) + transition_params
        best[step] = score[step] + np.max(scores, 0)
        before[step] = np.argmax(scores, 0)
    path = [int(np.argmax(best[-1]))]
    for row in before[:0:-1]:
        path.append(int(row[path[-1]]))
    return path[::-1], np.max(best[-1])
