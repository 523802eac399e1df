"""
Collective operators (``npu_bridge.hccl.hccl_ops``) in a process that has no peers.

With one rank they are the identity, as on a device. With several (``RANK_SIZE``) each process runs by itself
and is assumed to hold the same data: a sum is a multiple, a mean the tensor itself, a gathering copies it.
What needs another rank's own data cannot be answered and raises TensorFlow's ``UnimplementedError``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import tensorflow.compat.v2 as tf

from drynpu import say_once
from drynpu_tf.bridge.ranks import WORLD_GROUP, get_rank_id, get_rank_size

_REDUCTIONS = ("sum", "prod", "max", "min")


def _say_alone(size: int) -> None:
    if size > 1:
        say_once(
            f"RANK_SIZE is {size}: each rank runs by itself here, collectives take every rank to hold the same data, "
            "and no communication operators are in the profile"
        )


def _reduced(tensor: Any, reduction: str, size: int) -> Any:
    if reduction not in _REDUCTIONS:
        raise ValueError(f"reduction must be one of {', '.join(_REDUCTIONS)}, got {reduction!r}")
    if size == 1 or reduction in ("max", "min"):
        return tf.identity(tensor)
    if reduction == "sum":
        return tensor * tf.cast(size, tensor.dtype)
    # What is left is a product of equal factors.
    return tensor ** tf.cast(size, tensor.dtype)


def allreduce(tensor: Any, reduction: str, fusion: int = 1, fusion_id: int = -1, group: str = WORLD_GROUP) -> Any:
    """Return *tensor* reduced over the ranks. *fusion* and *fusion_id* group communication, of which there is none."""
    size = get_rank_size(group)
    _say_alone(size)
    if isinstance(tensor, (list, tuple)):
        return [_reduced(tf.convert_to_tensor(each), reduction, size) for each in tensor]
    return _reduced(tf.convert_to_tensor(tensor), reduction, size)


def allgather(tensor: Any, rank_size: int, fusion: int = 0, fusion_id: int = -1, group: str = WORLD_GROUP) -> Any:
    """Return the tensors of *rank_size* ranks, one after the other along the first dimension."""
    _say_alone(rank_size)
    tensor = tf.convert_to_tensor(tensor)
    return tf.identity(tensor) if rank_size == 1 else tf.concat([tensor] * rank_size, axis=0)


def broadcast(
    tensor: Sequence[Any], root_rank: int, fusion: int = 2, fusion_id: int = 0, group: str = WORLD_GROUP
) -> list[Any]:
    """Return the tensors of the list as the root rank has them: as they are."""
    _say_alone(get_rank_size(group))
    return [tf.identity(each) for each in tensor]


def reduce(
    tensor: Any, reduction: str, root_rank: int, fusion: int = 0, fusion_id: int = -1, group: str = WORLD_GROUP
) -> Any:
    """Return *tensor* reduced over the ranks, on every rank."""
    return allreduce(tensor, reduction, fusion, fusion_id, group)


def reduce_scatter(
    tensor: Any, reduction: str, rank_size: int, fusion: int = 0, fusion_id: int = -1, group: str = WORLD_GROUP
) -> Any:
    """Return this rank's part, along the first dimension, of *tensor* reduced over *rank_size* ranks."""
    _say_alone(rank_size)
    reduced = _reduced(tf.convert_to_tensor(tensor), reduction, rank_size)
    return reduced if rank_size == 1 else tf.split(reduced, rank_size, axis=0)[get_rank_id(group)]


def send(tensor: Any, sr_tag: int, dest_rank: int, group: str = WORLD_GROUP) -> tf.Operation:
    """Send to nobody: an operator that depends on *tensor* and does nothing."""
    say_once("hccl_ops.send: there is no other rank here; nothing is sent")
    with tf.control_dependencies([tensor]):
        return tf.no_op(name="HcomSend")


