"""Communication operators of a recording: kernels of the CPU here, which a device does over its links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from attrs import field, frozen

from drynpu.arrays import I64
from drynpu.device.collectives import WORLD_GROUP
from drynpu.kernels import NO_DATA, Call, Operators, Signature, TensorDesc
from drynpu.recorder import RankCall
from drynpu.simulate import Collective
from drynpu_mindspore.recording._ranks import WORLD_NAMES
from drynpu_mindspore.rules import LaunchCall

KINDS: Final = {
    "AllGather": "allGather",
    "AllReduce": "allReduce",
    "Broadcast": "broadcast",
    "ReduceScatter": "reduceScatter",
}
"""HCCL's operator by primitive, of launches whose calls were not noted."""
_ROOTED: Final = ("broadcast",)
Messages = tuple[tuple[int, int, int], ...]
"""Sender, receiver and tag of each."""


@frozen(eq=False)
class FoundCollectives:
    """
    The communication of a recording, in the order of its calls.

    ``calls`` is, in the same order, what the ranks tell each other. ``left_out`` counts launches by primitive of which
    the shape or the group is not known.
    """

    collectives: tuple[Collective, ...] = ()
    calls: tuple[RankCall, ...] = ()
    left_out: Mapping[str, int] = field(factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """What readers of the profile have to know, a line each."""
        return tuple(
            f"{count} {name} left out of the communication: shape or group not known"
            for name, count in self.left_out.items()
        )


def part_calls(calls: Iterable[Call]) -> tuple[list[Call], list[Call]]:
    """Return the calls of collectives among those that were noted, and all others."""
    noted: list[Call] = []
    others: list[Call] = []
    for call in calls:
        (noted if isinstance(call.call, Signature) and "kind" in LaunchCall(call.call).attrs else others).append(call)
    return noted, others


def find_collectives(
    operators: Operators, rank: int, groups: Mapping[str, tuple[int, ...]], noted: Sequence[Call] = ()
) -> FoundCollectives:
    """
    Return the communication of this rank; *groups* are the ranks of all groups. With one rank there is none.

    What was *noted* says what it moves. It lasts as long as its launch, where it belongs to one.
    """
    if len(groups[WORLD_GROUP]) < 2:
        return FoundCollectives()
    rows = _launches(operators, {call.name for call in noted} | set(KINDS))
    collectives: list[tuple[Collective, Messages]] = []
    seen: set[int] = set()
    for call in noted:
        attributes = LaunchCall(call.call).attrs if isinstance(call.call, Signature) else {}
        row = _launch_of(call, operators, rows[call.name]) if attributes["launch"] else -1
        collective = _noted(call, attributes, rank, _times(operators, row) if row not in {-1, *seen} else None)
        collectives.append((collective, attributes["messages"]))
        seen.add(row)
    left_out: Counter[str] = Counter()
    for row in np.sort(np.concatenate([rows[name] for name in KINDS])).tolist():
        if row in seen:
            continue
        launched = _launched(operators, row, rank, groups)
        if launched is None:
            left_out[operators.signatures[int(operators.signature[row])].name] += 1
        else:
            collectives.append((launched, ()))
    collectives.sort(key=lambda each: each[0].start_ns)
    calls = [
        RankCall(group=each.group, ranks=each.ranks, kind=each.kind, messages=messages)
        for each, messages in collectives
    ]
    return FoundCollectives(tuple(each for each, _ in collectives), tuple(calls), dict(left_out))


def _launches(operators: Operators, names: Iterable[str]) -> dict[str, I64]:
    """Return by primitive the rows of its launches, in the order of their starts."""
    rows_by_name = {}
    for name in names:
        wanted = [number for number, each in enumerate(operators.signatures) if each.name == name]
        rows = np.flatnonzero(np.isin(operators.signature, wanted))
        rows_by_name[name] = rows[np.argsort(operators.start_ns[rows], kind="stable")]
    return rows_by_name


def _launch_of(call: Call, operators: Operators, rows: I64) -> int:
    """Return the row of the launch that began last before a call inside it, -1 if there is none."""
    place = int(np.searchsorted(operators.start_ns[rows], call.start_ns, side="right"))
    return int(rows[place - 1]) if place else -1


def _times(operators: Operators, row: int) -> tuple[int, int, int]:
    """Return when a launch begins and ends, and its thread."""
    return int(operators.start_ns[row]), int(operators.end_ns[row]), int(operators.thread[row])


def _noted(call: Call, attributes: Mapping[str, Any], rank: int, times: tuple[int, int, int] | None) -> Collective:
    start_ns, end_ns, thread = times or (call.start_ns, call.end_ns, call.thread)
    return Collective(
        kind=attributes["kind"],
        start_ns=start_ns,
        end_ns=end_ns,
        thread=thread,
        group=attributes["group"],
        ranks=attributes["ranks"],
        rank=rank,
        peer=attributes["peer"],
        size_bytes=attributes["size_bytes"],
        dtype=attributes["dtype"],
        count=attributes["count"],
    )


def _launched(operators: Operators, row: int, rank: int, groups: Mapping[str, tuple[int, ...]]) -> Collective | None:
    """Return the communication of a launch that was not noted, ``None`` if its shape or its group is not known."""
    signature = operators.signatures[int(operators.signature[row])]
    tensor, attributes = _tensor(signature), LaunchCall(signature).attrs
    group = str(attributes.get("group", ""))
    group = WORLD_GROUP if group in WORLD_NAMES else group
    if tensor is None or group not in groups:
        return None
    kind, root = KINDS[signature.name], attributes.get("root_rank")
    start_ns, end_ns, thread = _times(operators, row)
    return Collective(
        kind=kind,
        start_ns=start_ns,
        end_ns=end_ns,
        thread=thread,
        group=group,
        ranks=groups[group],
        rank=rank,
        peer=root if isinstance(root, int) and kind in _ROOTED and root in groups[group] else None,
        size_bytes=tensor.size_bytes,
        dtype=tensor.dtype,
        count=tensor.elements,
    )


def _tensor(signature: Signature) -> TensorDesc | None:
    """Return what is communicated, ``None`` where it is not known."""
    return next((tensor for tensor in signature.tensors() if tensor.dtype != NO_DATA), None)
