"""Functions of ``tf.contrib.framework``, ``layers`` and ``resampler`` that neither TensorFlow nor tf_slim has."""

from __future__ import annotations

import tensorflow.compat.v1 as tf

from drynpu_tf.foreign import Initializer, Scope, Shape, Tensor, TensorLike


def with_same_shape(expected_tensor: TensorLike, tensor: TensorLike) -> Tensor:
    """Return *tensor*, checked when it runs to have the shape of *expected_tensor*, at once where both are known."""
    with tf.name_scope("with_same_shape"):
        return with_shape(tf.shape(expected_tensor) if not _known(expected_tensor) else expected_tensor.shape, tensor)


def with_shape(expected_shape: Shape, tensor: TensorLike) -> Tensor:
    """
    Return *tensor*, checked to have a shape.

    Raises
    ------
    ValueError
        Both shapes are known and differ.
    """
    fixed = expected_shape if isinstance(expected_shape, tf.TensorShape) else None
    if fixed is not None and _known(tensor):
        if not fixed.is_compatible_with(tensor.shape):
            raise ValueError(f"Invalid shape for tensor {tensor.name}, expected {fixed}, got {tensor.shape}.")
        return tensor
    wanted = tf.convert_to_tensor(fixed.as_list() if fixed is not None else expected_shape, dtype=tf.int32)
    check = tf.assert_equal(tf.shape(tensor), wanted, message=f"Wrong shape for {tensor.name}")
    with tf.control_dependencies([check]):
        return tf.identity(tensor)


def _known(tensor: TensorLike) -> bool:
    return bool(tensor.shape.is_fully_defined())


def embed_sequence(
    ids: TensorLike,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Initializer = None,
    regularizer: object = None,
    trainable: bool = True,
    scope: Scope = None,
    reuse: bool | None = None,
) -> Tensor:
    """
    Return the rows of the variable ``embeddings`` that *ids* name, ``(count, length, embed_dim)``.

    Raises
    ------
    ValueError
        Neither the two sizes nor *reuse* are given.
    """
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(f"Must specify vocab size and embedding dimension when not reusing: {vocab_size}, {embed_dim}")
    with tf.variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        embeddings = tf.get_variable(
            "embeddings",
            shape=[vocab_size, embed_dim],
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        return embedding_lookup_unique(embeddings, ids) if unique else tf.nn.embedding_lookup(embeddings, ids)


def embedding_lookup_unique(
    params: TensorLike, ids: TensorLike, partition_strategy: str = "mod", name: str | None = None
) -> Tensor:
    """Return the rows of *params* that *ids* name; each distinct row is looked up once."""
    with tf.name_scope(name, "EmbeddingLookupUnique", [params, ids]):
        ids = tf.convert_to_tensor(ids)
        distinct, places = tf.unique(tf.reshape(ids, [-1]))
        rows = tf.gather(tf.nn.embedding_lookup(params, distinct, partition_strategy=partition_strategy), places)
        result = tf.reshape(rows, tf.concat([tf.shape(ids), tf.shape(rows)[1:]], 0))
        result.set_shape(ids.shape.concatenate(rows.shape[1:]))
        return result


def bow_encoder(
    ids: TensorLike,
    vocab_size: int,
    embed_dim: int,
    sparse_lookup: bool = True,
    initializer: Initializer = None,
    regularizer: object = None,
    trainable: bool = True,
    scope: Scope = None,
    reuse: bool | None = None,
) -> Tensor:
    """Return the mean of the rows of ``embeddings`` that each line of *ids* names, ``(count, embed_dim)``."""
    with tf.variable_scope(scope, "bow_encoder", [ids], reuse=reuse):
        embeddings = tf.get_variable(
            "embeddings",
            shape=[vocab_size, embed_dim],
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        if not sparse_lookup:
            return tf.reduce_mean(tf.nn.embedding_lookup(embeddings, ids), axis=1)
        if not isinstance(ids, tf.SparseTensor):
            ids = tf.sparse.from_dense(ids + tf.ones_like(ids))
            ids = tf.SparseTensor(ids.indices, ids.values - 1, ids.dense_shape)
        return tf.nn.safe_embedding_lookup_sparse(embeddings, ids, combiner="mean")


def resampler(data: TensorLike, warp: TensorLike, name: str = "resampler") -> Tensor:
    """
    Return the pixels of images at places between them, bilinear; outside of the images they are 0.

    Parameters
    ----------
    data:
        ``(count, rows, columns, channels)``, float.
    warp:
        Places ``(count, ..., 2)``, x before y.
    name:
        Of the operators.

    Returns
    -------
    Tensor
        ``(count, ..., channels)``.
    """
    with tf.name_scope(name, "resampler", [data, warp]):
        data, warp = tf.convert_to_tensor(data), tf.convert_to_tensor(warp)
        shape = tf.shape(data)
        places = tf.reshape(warp, [shape[0], -1, 2])
        corner = tf.floor(places)
        part = places - corner
        left, top = tf.cast(corner[..., 0], tf.int32), tf.cast(corner[..., 1], tf.int32)
        images = tf.tile(tf.range(shape[0])[:, None], [1, tf.shape(places)[1]])

        def pixels(column: Tensor, row: Tensor, weight: Tensor) -> Tensor:
            inside = (column >= 0) & (column < shape[2]) & (row >= 0) & (row < shape[1])
            columns, rows = tf.clip_by_value(column, 0, shape[2] - 1), tf.clip_by_value(row, 0, shape[1] - 1)
            colours = tf.gather_nd(data, tf.stack([images, rows, columns], -1))
            return colours * (weight * tf.cast(inside, data.dtype))[..., None]

        right, down = part[..., 0], part[..., 1]
        total = pixels(left, top, (1 - right) * (1 - down)) + pixels(left + 1, top, right * (1 - down))
        total += pixels(left, top + 1, (1 - right) * down) + pixels(left + 1, top + 1, right * down)
        result = tf.reshape(total, tf.concat([tf.shape(warp)[:-1], shape[3:]], 0))
        result.set_shape(warp.shape[:-1].concatenate(data.shape[3:]))
        return result
