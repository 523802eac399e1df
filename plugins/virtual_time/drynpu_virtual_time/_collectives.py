"""``torch.distributed`` among the processes of a run on virtual time: ranks wait for each other on the clock."""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch.distributed as dist
from attrs import define, field

from drynpu import CaptureError
from drynpu_torch.distributed import interception
from drynpu_virtual_time._clock import VirtualClock

_POINT_TO_POINT: Final = ("send", "recv_", "recv_any_source_")


def meet_in_collectives(clock: VirtualClock) -> None:
    """Let ranks that one process of the run started make groups together, and meet at each collective."""
    if not dist.is_available():
        return
    meetings = Meetings(clock)
    interception().add(meetings)
    for name, size_of in (("init_process_group", _world_size), ("new_group", _members)):
        original = getattr(dist, name)
        for module in (dist, dist.distributed_c10d):
            setattr(module, name, meetings.creating(name, original, size_of))


@define(eq=False)
class Meetings:
    """Counts what happens in each group, so that ranks meet under the same names (`CallObserver`)."""

    clock: VirtualClock
    _counts: Counter[str] = field(factory=Counter)

    def on_call(self, name: str, values: Mapping[str, object], result: object, begin_ns: int) -> None:
        """
        Wait until all ranks have issued a collective, which gloo then does.

        Raises
        ------
        CaptureError
            Messages from one rank to another: gloo waits for them where no other process has a turn.
        """
        del result, begin_ns
        if not self._has_ranks:
            return
        if name in _POINT_TO_POINT:
            raise CaptureError(f"c10d::{name}: messages from rank to rank are not on virtual time; collectives are")
        group = dist.ProcessGroup.unbox(values["process_group"])  # type: ignore[arg-type]
        if group.size() > 1:
            self.clock.meet(self._next(group.group_name), group.size())

    def creating(self, name: str, create: Callable[..., object], size_of: Callable[..., tuple[str, int]]) -> object:
        """Return a function that makes groups at the same time in all their ranks, as its rendezvous needs."""

        @functools.wraps(create)
        def create_together(*args: object, **kwargs: object) -> object:
            who, size = size_of(*args, **kwargs) if self._has_ranks else ("", 1)
            if size < 2:
                return create(*args, **kwargs)
            return self.clock.together(self._next(f"{name} {who}"), size, lambda: create(*args, **kwargs))

        return create_together

    @property
    def _has_ranks(self) -> bool:
        """Whether other ranks are processes of this run; the one that nobody started in it may be a rank elsewhere."""
        return self.clock.peers is not None and not self.clock.peers.is_first

    def _next(self, name: str) -> str:
        self._counts[name] += 1
        return f"{name} {self._counts[name]}"


def _world_size(*args: Any, **kwargs: Any) -> tuple[str, int]:
    stated = kwargs.get("world_size", args[3] if len(args) > 3 else -1)
    return "", int(stated) if stated > 0 else int(os.environ.get("WORLD_SIZE", "1"))


def _members(
    ranks: Sequence[int] | None = None, *_: object, use_local_synchronization: bool = False, **__: object
) -> tuple[str, int]:
    if use_local_synchronization and ranks is not None:
        return ",".join(map(str, sorted(ranks))), len(ranks) if dist.get_rank() in ranks else 1
    return "", dist.get_world_size()
