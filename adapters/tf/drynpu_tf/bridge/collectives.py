"""
Collective operators (``npu_bridge.hccl.hccl_ops``): data really goes from rank to rank.

In a graph each is a node that calls this process; it is marked, so that the profile has a communication operator of
the device in its place. With one rank all are the identity, as on a device.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NoReturn

import tensorflow.compat.v2 as tf

from drynpu.device.collectives import WORLD_GROUP
from drynpu_tf.bridge.communication import communicate
from drynpu_tf.bridge.ranks import (
    get_rank_size,
    get_world_rank_from_group_rank,
    gradient_segments,
    members,
)
from drynpu_tf.foreign import DType, Shape, Tensor, TensorLike, WithGradient
from drynpu_tf.ranks import Hcom

_REDUCTIONS = ("sum", "prod", "max", "min")


def _hcom(kind: str, group: str, reduction: str = "", peer: int | None = None, tag: int = 0) -> Hcom:
    """Describe an operator; *peer* is a rank of the group."""
    other = None if peer is None else get_world_rank_from_group_rank(group, peer)
    return Hcom(kind=kind, group=group, ranks=members(group), reduction=reduction, peer=other, tag=tag)


def _check_reduction(reduction: str) -> None:
    if reduction not in _REDUCTIONS:
        raise ValueError(f"reduction must be one of {', '.join(_REDUCTIONS)}, got {reduction!r}")


def _reduced(tensors: Sequence[TensorLike], reduction: str, group: str, kind: str = "allReduce") -> list[Tensor]:
    """Return tensors of one type reduced as one."""
    _check_reduction(reduction)
    if get_rank_size(group) == 1:
        return [tf.identity(tensor) for tensor in tensors]
    return communicate(_hcom(kind, group, reduction), tensors)


def allreduce(
    tensor: TensorLike, reduction: str, fusion: int = 1, fusion_id: int = -1, group: str = WORLD_GROUP
) -> Tensor:
    """
    Return *tensor* reduced over the ranks, by sum, product, maximum or minimum; a list is reduced as one.

    Other calls are not joined with this one, whatever *fusion* and *fusion_id* say. Its gradient is the sum of the
    gradients of all ranks, as the vendor's is.
    """
    if isinstance(tensor, (list, tuple)):
        return _reduced([tf.convert_to_tensor(each) for each in tensor], reduction, group)
    tensor = tf.convert_to_tensor(tensor)
    if not tensor.dtype.is_floating:
        return _reduced([tensor], reduction, group)[0]

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def differentiable(value: Tensor) -> WithGradient:
        return _reduced([value], reduction, group)[0], lambda grad: _reduced([grad], "sum", group)[0]

    return differentiable(tensor)


def allgather(
    tensor: TensorLike, rank_size: int, fusion: int = 0, fusion_id: int = -1, group: str = WORLD_GROUP
) -> Tensor:
    """Return the tensors of *rank_size* ranks, one after the other along the first dimension."""
    tensor = tf.convert_to_tensor(tensor)
    if rank_size == 1:
        return tf.identity(tensor)
    shape = tensor.shape
    if shape.rank is not None:
        # Ranks may bring different numbers of slices, though HCCL wants the same of all.
        shape = tf.TensorShape([None, *shape[1:]])
    return communicate(_hcom("allGather", group), [tensor], [(tensor.dtype, shape)])[0]


def broadcast(
    tensor: Sequence[TensorLike], root_rank: int, fusion: int = 2, fusion_id: int = 0, group: str = WORLD_GROUP
) -> list[Tensor]:
    """Return the tensors of the list as the root rank has them."""
    if get_rank_size(group) == 1:
        return [tf.identity(each) for each in tensor]
    return communicate(_hcom("broadcast", group, peer=root_rank), [tf.convert_to_tensor(each) for each in tensor])


def reduce(
    tensor: TensorLike, reduction: str, root_rank: int, fusion: int = 0, fusion_id: int = -1, group: str = WORLD_GROUP
) -> Tensor:
    """Return *tensor* reduced over the ranks; the root needs it, and here all ranks get it."""
    return reduce_as_one([tensor], reduction, root_rank, group)[0]


def reduce_as_one(
    tensors: Sequence[TensorLike], reduction: str, root_rank: int, group: str = WORLD_GROUP
) -> list[Tensor]:
    """Return tensors of one type reduced by one operator, as :func:`reduce` reduces one."""
    _check_reduction(reduction)
    converted = [tf.convert_to_tensor(each) for each in tensors]
    if get_rank_size(group) == 1:
        return [tf.identity(each) for each in converted]
    return communicate(_hcom("reduce", group, reduction, root_rank), converted)


def reduce_scatter(
    tensor: TensorLike, reduction: str, rank_size: int, fusion: int = 0, fusion_id: int = -1, group: str = WORLD_GROUP
) -> Tensor:
    """Return this rank's part, along the first dimension, of *tensor* reduced over *rank_size* ranks."""
    _check_reduction(reduction)
    tensor = tf.convert_to_tensor(tensor)
    if rank_size == 1:
        return tf.identity(tensor)
    shape = tensor.shape
    if shape.rank:
        shape = tf.TensorShape([None if shape[0] is None else shape[0] // rank_size, *shape[1:]])
    return communicate(_hcom("reduceScatter", group, reduction), [tensor], [(tensor.dtype, shape)])[0]


def send(tensor: TensorLike, sr_tag: int, dest_rank: int, group: str = WORLD_GROUP) -> Tensor:
    """Return the operator that sends *tensor* to a rank of the group, which receives it under the same tag."""
    return communicate(_hcom("send", group, peer=dest_rank, tag=sr_tag), [tf.convert_to_tensor(tensor)], [])


def receive(shape: Shape, data_type: DType, sr_tag: int, src_rank: int, group: str = WORLD_GROUP) -> Tensor:
    """Return what a rank of the group sends under that tag."""
    place = tf.zeros(shape, data_type)
    return communicate(_hcom("receive", group, peer=src_rank, tag=sr_tag), [place])[0]


def _no_device(name: str) -> NoReturn:
    raise tf.errors.UnimplementedError(
        None, None, f"hccl_ops.{name} reads or writes the memory of another device, and there is none here"
    )


def remote_read(tensorRemote: TensorLike, data_type: DType) -> NoReturn:  # noqa: N803 - the vendor's name
    """Raise: there is no remote memory."""
    _no_device("remote_read")


def remote_ref_read(tensorRemote: TensorLike, cache: TensorLike, offset: TensorLike) -> NoReturn:  # noqa: N803 - as above
    """Raise: there is no remote memory."""
    _no_device("remote_ref_read")


def remote_write(tensorRemote: TensorLike, tensorLocal: TensorLike, data_type: DType) -> NoReturn:  # noqa: N803 - as above
    """Raise: there is no remote memory."""
    _no_device("remote_write")


def remote_scatter_write(tensorRemote: TensorLike, tensorLocal: TensorLike, offset: TensorLike) -> NoReturn:  # noqa: N803 - as above
    """Raise: there is no remote memory."""
    _no_device("remote_scatter_write")


def gather_all_to_all_v(
    addrinfo: TensorLike,
    addrinfo_count_per_rank: TensorLike,
    recv_counts: TensorLike,
    recv_displacements: TensorLike,
    dtype: DType,
    addr_length: int,
    group: str = WORLD_GROUP,
) -> NoReturn:
    """Raise: it reads addresses of device memory."""
    _no_device("gather_all_to_all_v")


def all_to_all_v(
    send_data: TensorLike,
    send_counts: TensorLike,
    send_displacements: TensorLike,
    recv_counts: TensorLike,
    recv_displacements: TensorLike,
    group: str = WORLD_GROUP,
) -> Tensor:
    """Return what all ranks send to this one, in the order of the ranks."""
    flat, counts = tf.reshape(send_data, [-1]), tf.reshape(send_counts, [-1])
    starts = tf.unstack(tf.reshape(send_displacements, [-1]), num=get_rank_size(group))
    lengths = tf.unstack(counts, num=get_rank_size(group))
    packed = tf.concat([flat[start : start + length] for start, length in zip(starts, lengths, strict=True)], 0)
    if get_rank_size(group) == 1:
        return packed
    return communicate(_hcom("alltoallv", group), [packed], [(packed.dtype, tf.TensorShape([None]))], counts)[0]


def all_to_all_v_c(
    send_data: TensorLike,
    send_count_matrix: TensorLike,
    rank: int,
    fusion: int = 0,
    fusion_id: int = -1,
    group: str = WORLD_GROUP,
) -> Tensor:
    """Return what all ranks send to *rank*; row i of the matrix says how much rank i sends to each."""
    flat, matrix = tf.reshape(send_data, [-1]), tf.reshape(send_count_matrix, [get_rank_size(group)] * 2)
    if get_rank_size(group) == 1:
        return flat[: matrix[0][0]]
    output = (flat.dtype, tf.TensorShape([None]))
    return communicate(_hcom("alltoallvc", group), [flat], [output], matrix[rank])[0]


def mean_over_ranks(tensor: TensorLike, average: bool = True) -> Tensor:
    """
    Return the mean (or sum) of *tensor* over the world's ranks: ``npu_optimizer.allreduce``.

    Sparse gradients (``tf.IndexedSlices``) are gathered, as by the vendor: slices of equal index add up.
    """
    return combine_gradients([tensor], average)[0]


def combine_gradients(gradients: Sequence[Tensor], average: bool = True) -> list[Tensor]:
    """
    Return gradients as the mean (or sum) over the world's ranks; ``None`` stays.

    They are reduced in the segments of HCCL, one after the other: on all ranks in the same order.
    """
    size = get_rank_size()
    if size == 1:
        return list(gradients)
    combined = list(gradients)
    scale = functools.partial(_scaled, factor=1.0 / size if average else 1.0)
    # The backward part computes the last gradient first.
    backward = range(len(combined) - 1, -1, -1)
    dense = [
        place for place in backward if combined[place] is not None and not isinstance(combined[place], tf.IndexedSlices)
    ]
    sizes = [(combined[place].shape.num_elements() or 0) * combined[place].dtype.size for place in dense]
    last: list[Tensor] = []
    for segment in gradient_segments(sizes):
        places = [dense[number] for number in segment]
        for dtype in dict.fromkeys(combined[place].dtype for place in places):
            same = [place for place in places if combined[place].dtype == dtype]
            with tf.control_dependencies(last):
                last = _reduced([combined[place] for place in same], "sum", WORLD_GROUP)
            for place, summed in zip(same, last, strict=True):
                combined[place] = scale(summed)
    for place in (place for place in backward if isinstance(combined[place], tf.IndexedSlices)):
        sparse = combined[place]
        with tf.control_dependencies(last):
            values = allgather(sparse.values, size)
        with tf.control_dependencies([values]):
            indices = allgather(sparse.indices, size)
        last = [indices]
        combined[place] = tf.IndexedSlices(scale(values), indices, dense_shape=sparse.dense_shape)
    return combined


def _scaled(tensor: TensorLike, *, factor: float) -> Tensor:
    return tensor * tf.cast(factor, tensor.dtype)


def npu_allreduce(
    values: TensorLike, reduction: str = "mean", fusion: int = 1, fusion_id: int = -1, group: str = WORLD_GROUP
) -> Tensor:
    """Return one tensor or a list of tensors reduced over the ranks; ``mean`` is a sum divided by their number."""
    alone = not isinstance(values, (list, tuple))
    tensors = [values] if alone else list(values)
    if reduction == "mean" and group == WORLD_GROUP:
        reduced = combine_gradients(tensors)
    elif reduction == "mean":
        reduced = [_scaled(each, factor=1.0 / get_rank_size(group)) for each in _reduced(tensors, "sum", group)]
    elif any(isinstance(each, tf.IndexedSlices) for each in tensors):
        reduced = combine_gradients(tensors, average=False)
    else:
        reduced = [allreduce(each, reduction, fusion, fusion_id, group) for each in tensors]
    return reduced[0] if alone else reduced
