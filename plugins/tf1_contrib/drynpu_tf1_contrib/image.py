"""``tf.contrib.image``: projective transforms of images, colours in YIQ, and greedy matching."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from drynpu.arrays import Array
from drynpu_tf.foreign import Shape, Tensor, TensorLike

_RGB_TO_YIQ = ((0.299, 0.587, 0.114), (0.596, -0.274, -0.322), (0.211, -0.523, 0.312))
_YIQ_TO_RGB = ((1.0, 0.95617069, 0.62143257), (1.0, -0.2726886, -0.64681324), (1.0, -1.103744, 1.70062309))


def transform(
    images: TensorLike,
    transforms: TensorLike,
    interpolation: str = "NEAREST",
    output_shape: Shape = None,
    name: str | None = None,
) -> Tensor:
    """
    Return images whose pixel (x, y) is the pixel of the input at ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k).

    Parameters
    ----------
    images:
        ``(count, rows, columns, channels)``, ``(rows, columns, channels)`` or ``(rows, columns)``.
    transforms:
        ``(a0, a1, a2, b0, b1, b2, c0, c1)``, k being ``c0 x + c1 y + 1``; shape ``(8,)`` or ``(count, 8)``.
    interpolation:
        NEAREST or BILINEAR.
    output_shape:
        Rows and columns of the result; by default as many as the images have.
    name:
        Of the operators.

    Raises
    ------
    TypeError
        The images have another rank.
    """
    with tf.name_scope(name, "transform"):
        images = tf.convert_to_tensor(images, name="images")
        batch, squeezed = _as_batch(images)
        transforms = tf.convert_to_tensor(transforms, name="transforms", dtype=tf.float32)
        if transforms.shape.ndims == 1:
            transforms = transforms[None]
        size = tf.shape(batch)[1:3] if output_shape is None else tf.convert_to_tensor(output_shape, dtype=tf.int32)
        result = tf.raw_ops.ImageProjectiveTransformV2(
            images=batch, transforms=transforms, output_shape=size, interpolation=interpolation.upper()
        )
        fixed = tf.get_static_value(size)
        if output_shape is None:
            result.set_shape(batch.shape)
        elif fixed is not None:
            result.set_shape([batch.shape[0], *fixed, batch.shape[3]])
        for axis in squeezed:
            result = tf.squeeze(result, axis)
        return result


def _as_batch(images: TensorLike) -> tuple[Tensor, tuple[int, ...]]:
    """Return images with four axes, and the axes to take away again."""
    rank = images.shape.ndims
    if rank == 2:
        return images[None, :, :, None], (-1, 0)
    if rank == 3:
        return images[None], (0,)
    if rank == 4:
        return images, ()
    raise TypeError(f"Images should have rank between 2 and 4, not {rank}.")


def rotate(images: TensorLike, angles: TensorLike, interpolation: str = "NEAREST", name: str | None = None) -> Tensor:
    """Return images turned counterclockwise about their centres, by one angle or one for each, in radians."""
    with tf.name_scope(name, "rotate"):
        images = tf.convert_to_tensor(images, name="images")
        size = tf.cast(tf.shape(_as_batch(images)[0])[1:3], tf.float32)
        return transform(images, angles_to_projective_transforms(angles, size[0], size[1]), interpolation)


def translate(
    images: TensorLike, translations: TensorLike, interpolation: str = "NEAREST", name: str | None = None
) -> Tensor:
    """Return images moved by ``(dx, dy)`` pixels, one pair or one for each image."""
    with tf.name_scope(name, "translate"):
        return transform(images, translations_to_projective_transforms(translations), interpolation)


def angles_to_projective_transforms(
    angles: TensorLike, image_height: TensorLike, image_width: TensorLike, name: str | None = None
) -> Tensor:
    """Return the transforms, ``(count, 8)``, that turn images of one size about their centres."""
    with tf.name_scope(name, "angles_to_projective_transforms"):
        angles = tf.reshape(tf.convert_to_tensor(angles, dtype=tf.float32), [-1])
        right, bottom = tf.cast(image_width, tf.float32) - 1, tf.cast(image_height, tf.float32) - 1
        cosine, sine, nothing = tf.cos(angles), tf.sin(angles), tf.zeros_like(angles)
        across = (right - (cosine * right - sine * bottom)) / 2.0
        down = (bottom - (sine * right + cosine * bottom)) / 2.0
        return tf.stack([cosine, -sine, across, sine, cosine, down, nothing, nothing], axis=1)


def translations_to_projective_transforms(translations: TensorLike, name: str | None = None) -> Tensor:
    """Return the transforms, ``(count, 8)``, that move images by ``(dx, dy)``."""
    with tf.name_scope(name, "translations_to_projective_transforms"):
        pairs = tf.reshape(tf.convert_to_tensor(translations, dtype=tf.float32), [-1, 2])
        none, one = tf.zeros_like(pairs[:, 0]), tf.ones_like(pairs[:, 0])
        return tf.stack([one, none, -pairs[:, 0], none, one, -pairs[:, 1], none, none], axis=1)


def flat_transforms_to_matrices(transforms: TensorLike) -> Tensor:
    """Return transforms ``(count, 8)`` as matrices ``(count, 3, 3)``."""
    flat = tf.reshape(tf.convert_to_tensor(transforms, dtype=tf.float32), [-1, 8])
    return tf.reshape(tf.concat([flat, tf.ones_like(flat[:, :1])], axis=1), [-1, 3, 3])


def matrices_to_flat_transforms(transform_matrices: TensorLike) -> Tensor:
    """Return matrices ``(count, 3, 3)`` as transforms ``(count, 8)``, divided by their last element."""
    flat = tf.reshape(tf.convert_to_tensor(transform_matrices, dtype=tf.float32), [-1, 9])
    return (flat / flat[:, 8:])[:, :8]


def compose_transforms(*transforms: TensorLike) -> Tensor:
    """Return the transform that applies the first to the image, then the second, and so on."""
    if not transforms:
        raise ValueError("Expected at least one transform.")
    composed = flat_transforms_to_matrices(transforms[0])
    for each in transforms[1:]:
        composed = tf.matmul(composed, flat_transforms_to_matrices(each))
    return matrices_to_flat_transforms(composed)


def adjust_hsv_in_yiq(
    image: TensorLike,
    delta_hue: TensorLike = 0,
    scale_saturation: TensorLike = 1,
    scale_value: TensorLike = 1,
    name: str | None = None,
) -> Tensor:
    """Return an RGB image (last axis) with its hue turned by radians in the I-Q plane, and its colours scaled."""
    with tf.name_scope(name, "adjust_hsv_in_yiq"):
        original = tf.convert_to_tensor(image, name="image")
        pixels = tf.image.convert_image_dtype(original, tf.float32)
        hue, saturation, value = (tf.cast(x, tf.float32) for x in (delta_hue, scale_saturation, scale_value))
        along, across = value * saturation * tf.cos(hue), value * saturation * tf.sin(hue)
        zero = tf.zeros_like(value)
        turn = tf.stack(
            [tf.stack([value, zero, zero]), tf.stack([zero, along, -across]), tf.stack([zero, across, along])]
        )
        matrix = tf.matmul(tf.matmul(tf.constant(_YIQ_TO_RGB), turn), tf.constant(_RGB_TO_YIQ))
        turned = tf.tensordot(pixels, matrix, [[-1], [1]])
        turned.set_shape(pixels.shape)
        return tf.image.convert_image_dtype(turned, original.dtype, saturate=original.dtype.is_integer)


def random_hsv_in_yiq(
    image: TensorLike,
    max_delta_hue: float = 0,
    lower_saturation: float = 1,
    upper_saturation: float = 1,
    lower_value: float = 1,
    upper_value: float = 1,
    seed: int | None = None,
) -> Tensor:
    """
    Return an RGB image with hue, saturation and value changed at random within the bounds.

    Raises
    ------
    ValueError
        A bound is negative, or a lower one exceeds the upper one.
    """
    if max_delta_hue < 0:
        raise ValueError("max_delta must be non-negative.")
    for word, lower, upper in (
        ("saturation", lower_saturation, upper_saturation),
        ("value", lower_value, upper_value),
    ):
        if lower < 0 or lower > upper:
            raise ValueError(f"lower_{word} must be non-negative and not above upper_{word}: {lower}, {upper}.")
    hue: Any = 0
    if max_delta_hue:
        hue = tf.random_uniform([], -max_delta_hue, max_delta_hue, seed=seed)
    saturation, value = (
        1 if lower == upper == 1 else tf.random_uniform([], lower, upper, seed=seed)
        for lower, upper in ((lower_saturation, upper_saturation), (lower_value, upper_value))
    )
    return adjust_hsv_in_yiq(image, hue, saturation, value)


def bipartite_match(
    distance_mat: TensorLike, num_valid_rows: TensorLike, top_k: int = -1, name: str = "bipartite_match"
) -> tuple[Tensor, Tensor]:
    """
    Match rows and columns greedily by the smallest distances; the host computes it.

    Parameters
    ----------
    distance_mat:
        Distances, float32, ``(rows, columns)``.
    num_valid_rows:
        So many rows count, those in front; a scalar or one element.
    top_k:
        So many matches at most; -1 for as many as there are.
    name:
        Of the operators.

    Returns
    -------
    tuple
        The column of each row and the row of each column, int32, -1 where there is none.
    """
    with tf.name_scope(name):
        distances = tf.convert_to_tensor(distance_mat, dtype=tf.float32)
        valid = tf.reshape(tf.cast(num_valid_rows, tf.int32), [])
        rows, columns = tf.numpy_function(_match, [distances, valid, np.int32(top_k)], [tf.int32, tf.int32])
        rows.set_shape(distances.shape[:1])
        columns.set_shape(distances.shape[1:])
        return rows, columns


def _match(distances: Array, valid: int, most: int) -> tuple[Array, Array]:
    rows = np.full(distances.shape[0], -1, np.int32)
    columns = np.full(distances.shape[1], -1, np.int32)
    open_ones = distances[:valid].copy()
    count = min(open_ones.shape)
    for _ in range(count if most < 0 else min(count, most)):
        row, column = np.unravel_index(np.argmin(open_ones), open_ones.shape)
        if open_ones[row, column] == math.inf:
            break
        rows[row], columns[column] = column, row
        open_ones[row, :] = math.inf
        open_ones[:, column] = math.inf
    return rows, columns
