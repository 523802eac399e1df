"""The rendezvous of the ranks over the store of ``torch.distributed`` (`drynpu.recorder.RankRendezvous`)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import torch.distributed as dist
from attrs import frozen

from drynpu.recorder import RankCall, RankRendezvous, announce
from drynpu_torch.distributed._issued import Communication, Issued

_PREFIX = "drynpu/profiler"


@frozen
class _Store:
    """The job's store as a `drynpu.recorder.RankStore`. PyTorch's errors are of the kind ``RuntimeError``."""

    store: dist.Store

    def set(self, key: str, value: str) -> None:
        self.store.set(key, value)

    def find(self, key: str) -> str | None:
        found: bytes | None = self.store.get(key) if self.store.check([key]) else None
        return None if found is None else found.decode()

    def read(self, keys: Sequence[str], seconds: float) -> list[str]:
        self.store.wait(list(keys), timedelta(seconds=seconds))
        return [text.decode() for text in self.store.multi_get(list(keys))]


def _store() -> _Store:
    return _Store(dist.PrefixStore(_PREFIX, dist.distributed_c10d._get_default_store()))


def announce_recording() -> int | None:
    """Announce a recording to the other ranks and return its number; None if there is no store."""
    try:
        store = _store()
    except (RuntimeError, ValueError):
        return None
    return announce(store, dist.get_rank())


def rendezvous(communication: Communication) -> RankRendezvous:
    """Return the rendezvous of a recording with those of the other ranks; use it as a context."""
    issued, number = communication.issued, communication.number
    if number is None:
        return RankRendezvous()
    if not dist.is_initialized():
        gone = ["the process group was gone when the recording was written: nobody waits for others"] if issued else []
        return RankRendezvous(number=number, notes=gone)
    return RankRendezvous(tuple(map(_call, issued)), number, dist.get_rank(), _store())


def _call(issued: Issued) -> RankCall:
    group = issued.group
    return RankCall(
        group=group.name,
        ranks=group.ranks,
        kind=issued.payload.kind,
        sequence=issued.sequence,
        messages=issued.messages,
    )
