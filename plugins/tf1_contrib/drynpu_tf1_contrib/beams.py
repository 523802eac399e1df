"""``tf.contrib.seq2seq``: functions on beams and sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from drynpu_tf.foreign import Tensor, TensorLike
from drynpu_tf1_contrib.legacy_seq2seq import SMALLEST


def tile_batch(t: TensorLike, multiplier: int, name: str | None = None) -> Tensor:
    """Return tensors ``(count, ...)`` with each entry *multiplier* times, one after the other."""
    with tf.name_scope(name, "tile_batch"):
        return tf.nest.map_structure(lambda each: _tiled(tf.convert_to_tensor(each), multiplier), t)


def _tiled(values: TensorLike, multiplier: int) -> Tensor:
    rank = values.shape.ndims
    if rank is None or rank < 1:
        raise ValueError("t must have statically known rank of at least 1")
    tiled = tf.tile(tf.expand_dims(values, 1), [1, multiplier] + [1] * (rank - 1))
    result = tf.reshape(tiled, tf.concat([[tf.shape(values)[0] * multiplier], tf.shape(values)[1:]], 0))
    count = values.shape[0].value
    result.set_shape(tf.TensorShape([None if count is None else count * multiplier]).concatenate(values.shape[1:]))
    return result


def gather_tree(
    step_ids: TensorLike,
    parent_ids: TensorLike,
    max_sequence_lengths: TensorLike,
    end_token: TensorLike,
    name: str | None = None,
) -> Tensor:
    """
    Return the beams as wholes: the ids that lead to each beam of the last step.

    Parameters
    ----------
    step_ids, parent_ids:
        The id of each beam in each step, and the beam before it that it came from: int32 ``(time, count, beams)``.
    max_sequence_lengths:
        Length of each sequence, ``(count,)``.
    end_token:
        What stands after the first such id, and after the length.
    name:
        Of the operators.

    Returns
    -------
    Tensor
        int32 ``(time, count, beams)``.
    """
    with tf.name_scope(name, "gather_tree"):
        step_ids, parent_ids = tf.convert_to_tensor(step_ids), tf.convert_to_tensor(parent_ids)
        time = tf.shape(step_ids)[0]
        lengths = tf.minimum(tf.cast(max_sequence_lengths, tf.int32), time)
        end = tf.cast(end_token, step_ids.dtype)
        beams = tf.zeros_like(step_ids[0]) + tf.range(tf.shape(step_ids)[2], dtype=step_ids.dtype)

        def back(step: Tensor, chosen: Tensor, written: Any) -> Any:
            inside = tf.broadcast_to((step < lengths)[:, None], tf.shape(chosen))
            ids = tf.where(inside, tf.gather(step_ids[step], chosen, batch_dims=1), tf.fill(tf.shape(chosen), end))
            before = tf.gather(parent_ids[step], chosen, batch_dims=1)
            return step - 1, tf.where(inside, before, chosen), written.write(step, ids)

        written = tf.TensorArray(step_ids.dtype, size=time)
        _, _, written = tf.while_loop(lambda step, chosen, written: step >= 0, back, (time - 1, beams, written))
        ids = written.stack()
        ended = tf.cumsum(tf.cast(tf.equal(ids, end), tf.int32), axis=0, exclusive=True) > 0
        result = tf.where(ended, tf.fill(tf.shape(ids), end), ids)
        result.set_shape(step_ids.shape)
        return result


def sequence_loss(
    logits: TensorLike,
    targets: TensorLike,
    weights: TensorLike,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """
    Return the weighted cross-entropy of sequences.

    Parameters
    ----------
    logits, targets, weights:
        ``(count, time, classes)``, ``(count, time)`` and ``(count, time)``.
    average_across_timesteps, average_across_batch:
        Over what the losses are averaged; their axes are gone from the result.
    softmax_loss_function:
        Called with ``labels`` and ``logits`` in place of the sparse softmax cross-entropy.
    name:
        Of the operators.
    """
    with tf.name_scope(name, "sequence_loss", [logits, targets, weights]):
        classes = tf.shape(logits)[2]
        function = softmax_loss_function or tf.nn.sparse_softmax_cross_entropy_with_logits
        flat = function(labels=tf.reshape(targets, [-1]), logits=tf.reshape(logits, [-1, classes]))
        losses = tf.reshape(flat * tf.reshape(weights, [-1]), tf.shape(logits)[:2])
        if average_across_timesteps and average_across_batch:
            return tf.reduce_sum(losses) / (tf.reduce_sum(weights) + SMALLEST)
        axes = [axis for axis, wanted in ((0, average_across_batch), (1, average_across_timesteps)) if wanted]
        if not axes:
            return losses
        return tf.reduce_sum(losses, axes) / (tf.reduce_sum(weights, axes) + SMALLEST)
