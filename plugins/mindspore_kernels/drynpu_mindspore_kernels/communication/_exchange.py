"""
How data goes from rank to rank where MindSpore's CPU build moves none: over the connection to the first rank.

Nothing of it is a launch of MindSpore's, so a recording shows the collective that the script called and no helper.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from attrs import define, field, frozen

from drynpu.device.collectives import MESSAGES, WORLD_GROUP
from drynpu.kernels import Call
from drynpu.kernels.ops import ge_dtype
from drynpu.recorder import REDUCTIONS, RankLink
from drynpu_mindspore.recording import WORLD_NAMES, JobRanks
from drynpu_mindspore.rules import signature
from drynpu_mindspore_kernels.communication._lines import Lines
from drynpu_mindspore_kernels.compositions import BFLOAT16_BITS, narrow, widen

_PATIENCE_VARIABLE, _PATIENCE_S = "HCCL_EXEC_TIMEOUT", 1836.0
"""How long a collective waits for the other ranks, and what HCCL takes where the variable does not say it."""


@frozen(kw_only=True)
class Transfer:
    """
    One operator of HCCL that a call launches, as in `drynpu.simulate.Collective`.

    ``peer`` is the place of the other rank, or of the root, in the group. ``tag`` tells messages of one pair apart;
    ``messages`` are the messages of a batch: whether each is sent, and its peer.
    """

    kind: str
    size_bytes: int
    dtype: str
    count: int
    peer: int | None = None
    tag: int = 0
    messages: tuple[tuple[bool, int], ...] = ()

    def routes(self, group: RankGroup) -> tuple[tuple[int, int, int], ...]:
        """Return sender, receiver and tag of each message, by numbers of the world; nothing for other operators."""
        sides = self.messages
        if self.kind in MESSAGES and self.peer is not None:
            sides = ((self.kind == MESSAGES[0], self.peer),)
        here = group.members[group.place]
        return tuple(
            (here, group.members[peer], self.tag) if is_sent else (group.members[peer], here, self.tag)
            for is_sent, peer in sides
        )


def transfer(kind: str, data: Any, *, peer: int | None = None, count: int | None = None, tag: int = 0) -> Transfer:
    """Return the operator *kind* of HCCL that moves an array, or some of one type."""
    arrays = list(data) if isinstance(data, (list, tuple)) else [data]
    return Transfer(
        kind=kind,
        size_bytes=sum(int(each.nbytes) for each in arrays),
        dtype=dtype_name(arrays[0].dtype) if arrays else "INT8",
        count=sum(int(each.size) for each in arrays) if count is None else count,
        peer=peer,
        tag=tag,
    )


BARRIER: Final = Transfer(kind="allReduce", size_bytes=4, dtype="FLOAT", count=1)
"""HCCL has no barrier that MindSpore calls: it reduces 4 bytes (``HcomBarrierKernel``, ``DistCommBarrier``)."""


def dtype_name(dtype: np.dtype[Any]) -> str:
    """Return GE's name of an array's type."""
    return "DT_BF16" if dtype == BFLOAT16_BITS else str(ge_dtype(dtype.name))


@frozen(eq=False)
class RankGroup:
    """
    The ranks of a group as one of them reaches the others; calls have to come in the same order on all of them.

    ``members`` are numbers of the world, ``place`` is this rank's place among them.
    """

    name: str
    members: tuple[int, ...]
    place: int
    _link: RankLink | None

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return len(self.members)

    def gather(self, array: Any, call: str, *, same: bool = True) -> list[Any]:
        """
        Return the arrays of all ranks, flat; of one type, and with *same* of one shape.

        Raises
        ------
        ValueError
            The ranks call different collectives.
        TimeoutError
            A rank has not come, or has ended.
        """
        said = [call, dtype_name(array.dtype), list(array.shape) if same else []]
        parts = self._parts(np.ascontiguousarray(array).tobytes(), said)
        return [np.frombuffer(part, array.dtype) for part in parts]

    def exchange(self, arrays: Sequence[Any], call: str) -> list[Any]:
        """Return what the ranks send here, flat, in their order; ``arrays[k]`` goes to the k-th. Raises as `gather`."""
        dtype = arrays[0].dtype
        content = b"".join(np.ascontiguousarray(each).tobytes() for each in arrays)
        sizes = [int(each.size) for each in arrays]
        parts = self._parts(content, [call, dtype_name(dtype)], sizes)
        arrivals = []
        for part, counts in parts:
            begin = sum(counts[: self.place]) * dtype.itemsize
            arrivals.append(np.frombuffer(part, dtype, counts[self.place], begin))
        return arrivals

    def reduce(self, array: Any, op: str, call: str) -> Any:
        """
        Return what the ranks' arrays reduce to, in the shape of *array*; one of 16 bits is rounded once.

        Raises
        ------
        ValueError
            *op* is no reduction, or the ranks call different collectives.
        TimeoutError
            A rank has not come, or has ended.
        """
        if op not in REDUCTIONS:
            raise ValueError(f"{call}: op is {op!r}; {', '.join(REDUCTIONS)} are computed")
        if array.dtype == BFLOAT16_BITS or array.dtype == np.float16:
            wide = [widen(each).astype(np.float32) for each in self.gather(array, f"{call} {op}")]
            total = REDUCTIONS[op].reduce(wide)
            return (narrow(total) if array.dtype == BFLOAT16_BITS else total.astype(np.float16)).reshape(array.shape)
        if self._link is None:
            return array
        said = [f"{call} {op}", dtype_name(array.dtype), list(array.shape)]
        (part,), heard = self._link.gather(
            self._key,
            self.members,
            np.ascontiguousarray(array).tobytes(),
            content=said,
            reduction=op,
            dtype=array.dtype.str,
            seconds=_patience(),
        )
        self._check(heard)
        return np.frombuffer(part, array.dtype).reshape(array.shape)

    def send(self, array: Any, place: int, tag: object) -> None:
        """Send an array to the rank at *place*; it waits there."""
        data = np.ascontiguousarray(array).tobytes()
        if self._link is not None:
            self._link.send(self._pair(self.place, place, tag), data)

    def receive(self, dtype: np.dtype[Any], count: int, place: int, tag: object) -> Any:
        """
        Return the next array that the rank at *place* sends here, flat.

        Raises
        ------
        ValueError
            It has another size.
        TimeoutError
            Nothing has come.
        """
        if self._link is None:
            raise ValueError(f"group {self.name!r} has one rank; there is nobody to receive from")
        part = self._link.receive(self._pair(place, self.place, tag), seconds=_patience())
        if len(part) != count * dtype.itemsize:
            raise ValueError(
                f"rank {self.members[place]} sent {len(part)} bytes, rank {self.members[self.place]} receives "
                f"{count * dtype.itemsize}; give the tensor that receives the shape and type of the one that is sent"
            )
        return np.frombuffer(part, dtype)

    @property
    def _key(self) -> str:
        return f"data/{self.name}"

    def _pair(self, source: int, sink: int, tag: object) -> str:
        return f"{self._key}/{source}>{sink}/{tag}"

    def _parts(self, content: bytes, said: list[Any], sizes: list[int] | None = None) -> list[Any]:
        """Return the bytes of all ranks, each with its *sizes* where there are any."""
        if self._link is None:
            return [content] if sizes is None else [(content, sizes)]
        parts, heard = self._link.gather(self._key, self.members, content, content=[said, sizes], seconds=_patience())
        self._check([each[0] if isinstance(each, list) and len(each) == 2 else each for each in heard])
        return list(parts) if sizes is None else [(part, each[1]) for part, each in zip(parts, heard, strict=True)]

    def _check(self, heard: Sequence[Any]) -> None:
        if any(each != heard[0] for each in heard):
            calls = "; ".join(
                f"rank {rank}: {' '.join(map(str, each))}" for rank, each in zip(self.members, heard, strict=True)
            )
            raise ValueError(
                f"the ranks of group {self.name!r} call different collectives ({calls}); "
                "call the same ones in the same order, with tensors of one shape and type"
            )


def _patience() -> float:
    text = os.environ.get(_PATIENCE_VARIABLE, "")
    return float(text) if text.isdecimal() and int(text) else _PATIENCE_S


@define(eq=False)
class Exchange:
    """
    What collectives of this process need: the other ranks, and a way to have a call noted in a recording.

    ``rank`` returns the number of this process in the world, ``find_members`` the ranks of a group that MindSpore made.
    """

    ranks: JobRanks
    note: Callable[[Call], None]
    rank: Callable[[], int]
    find_members: Callable[[str], Sequence[int]]
    lines: Lines = field(factory=Lines)
    """Work that goes on beside the script, by the name of its group."""
    _groups: dict[str, RankGroup] = field(factory=dict)

    def group(self, name: object) -> RankGroup:
        """
        Return a group by its name; the world has no name.

        Raises
        ------
        ValueError
            This rank is not in the group.
        CommandError
            The other ranks cannot be reached.
        """
        text = WORLD_GROUP if name is None or str(name) in WORLD_NAMES else str(name)
        if text not in self._groups:
            self._groups[text] = self._find(text)
        return self._groups[text]

    def forget(self, name: object) -> None:
        """Forget a group that the script ends; one of the same name may have other ranks."""
        self._groups.pop(str(name), None)

    def _find(self, name: str) -> RankGroup:
        members = tuple(self.ranks.groups.get(name) or (int(rank) for rank in self.find_members(name)))
        rank = self.rank()
        if rank not in members:
            raise ValueError(f"rank {rank} is not in group {name!r}, which has the ranks {members}")
        return RankGroup(name, members, members.index(rank), self.ranks.link() if len(members) > 1 else None)

    def noted(
        self,
        primitive: str,
        group: RankGroup,
        transfers: Sequence[Transfer],
        begin_ns: int,
        end_ns: int,
        *,
        launch: bool,
    ) -> None:
        """Have a call noted; with *launch* it belongs to a launch of MindSpore's that lasts from before to after it."""
        if group.size < 2:
            return
        for place, each in enumerate(transfers):
            described = {
                "kind": each.kind,
                "group": group.name,
                "ranks": group.members,
                "peer": None if each.peer is None else group.members[each.peer],
                "size_bytes": each.size_bytes,
                "dtype": each.dtype,
                "count": each.count,
                "messages": each.routes(group),
                "launch": launch,
            }
            start_ns = end_ns if place else begin_ns
            self.note(Call(signature(primitive, [], [], described), start_ns, end_ns, threading.get_native_id()))
