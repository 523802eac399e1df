"""
The rendezvous of the ranks when a recording is written: they exchange when each device reached each collective.

Each rank simulates its own recording. At every collective it writes into the job's store when its device arrived, and
reads when the devices of the other ranks arrived. The data moves from the arrival of the slowest rank on. Nothing is
exchanged while the script trains, except one announcement per recording.

Nobody waits for a rank that did not record or that stopped at another step. A rank that does not answer in
``_PATIENCE`` ends the exchange for this recording, and a note says so.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import socket
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import timedelta

import torch.distributed as dist
from attrs import define, field, frozen

from drynpu_torch.distributed._issued import Communication, Issued

_PATIENCE = timedelta(seconds=30)  # the ranks end their recordings at about the same time
_PREFIX = "drynpu/profiler"
_NO_RECORDING = b"-"


@functools.cache
def _numbers() -> Iterator[int]:
    """Return the counter of this process's recordings; the numbers are in keys of the store, so they have to differ."""
    return itertools.count()


def _store() -> dist.Store:
    return dist.PrefixStore(_PREFIX, dist.distributed_c10d._get_default_store())


def announce() -> int | None:
    """Announce a recording to the other ranks and return its number; None if there is no store."""
    number = next(_numbers())
    try:
        _store().set(f"{dist.get_rank()}/records", str(number))
    except (RuntimeError, ValueError):
        return None
    return number


@frozen
class _Table:
    """The recording of a rank: for each group the first sequence number, whether it has messages, kinds in order."""

    number: int
    host: str
    groups: dict[str, tuple[int, bool, list[str]]]
    messages: dict[str, int]

    @classmethod
    def from_issued(cls, number: int, issued: Sequence[Issued]) -> _Table:
        by_group: dict[str, list[Issued]] = defaultdict(list)
        for call in issued:
            by_group[call.group.name].append(call)
        groups = {}
        for name, calls in by_group.items():
            collectives = [call for call in calls if not call.messages]
            if collectives:
                has_messages = len(collectives) < len(calls)
                groups[name] = (collectives[0].sequence, has_messages, [call.payload.kind for call in collectives])
        messages = Counter(_message_key(call, message) for call in issued for message in call.messages)
        return cls(number, socket.gethostname(), groups, dict(messages))

    def text(self) -> str:
        return json.dumps([self.number, self.host, self.groups, self.messages])

    def place(self, name: str, index: int, kind: str, other: _Table) -> int | None:
        """
        Return the index at which another rank has the collective at *index* of group *name*, None if it has none.

        Both ranks count from the start of their recordings. Where those began at different collectives, the sequence
        numbers of the backend say by how many they differ. Sends and receives have numbers too, so a group with
        messages has no such difference.
        """
        if name not in other.groups:
            return None
        (first, messages, _), (other_first, other_messages, kinds) = self.groups[name], other.groups[name]
        shift = 0 if messages or other_messages else first - other_first
        place = index + shift
        return place if 0 <= place < len(kinds) and kinds[place] == kind else None


def _message_key(call: Issued, message: tuple[int, int, int]) -> str:
    sender, receiver, tag = message
    return f"{call.group.name}/{sender}>{receiver}/{tag}"


@frozen
class _StoreKeys:
    """Keys of the store that a rank sets when it reaches a collective, and keys that it then reads."""

    written: tuple[str, ...]
    read: tuple[str, ...]


