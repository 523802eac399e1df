"""Communication operators that were issued while a recording ran."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve, field, frozen

from drynpu.device.collectives import MESSAGES
from drynpu.simulate import Collective
from drynpu_torch.distributed._groups import Group
from drynpu_torch.distributed._payloads import Payload


@frozen(kw_only=True)
class Issued:
    """
    One call of ``torch.distributed`` on a group of the device.

    Attributes
    ----------
    sequence:
        The number that the group's backend gave the call.
    messages:
        Of point-to-point calls: (sender, receiver, tag) with global ranks; this rank is one of the two.
    begin_ns, end_ns:
        The call as measured (Unix ns); it worked in host memory.
    event:
        Number of the event by which others wait for the call, None if the issuing stream waits at once.
    """

    group: Group
    payload: Payload
    sequence: int
    begin_ns: int
    end_ns: int
    thread: int
    event: int | None
    messages: tuple[tuple[int, int, int], ...] = ()

    def collective(self, marked: bool) -> Collective:
        """Return the call for the simulation, with the mark that torch_npu sets around it if ``marked``."""
        payload = self.payload
        return Collective(
            kind=payload.kind,
            start_ns=self.begin_ns,
            end_ns=self.end_ns,
            thread=self.thread,
            group=self.group.name,
            ranks=self.group.ranks,
            rank=self.group.rank,
            size_bytes=payload.size_bytes,
            dtype=payload.dtype,
            count=payload.count,
            peer=None if payload.peer is None else self.group.ranks[payload.peer],
            blocking=self.event is None,
            event=self.event,
            mark=payload.mark_message(self.group) if marked else "",
        )


def _by_start(issued: Iterable[Issued]) -> tuple[Issued, ...]:
    return tuple(sorted(issued, key=lambda each: each.begin_ns))


@frozen(kw_only=True)
class Communication:
    """The calls of ``torch.distributed`` in one recording, in order of their start."""

    issued: tuple[Issued, ...] = field(default=(), converter=_by_start)
    number: int | None = None
    """Number of the recording as announced to the other ranks; None if it was not."""

    def collectives(self, marked: bool) -> tuple[Collective, ...]:
        """Return the calls for the simulation, in the same order; ``marked`` where marks are recorded."""
        return tuple(issued.collective(marked) for issued in self.issued)


def one_batch(parts: list[Issued]) -> Issued:
    """
    Return the one operator that a device runs for a batch of sends and receives.

    It moves the bytes of the larger direction. Its peer is the rank that sends most to this rank, or that this rank
    sends most to if it receives nothing, because the model has one link per operator. The mark is about the first.
    """
    sides = {kind: [part.payload for part in parts if part.payload.kind == kind] for kind in MESSAGES}
    sums = {kind: sum(payload.size_bytes for payload in side) for kind, side in sides.items()}
    largest = max(sides["receive"] or sides["send"], key=lambda payload: payload.size_bytes)
    larger_side = sides[max(MESSAGES, key=lambda kind: sums[kind])]
    count, first = sum(payload.count for payload in larger_side), parts[0].payload
    moved = Payload("batchSendRecv", max(sums.values()), largest.dtype, count, largest.peer)
    return evolve(
        parts[0],
        payload=evolve(moved, marked=(first.count, first.dtype)),
        end_ns=parts[-1].end_ns,
        messages=tuple(message for part in parts for message in part.messages),
    )
