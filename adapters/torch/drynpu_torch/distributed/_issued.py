"""Communication operators that were issued while a recording ran."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve, field, frozen

from drynpu.simulate import Collective
from drynpu_torch.distributed._groups import Group
from drynpu_torch.distributed._mark_messages import mark_message
from drynpu_torch.distributed._requests import POINT_TO_POINT, Asked


@frozen(kw_only=True)
class Issued:
    """
    One call.

    Attributes
    ----------
    sequence:
        The number that the group's backend gave it.
    messages:
        Of point-to-point calls: (sender, receiver, tag) with global ranks; this rank is one of the two.
    begin_ns, end_ns:
        The measured call (Unix ns); what it computed was in host memory.
    event:
        Number of the event by which others wait for it, None if the issuing stream waits at once.
    """

    group: Group
    asked: Asked
    sequence: int
    begin_ns: int
    end_ns: int
    thread: int
    event: int | None
    messages: tuple[tuple[int, int, int], ...] = ()

    def collective(self, marked: bool) -> Collective:
        """Return the call as the session takes it, ``marked`` with the range that torch_npu puts around it."""
        of = self.asked
        return Collective(
            kind=of.kind,
            start_ns=self.begin_ns,
            end_ns=self.end_ns,
            thread=self.thread,
            group=self.group.name,
            ranks=self.group.ranks,
            rank=self.group.rank,
            size_bytes=of.size_bytes,
            dtype=of.dtype,
            count=of.count,
            peer=None if of.peer is None else self.group.ranks[of.peer],
            blocking=self.event is None,
            event=self.event,
            mark=mark_message(of, self.group) if marked else "",
        )


def _by_start(issued: Iterable[Issued]) -> tuple[Issued, ...]:
    return tuple(sorted(issued, key=lambda each: each.begin_ns))


@frozen(kw_only=True)
class Communication:
    """What a recording saw of ``torch.distributed``: calls in order of their start, and all groups of the process."""

    issued: tuple[Issued, ...] = field(default=(), converter=_by_start)
    number: int | None = None
    """Number of the recording as announced to the other ranks; None if it was not."""

    def collectives(self, marked: bool) -> tuple[Collective, ...]:
        """Return the calls as the session takes them, in the same order; ``marked`` where marks are recorded."""
        return tuple(of.collective(marked) for of in self.issued)


def one_batch(parts: list[Issued]) -> Issued:
    """
    Return the one operator that a device runs for a batch of sends and receives.

    Its message is what goes in the larger direction, its peer the one that this rank receives most from, or sends
    most to if it receives nothing: the model has one link per operator.
    """
    sides = {kind: [of.asked for of in parts if of.asked.kind == kind] for kind in POINT_TO_POINT}
    sums = {kind: sum(of.size_bytes for of in side) for kind, side in sides.items()}
    main = max(sides["receive"] or sides["send"], key=lambda of: of.size_bytes)
    larger = sides[max(POINT_TO_POINT, key=lambda kind: sums[kind])]
    whole = Asked("batchSendRecv", max(sums.values()), main.dtype, sum(of.count for of in larger), main.peer)
    return evolve(
        parts[0],
        asked=whole,
        end_ns=parts[-1].end_ns,
        messages=tuple(message for of in parts for message in of.messages),
    )
