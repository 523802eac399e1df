"""
Updates of weights that the ranks share out (``NPUDistributedOptimizer`` with ``is_weight_update_sharding``).

Each variable has a rank. Its gradient is reduced there, that rank updates it, and the others get the new weight. Which
rank that is follows from the bytes of the gradients (``npu_bridge.estimator.npu.util``): consecutive ones go to one
rank, with sums as equal as that allows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v2 as tf

from drynpu_tf.bridge.collectives import broadcast, mean_over_ranks, reduce_as_one
from drynpu_tf.bridge.ranks import get_rank_size
from drynpu_tf.bridge.scopes import marked
from drynpu_tf.foreign import GradientPair, Operation, Tensor, Variable
from drynpu_tf.rules import IN_PLACE

_NO_RANK = -1


class GradDivisionItem:
    """
    A gradient with its variable, its ``size`` in bytes (0 of a number) and the rank it goes to, -1 while it has none.

    Raises
    ------
    TypeError
        The shape of the gradient is not known.
    """

    def __init__(self, grad: Tensor, var: Variable) -> None:
        self.grad, self.var = grad, var
        shape = [int(size) for size in grad.shape]
        self.size = int(tf.TensorShape(shape).num_elements() or 0) * grad.dtype.size if shape else 0
        self.root_rank_id = _NO_RANK


_ITEMS: list[GradDivisionItem] = []
"""The gradients of the last optimizer that shared out its updates: the vendor's list is process-wide too."""


def add_grads_and_vars(grads_and_vars: Sequence[GradientPair], rank_size: int) -> None:
    """Share out gradients (those that are not ``None``) among the ranks; what was shared out before is forgotten."""
    _ITEMS[:] = fair_division(
        [GradDivisionItem(grad, var) for grad, var in grads_and_vars if grad is not None], rank_size
    )


def get_all_grad_item() -> list[GradDivisionItem]:
    """Return the gradients that were shared out."""
    return _ITEMS


def get_gid_by_grad(grad: Tensor) -> int:
    """Return the rank that a gradient goes to, by its name; -1 for one that was not shared out."""
    return next((item.root_rank_id for item in reversed(_ITEMS) if item.grad.name == grad.name), _NO_RANK)


def get_gid_by_weight(weight: Variable) -> int:
    """Return the rank that updates a variable, by its name; -1 for one that no rank updates."""
    return next((item.root_rank_id for item in reversed(_ITEMS) if item.var.name == weight.name), _NO_RANK)


def fair_division(input: list[Any], number: int) -> list[Any]:  # noqa: A002 - the vendor's name
    """
    Give every item of a list one of *number* ranks (``root_rank_id``) by the items' ``size``, and return the list.

    Ranks get consecutive items, as many as come nearest to an equal part of what is left.

    Raises
    ------
    ValueError
        There are more ranks than items, or fewer than none.
    ZeroDivisionError
        As many items as there are ranks left are larger than all others, which the vendor's does not foresee either.
    """
    if number > len(input) or number < 0:
        raise ValueError("'number' is greater than the number of inputs or 'number' is less than 0. ")
    if number == len(input):
        for rank, item in enumerate(input):
            item.root_rank_id = rank
        return input
    first = 0
    for rank in range(number):
        first = _give(input, first, rank, number - rank)
    return input


def _give(items: list[Any], first: int, rank: int, ranks_left: int) -> int:
    """Give a rank its items from the place *first* on; return the place of the first item that is left."""
    fair, size = _fair_size([item.size for item in items if item.root_rank_id == _NO_RANK], ranks_left), 0
    for place in range(first, len(items) - ranks_left + 1):
        excess = size + items[place].size - fair
        if place > first and excess > max(fair - size, 0):
            return place
        items[place].root_rank_id = rank
        size += items[place].size
        if excess > 0:
            return place + 1
    return len(items) - ranks_left + 1


def _fair_size(sizes: list[int], ranks: int) -> int:
    """Return the part of each rank; items that are larger than all others together have a rank of their own."""
    if ranks == 1:
        return sum(sizes)
    shared, shrinks = list(sizes), True
    while shrinks:
        total = sum(shared)
        fair = total // (ranks - len(sizes) + len(shared))
        others = [size for size in shared if size <= total - size]
        shrinks, shared = len(others) < len(shared), others
    return fair


def reduce_to_owners(pairs: Sequence[GradientPair], name: str) -> list[GradientPair]:
    """
    Return gradients with their variables; the gradient of a variable that this rank updates is the mean over the ranks.

    Gradients that go to one rank are reduced as one, the last first, as the vendor's fusion has it; sparse ones are
    gathered by all ranks.

    Raises
    ------
    ValueError
        There are fewer gradients than ranks, or ``DEVICE_ID`` does not say which rank this is.
    """
    ranks, here = get_rank_size(), _own_rank()
    if ranks > len(pairs):
        raise ValueError("The number of gradients is less than rank_size, so weight_update_sharding cannot be executed")
    add_grads_and_vars(pairs, ranks)
    reduced, last = [grad for grad, _ in pairs], list[Any]()
    with tf.name_scope(f"{name}_Reduce_Weight_Update_Sharding"):
        for rank in reversed(range(ranks)):
            places = [at for at, grad in enumerate(reduced) if grad is not None and get_gid_by_grad(grad) == rank]
            sparse = [at for at in places if isinstance(reduced[at], tf.IndexedSlices)]
            for dtype in dict.fromkeys(reduced[at].dtype for at in places if at not in sparse):
                same = [at for at in reversed(places) if at not in sparse and reduced[at].dtype == dtype]
                with tf.control_dependencies(last):
                    last = reduce_as_one([reduced[at] for at in same], "sum", rank)
                for at, total in zip(same, last, strict=True):
                    reduced[at] = total / tf.cast(ranks, dtype) if rank == here else total
            for at in reversed(sparse):
                with tf.control_dependencies(last):
                    reduced[at] = mean_over_ranks(reduced[at])
                last = [reduced[at].values]
    return [(grad, variable) for grad, (_, variable) in zip(reduced, pairs, strict=True)]


def update_local(
    apply: Callable[[list[GradientPair]], Operation], pairs: Sequence[GradientPair], name: str
) -> Operation:
    """
    Return the operator that updates the variables of this rank by *apply* and takes the others from their ranks.

    A device overwrites a variable where it is, so writing what came is no kernel.

    Raises
    ------
    ValueError
        ``DEVICE_ID`` does not say which rank this is.
    """
    here = _own_rank()
    updated = apply([(grad, variable) for grad, variable in pairs if get_gid_by_weight(variable) == here])
    last, all_ = [updated], [updated]
    with tf.name_scope(f"{name}_Broadcast_Weight_Update_Sharding"):
        for _, variable in pairs:
            rank = get_gid_by_weight(variable)
            if rank == _NO_RANK:
                continue
            with tf.control_dependencies(last):
                last = broadcast([variable.read_value()], rank, 0)
            with marked(**{IN_PLACE: True}):
                all_.append(tf.compat.v1.assign(variable, last[0]).op)
    # A gradient that another rank applies is reduced all the same.
    return tf.group(*all_, *(grad for grad, _ in pairs if grad is not None))


def _own_rank() -> int:
    text = os.environ.get("DEVICE_ID")
    if text is None or int(text) < 0:
        raise ValueError("Please set the correct RANK_ID value, current RANK_ID is:", text)
    return int(text)
