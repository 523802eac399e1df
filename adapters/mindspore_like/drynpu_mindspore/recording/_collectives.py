"""Communication operators of a recording: kernels of the CPU here, which a device does over its links."""

from __future__ import annotations

import os
from typing import Final

import numpy as np

from drynpu.kernels import NO_DATA, Operators, Signature, TensorDesc
from drynpu.simulate import Collective

KINDS: Final = {
    "AllGather": "allGather",
    "AllReduce": "allReduce",
    "Broadcast": "broadcast",
    "ReduceScatter": "reduceScatter",
}
"""HCCL's operator by primitive."""
_GROUP = "hccl_world_group"


def find_collectives(operators: Operators, rank: int) -> tuple[Collective, ...]:
    """
    Return the communication among all ranks, in the order of its calls; there is none where the script has one rank.

    A launch of which the shape or type is not known is left out.
    """
    size = os.environ.get("RANK_SIZE", "1")
    ranks = tuple(range(int(size) if size.isdecimal() else 1))
    if len(ranks) < 2:
        return ()
    wanted = [number for number, each in enumerate(operators.signatures) if _tensor(each) is not None]
    rows = np.flatnonzero(np.isin(operators.signature, wanted))
    found = []
    for row in rows[np.argsort(operators.start_ns[rows], kind="stable")].tolist():
        signature = operators.signatures[int(operators.signature[row])]
        tensor = _tensor(signature)
        if tensor is None:
            continue
        found.append(
            Collective(
                kind=KINDS[signature.name],
                start_ns=int(operators.start_ns[row]),
                end_ns=int(operators.end_ns[row]),
                thread=int(operators.thread[row]),
                group=_GROUP,
                ranks=ranks,
                rank=rank,
                size_bytes=tensor.size_bytes,
                dtype=tensor.dtype,
                count=tensor.elements,
            )
        )
    return tuple(found)


def _tensor(signature: Signature) -> TensorDesc | None:
    """Return what is communicated; ``None`` for other operators, and where it is not known."""
    tensors = signature.tensors() if signature.name in KINDS else ()
    return next((tensor for tensor in tensors if tensor.dtype != NO_DATA), None)