@define(eq=False)
class Exchange:
    """
    The `drynpu.simulate.Rendezvous` of this rank with the others; use it as a context.

    ``notes`` says what is not known. Without process group, store or other recording ranks no collective waits.
    """

    communication: Communication
    notes: list[str] = field(factory=list)
    _store: dist.Store | None = None
    _together: bool = False
    _rank: int = 0
    _tables: dict[int, _Table] = field(factory=dict)
    _keys: list[_StoreKeys] = field(factory=list)

    def __enter__(self) -> Exchange:
        """Write the table of this rank into the store and read those of the other ranks."""
        issued, number = self.communication.issued, self.communication.number
        if number is None:
            return self
        if not dist.is_initialized():
            if issued:
                self.notes.append("the process group was gone when the recording was written: nobody waits for others")
            return self
        self._store, self._rank, self._together = _store(), dist.get_rank(), True
        with self._or_give_up():
            table = _Table.from_issued(number, issued)
            self._store.set(f"{self._rank}/{number}/table", table.text())
            self._tables = self._read_tables({rank for call in issued for rank in call.group.ranks} - {self._rank})
            self._keys = list(self._store_keys(table, issued))
            self._add_notes(table)
        return self

    def __exit__(self, *error: object) -> None:
        """Leave together with the other ranks, because the process of one of them holds the store."""
        number, store = self.communication.number, self._store
        if store is None:
            return
        with self._or_give_up():
            store.set(f"{self._rank}/{number}/done", "1")
            others = [f"{rank}/{table.number}/done" for rank, table in self._tables.items()]
            if others:
                store.wait(others, _PATIENCE)
        with contextlib.suppress(RuntimeError):
            store.set(f"{self._rank}/records", _NO_RECORDING.decode())

    def __call__(self, index: int, start_ns: int) -> int:
        """Return when the slowest rank reached collective *index* (Unix ns), *start_ns* if that is not known."""
        if self._store is None or not self._together:
            return start_ns
        keys = self._keys[index]
        slowest_ns = start_ns
        with self._or_give_up():
            for key in keys.written:
                self._store.set(key, str(start_ns))
            if keys.read:
                self._store.wait(list(keys.read), _PATIENCE)
                slowest_ns = max(start_ns, *map(int, self._store.multi_get(list(keys.read))))
        return slowest_ns

    def _read_tables(self, others: set[int]) -> dict[int, _Table]:
        assert self._store is not None  # narrowed by __enter__
        store = self._store
        announced = {rank: store.get(f"{rank}/records") for rank in others if store.check([f"{rank}/records"])}
        records = {rank: int(number) for rank, number in announced.items() if number != _NO_RECORDING}
        keys = [f"{rank}/{number}/table" for rank, number in records.items()]
        if not keys:
            return {}
        store.wait(keys, _PATIENCE)
        return {rank: _Table(*json.loads(text)) for rank, text in zip(records, store.multi_get(keys), strict=True)}

    def _store_keys(self, table: _Table, issued: Sequence[Issued]) -> Iterator[_StoreKeys]:
        """Yield the keys of each collective. A send waits for no other rank, a receive for its send."""
        done: Counter[str] = Counter()
        for call in issued:
            if call.messages:
                yield self._message_keys(table, call, done)
                continue
            name, kind = call.group.name, call.payload.kind
            index = done[name]
            done[name] += 1
            read = []
            for rank in call.group.ranks:
                other = self._tables.get(rank)
                place = None if other is None else table.place(name, index, kind, other)
                if other is not None and place is not None:
                    read.append(f"{rank}/{other.number}/{name}/{place}")
            yield _StoreKeys((f"{self._rank}/{table.number}/{name}/{index}",), tuple(read))

    def _message_keys(self, table: _Table, call: Issued, done: Counter[str]) -> _StoreKeys:
        written, read = [], []
        for message in call.messages:
            sender = message[0]
            key = _message_key(call, message)
            index = done[key]
            done[key] += 1
            if sender == self._rank:
                written.append(f"{sender}/{table.number}/{key}/{index}")
                continue
            other = self._tables.get(sender)
            if other is not None and index < other.messages.get(key, 0):
                read.append(f"{sender}/{other.number}/{key}/{index}")
        return _StoreKeys(tuple(written), tuple(read))

    def _add_notes(self, table: _Table) -> None:
        issued = self.communication.issued
        missing = sorted({rank for call in issued for rank in call.group.ranks} - {self._rank, *self._tables})
        if missing:
            self.notes.append(f"ranks {missing} did not record with this one: its collectives do not wait for them")
        if any(other.host != table.host for other in self._tables.values()):
            self.notes.append("ranks on several hosts: waits for others hold the difference between their clocks")

    @contextlib.contextmanager
    def _or_give_up(self) -> Iterator[None]:
        """Go on without the others once the store or one of them fails: a profiler must not end a training run."""
        try:
            yield
        except (RuntimeError, ValueError) as error:
            self._together = False
            reason = str(error).partition("\n")[0]
            self.notes.append(f"the exchange with other ranks ended early, later collectives wait for nobody: {reason}")
