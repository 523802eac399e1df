"""The rendezvous of the ranks over the store of ``torch.distributed`` (`drynpu.recorder.RankRendezvous`)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import torch.distributed as dist
from attrs import frozen

from drynpu.recorder import FolderStore, RankCall, RankRendezvous, announce
from drynpu_torch.distributed._alone import LoneRank, lone_rank
from drynpu_torch.distributed._issued import Communication, Issued

_PREFIX = "drynpu/profiler"
_LONE_PATIENCE_S = 600.0
"""Ranks that run by themselves are not in step: one stage of a pipeline may take far longer here than another."""


@frozen
class _Store:
    """The job's store as a `drynpu.recorder.RankStore`. PyTorch's errors are of the kind ``RuntimeError``."""

    store: dist.Store

    def set(self, key: str, value: str) -> None:
        self.store.set(key, value)

    def find(self, key: str) -> str | None:
        text: bytes | None = self.store.get(key) if self.store.check([key]) else None
        return None if text is None else text.decode()

    def read(self, keys: Sequence[str], seconds: float) -> list[str]:
        self.store.wait(list(keys), timedelta(seconds=seconds))
        return [text.decode() for text in self.store.multi_get(list(keys))]


def _store() -> _Store:
    return _Store(dist.PrefixStore(_PREFIX, dist.distributed_c10d._get_default_store()))


def announce_recording() -> int | None:
    """Announce a recording to the other ranks and return its number; None if there is no store."""
    lone = lone_rank()
    if lone is not None:
        return announce(_lone_store(lone, 0), dist.get_rank())
    try:
        store = _store()
    except (RuntimeError, ValueError):
        return None
    return announce(store, dist.get_rank())


def rendezvous(communication: Communication, begin_ns: int = 0) -> RankRendezvous:
    """
    Return the rendezvous of a recording with the recordings of the other ranks; use it as a context.

    Ranks that run by themselves count their times from *begin_ns*, when their recordings began.
    """
    issued, number = communication.issued, communication.number
    if number is None:
        return RankRendezvous()
    if not dist.is_initialized():
        gone = ["the process group was gone when the recording was written: nobody waits for others"] if issued else []
        return RankRendezvous(number=number, notes=gone)
    calls, lone = tuple(map(_call, issued)), lone_rank()
    if lone is None:
        return RankRendezvous(calls, number, dist.get_rank(), _store())
    return RankRendezvous(
        calls,
        number,
        dist.get_rank(),
        _lone_store(lone, number),
        base_ns=begin_ns,
        patience_s=_LONE_PATIENCE_S,
        absent=lone.peers(),
    )


def _lone_store(lone: LoneRank, number: int) -> FolderStore:
    return FolderStore(lone.command.folder, frozenset(lone.command.ranks) - {dist.get_rank()}, number)


def _call(issued: Issued) -> RankCall:
    group = issued.group
    return RankCall(
        group=group.name,
        ranks=group.ranks,
        kind=issued.payload.kind,
        sequence=issued.sequence,
        messages=issued.messages,
        size_bytes=issued.payload.size_bytes,
    )
