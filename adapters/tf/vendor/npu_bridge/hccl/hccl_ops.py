"""``hccl_ops``: collective operators."""

from __future__ import annotations

from drynpu_tf.bridge.collectives import (
    all_to_all_v,
    all_to_all_v_c,
    allgather,
    allreduce,
    broadcast,
    gather_all_to_all_v,
    receive,
    reduce,
    reduce_scatter,
    remote_read,
    remote_ref_read,
    remote_scatter_write,
    remote_write,
    send,
)

__all__ = [
    "all_to_all_v",
    "all_to_all_v_c",
    "allgather",
    "allreduce",
    "broadcast",
    "gather_all_to_all_v",
    "receive",
    "reduce",
    "reduce_scatter",
    "remote_read",
    "remote_ref_read",
    "remote_scatter_write",
    "remote_write",
    "send",
]
