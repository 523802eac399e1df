"""``torch.distributed`` among the processes of a run on virtual time: ranks wait for each other on the clock."""

from __future__ import annotations

import contextlib
import functools
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final
from weakref import WeakKeyDictionary

import torch.distributed as dist
from attrs import define, field

from drynpu import CaptureError
from drynpu_torch.distributed import interception
from drynpu_virtual_time._clock import VirtualClock
from drynpu_virtual_time._peers import LostError

_SEND: Final = "send"
_RECEIVE: Final = "recv_"
_NS: Final = 1_000_000_000
_FROM_ANY: Final = "recv_any_source_"


def meet_in_collectives(clock: VirtualClock) -> None:
    """Let ranks that one process of the run started make groups together, and meet at each collective and message."""
    if not dist.is_available():
        return
    meetings = Meetings(clock)
    interception().add(meetings)
    _wait_in_stores(meetings)
    together = (("init_process_group", _world_size), ("new_group", _members), ("monitored_barrier", _barrier_members))
    for name, size_of in together:
        original = getattr(dist, name)
        for module in (dist, dist.distributed_c10d):
            setattr(module, name, meetings.creating(name, original, size_of))
    dist.Work.wait = meetings.waiting(dist.Work.wait)  # type: ignore[method-assign]


@define(eq=False)
class Meetings:
    """Counts what happens in each group, so that ranks meet under the same names (`CallObserver`)."""

    clock: VirtualClock
    _world: str = ""
    _counts: Counter[str] = field(factory=Counter)
    _awaited: WeakKeyDictionary[dist.Work, Callable[[], None]] = field(factory=WeakKeyDictionary)
    _newest: dist.Work | None = None

    def on_call(self, name: str, values: Mapping[str, object], result: object, begin_ns: int) -> None:
        """
        Wait until all ranks have issued a collective, which gloo then does; a message is awaited where its work is.

        Raises
        ------
        CaptureError
            A message from any rank: which one it is would be this machine's choice.
        """
        del begin_ns
        if not self.has_ranks:
            return
        group = dist.ProcessGroup.unbox(values["process_group"])  # type: ignore[arg-type]
        if name == _FROM_ANY:
            raise CaptureError(f"c10d::{name}: on virtual time a message has to name the rank that it comes from")
        if name in (_SEND, _RECEIVE):
            ends = (group.rank(), values["dst"]) if name == _SEND else (values["src"], group.rank())
            message = f"{group.group_name} {ends[0]} to {ends[1]} tag {values['tag']}"
            # Until torch.distributed has it, nothing else holds the work, which is a weak key.
            self._newest = dist.Work.unbox(result)  # type: ignore[arg-type]
            self._awaited[self._newest] = self.clock.come(self._next(message), 2, self._world)
        elif group.size() > 1:
            with _errors_of_ranks():
                self.clock.come(self._next(group.group_name), group.size(), self._world)()

    def waiting(self, wait: Callable[..., bool]) -> Callable[..., bool]:
        """Return a function that waits for the other end of a message on the clock, then for what gloo does."""

        @functools.wraps(wait)
        def wait_on_clock(work: dist.Work, *args: object, **kwargs: object) -> bool:
            with _errors_of_ranks():
                self._awaited.pop(work, _nothing)()
            return wait(work, *args, **kwargs)

        return wait_on_clock

    def creating(self, name: str, create: Callable[..., object], size_of: Callable[..., tuple[str, int]]) -> object:
        """Return a function that makes groups at the same time in all their ranks, as its rendezvous needs."""

        @functools.wraps(create)
        def create_together(*args: object, **kwargs: object) -> object:
            who, size = size_of(*args, **kwargs) if self.has_ranks else ("", 1)
            if size < 2:
                return create(*args, **kwargs)
            if size_of is _world_size:
                self._world = who
            with _errors_of_ranks():
                together = self._next(f"{name} {who}")
                return self.clock.together(together, size, self._world, lambda: create(*args, **kwargs))

        return create_together

    @property
    def has_ranks(self) -> bool:
        """Whether other ranks are processes of this run; the one that nobody started in it may be a rank elsewhere."""
        return self.clock.peers is not None and not self.clock.peers.is_first

    def _next(self, name: str) -> str:
        self._counts[f"{self._world} {name}"] += 1
        return f"{name} {self._counts[f'{self._world} {name}']}"


def _nothing() -> None:
    """Return from a wait that has been, or that is for a collective."""


@contextlib.contextmanager
def _errors_of_ranks() -> Iterator[None]:
    """Raise what scripts of ``torch.distributed`` expect where a rank has ended."""
    try:
        yield
    except LostError as error:
        raise dist.DistBackendError(str(error)) from None


def _wait_in_stores(meetings: Meetings) -> None:
    """Let what waits for a key of a store wait until another rank has written it."""
    get, wait = dist.Store.get, dist.Store.wait

    def have_come(store: dist.Store, keys: list[str], limit: timedelta) -> bool:
        """Wait for keys, and return whether they are there; not so where this is no rank among others."""
        clock = meetings.clock
        if not meetings.has_ranks or clock.is_guest or (clock.peers is not None and clock.peers.is_apart):
            return False
        if not clock.wait(lambda: store.check(keys), round(limit.total_seconds() * _NS)):
            raise dist.DistStoreError(f"wait timeout after {limit} of virtual time, keys: {', '.join(keys)}")
        return True

    @functools.wraps(get)
    def get_on_clock(store: dist.Store, key: str) -> bytes:
        have_come(store, [key], store.timeout)  # type: ignore[attr-defined]
        return get(store, key)

    @functools.wraps(wait)
    def wait_on_clock(store: dist.Store, keys: list[str], *timeout: timedelta) -> None:
        limit = timeout[0] if timeout else store.timeout  # type: ignore[attr-defined]
        if not have_come(store, keys, limit):
            wait(store, keys, *timeout)

    dist.Store.get, dist.Store.wait = get_on_clock, wait_on_clock  # type: ignore[method-assign, assignment]


def _barrier_members(group: dist.ProcessGroup | None = None, *_: object, **__: object) -> tuple[str, int]:
    chosen = dist.distributed_c10d._get_default_group() if group is None else group
    return chosen.group_name, chosen.size()


def _world_size(*args: Any, **kwargs: Any) -> tuple[str, int]:
    """Return where the ranks of a world find each other, and how many they are."""
    stated = kwargs.get("world_size", args[3] if len(args) > 3 else -1)
    method = kwargs.get("init_method", args[1] if len(args) > 1 else None) or "env://"
    if method.startswith("env://"):
        method = f"{os.environ.get('MASTER_ADDR', '')}:{os.environ.get('MASTER_PORT', '')}"
    return method, int(stated) if stated > 0 else int(os.environ.get("WORLD_SIZE", "1"))


def _members(
    ranks: Sequence[int] | None = None, *_: object, use_local_synchronization: bool = False, **__: object
) -> tuple[str, int]:
    if use_local_synchronization and ranks is not None:
        return ",".join(map(str, sorted(ranks))), len(ranks) if dist.get_rank() in ranks else 1
    return "", dist.get_world_size()
