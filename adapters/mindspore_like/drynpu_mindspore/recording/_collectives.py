"""Communication operators of a recording: kernels of the CPU here, which a device does over its links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

import numpy as np
from attrs import field, frozen

from drynpu.kernels import NO_DATA, Operators, Signature, TensorDesc
from drynpu.simulate import Collective
from drynpu_mindspore.recording._ranks import WORLD_GROUP, WORLD_NAMES
from drynpu_mindspore.rules import LaunchCall

KINDS: Final = {
    "AllGather": "allGather",
    "AllReduce": "allReduce",
    "Broadcast": "broadcast",
    "ReduceScatter": "reduceScatter",
    "DistCommAllGather": "allGather",
    "DistCommAllGatherIntoTensor": "allGather",
    "DistCommAllReduce": "allReduce",
    "DistCommBroadcast": "broadcast",
    "DistCommReduce": "reduce",
    "DistCommReduceScatterTensor": "reduceScatter",
}
"""HCCL's operator by primitive."""
UNMODELLED: Final = {
    "all_gather_into_tensor_uneven": "DistCommAllGatherIntoTensorUneven",
    "all_to_all": "DistCommAllToAllV",
    "all_to_all_single": "DistCommAllToAllVSingle",
    "barrier": "DistCommBarrier",
    "batch_isend_irecv": "DistCommBatchIsendIrecv",
    "gather": "DistCommGather",
    "gather_into_tensor": "DistCommGatherIntoTensor",
    "irecv": "DistCommIrecv",
    "isend": "DistCommIsend",
    "reduce_scatter": "DistCommReduceScatter",
    "reduce_scatter_tensor_uneven": "DistCommReduceScatterTensorUneven",
    "scatter": "DistCommScatter",
    "scatter_tensor": "DistCommScatterTensor",
}
"""By function of ``mint.distributed`` the primitive whose transfers have no model; they are counted."""
_ROOTED: Final = ("broadcast", "reduce")


@frozen(eq=False)
class FoundCollectives:
    """
    The communication of a recording, in the order of its calls.

    ``left_out`` counts launches by primitive of which the shape or the group is not known.
    """

    collectives: tuple[Collective, ...] = ()
    left_out: Mapping[str, int] = field(factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """What readers of the profile have to know, a line each."""
        return tuple(
            f"{count} {name} left out of the communication: "
            + ("not modelled" if name in UNMODELLED.values() else "shape or group not known")
            for name, count in self.left_out.items()
        )


def find_collectives(operators: Operators, rank: int, groups: Mapping[str, tuple[int, ...]]) -> FoundCollectives:
    """Return the communication of this rank; *groups* are the ranks of all groups. With one rank there is none."""
    if len(groups[WORLD_GROUP]) < 2:
        return FoundCollectives()
    wanted = [
        number
        for number, each in enumerate(operators.signatures)
        if each.name in KINDS or each.name in UNMODELLED.values()
    ]
    rows = np.flatnonzero(np.isin(operators.signature, wanted))
    found: list[Collective] = []
    left_out: Counter[str] = Counter()
    for row in rows[np.argsort(operators.start_ns[rows], kind="stable")].tolist():
        signature = operators.signatures[int(operators.signature[row])]
        tensor, attributes = _tensor(signature), LaunchCall(signature).attrs
        group = str(attributes.get("group", ""))
        group = WORLD_GROUP if group in WORLD_NAMES else group
        if tensor is None or group not in groups:
            left_out[signature.name] += 1
            continue
        ranks, root = groups[group], attributes.get("root_rank")
        found.append(
            Collective(
                kind=KINDS[signature.name],
                start_ns=int(operators.start_ns[row]),
                end_ns=int(operators.end_ns[row]),
                thread=int(operators.thread[row]),
                group=group,
                ranks=ranks,
                rank=rank,
                peer=root if isinstance(root, int) and KINDS[signature.name] in _ROOTED and root in ranks else None,
                size_bytes=tensor.size_bytes,
                dtype=tensor.dtype,
                count=tensor.elements,
            )
        )
    return FoundCollectives(tuple(found), dict(left_out))


def _tensor(signature: Signature) -> TensorDesc | None:
    """Return what is communicated; ``None`` for other operators, and where it is not known."""
    tensors = signature.tensors() if signature.name in KINDS else ()
    return next((tensor for tensor in tensors if tensor.dtype != NO_DATA), None)