def _nobody(name: str) -> NoReturn:
    raise tf.errors.UnimplementedError(
        None, None, f"hccl_ops.{name} needs the data of another rank, and each rank runs by itself here"
    )


def receive(shape: Any, data_type: Any, sr_tag: int, src_rank: int, group: str = WORLD_GROUP) -> NoReturn:
    """Raise: there is no other rank to receive from."""
    _nobody("receive")


def remote_read(tensorRemote: Any, data_type: Any) -> NoReturn:  # noqa: N803 - the vendor's name
    """Raise: there is no remote memory."""
    _nobody("remote_read")


def remote_ref_read(tensorRemote: Any, cache: Any, offset: Any) -> NoReturn:  # noqa: N803 - as above
    """Raise: there is no remote memory."""
    _nobody("remote_ref_read")


def remote_write(tensorRemote: Any, tensorLocal: Any, data_type: Any) -> NoReturn:  # noqa: N803 - as above
    """Raise: there is no remote memory."""
    _nobody("remote_write")


def remote_scatter_write(tensorRemote: Any, tensorLocal: Any, offset: Any) -> NoReturn:  # noqa: N803 - as above
    """Raise: there is no remote memory."""
    _nobody("remote_scatter_write")


def gather_all_to_all_v(
    addrinfo: Any,
    addrinfo_count_per_rank: Any,
    recv_counts: Any,
    recv_displacements: Any,
    dtype: Any,
    addr_length: int,
    group: str = WORLD_GROUP,
) -> NoReturn:
    """Raise: it reads addresses of device memory."""
    _nobody("gather_all_to_all_v")


def all_to_all_v(
    send_data: Any,
    send_counts: Any,
    send_displacements: Any,
    recv_counts: Any,
    recv_displacements: Any,
    group: str = WORLD_GROUP,
) -> Any:
    """Return what one rank sends to itself; raises with several ranks."""
    if get_rank_size(group) > 1:
        _nobody("all_to_all_v")
    start = tf.reshape(send_displacements, [-1])[0]
    return tf.reshape(send_data, [-1])[start : start + tf.reshape(send_counts, [-1])[0]]


def all_to_all_v_c(
    send_data: Any,
    send_count_matrix: Any,
    rank: int,
    fusion: int = 0,
    fusion_id: int = -1,
    group: str = WORLD_GROUP,
) -> Any:
    """Return what one rank sends to itself; raises with several ranks."""
    if get_rank_size(group) > 1:
        _nobody("all_to_all_v_c")
    return tf.reshape(send_data, [-1])[: tf.reshape(send_count_matrix, [-1])[0]]


def mean_over_ranks(tensor: Any, average: bool = True) -> Any:
    """
    Return the mean (or sum) of *tensor* over the world's ranks: ``npu_optimizer.allreduce``.

    Sparse gradients (``tf.IndexedSlices``) are gathered, as by the vendor: slices of equal index add up.
    """
    size = get_rank_size()
    if size == 1:
        return tensor
    factor = 1.0 / size if average else 1.0
    if isinstance(tensor, tf.IndexedSlices):
        values = allgather(tensor.values, size)
        return tf.IndexedSlices(
            values * tf.cast(factor, values.dtype), allgather(tensor.indices, size), dense_shape=tensor.dense_shape
        )
    summed = allreduce(tensor, "sum")
    return summed * tf.cast(factor, summed.dtype)


def npu_allreduce(
    values: Any, reduction: str = "mean", fusion: int = 1, fusion_id: int = -1, group: str = WORLD_GROUP
) -> Any:
    """Return one tensor or a list of tensors reduced over the ranks; ``mean`` is a sum divided by their number."""
    if isinstance(values, (list, tuple)):
        return [npu_allreduce(value, reduction, fusion, fusion_id, group) for value in values]
    if reduction == "mean" or isinstance(values, tf.IndexedSlices):
        return mean_over_ranks(values, average=reduction == "mean")
    return allreduce(values, reduction, fusion, fusion_id, group)
