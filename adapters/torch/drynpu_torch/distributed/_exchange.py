"""
The ranks meet again when a recording is written: who reached which collective when, on the simulated devices.

Each rank simulates its own recording. At every collective it writes down in the job's store when its device got
there and reads when those of the others did; the slowest one's arrival is the moment from which the data moves, on
all of them. Nothing is exchanged while the script trains, except one announcement per recording.

A rank that did not record, or stopped at another step, is not waited for; one that does not answer in
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

_PATIENCE = timedelta(seconds=30)
_PREFIX = "drynpu/profiler"
_NOBODY = b"-"


@functools.cache
def _numbers() -> Iterator[int]:
    """Numbers of this process's recordings; keys of the store carry them, so they have to differ."""
    return itertools.count()


def _store() -> dist.Store:
    return dist.PrefixStore(_PREFIX, dist.distributed_c10d._get_default_store())


def announce() -> int | None:
    """Tell the other ranks that this one records, and return the number of the recording; None if that failed."""
    number = next(_numbers())
    try:
        _store().set(f"{dist.get_rank()}/records", str(number))
    except (RuntimeError, ValueError):
        return None
    return number


@frozen
class _Table:
    """What a rank recorded: per group the first sequence number, whether it has messages, and kinds in order."""

    number: int
    host: str
    groups: dict[str, tuple[int, bool, list[str]]]
    messages: dict[str, int]

    @classmethod
    def of(cls, number: int, issued: Sequence[Issued]) -> _Table:
        by_group: dict[str, list[Issued]] = defaultdict(list)
        for one in issued:
            by_group[one.group.name].append(one)
        groups = {}
        for name, own in by_group.items():
            together = [one for one in own if not one.messages]
            if together:
                has_messages = len(together) < len(own)
                groups[name] = (together[0].sequence, has_messages, [one.asked.kind for one in together])
        counted = Counter(_message_key(one, message) for one in issued for message in one.messages)
        return cls(number, socket.gethostname(), groups, dict(counted))

    def text(self) -> str:
        return json.dumps([self.number, self.host, self.groups, self.messages])

    def place(self, name: str, index: int, kind: str, other: _Table) -> int | None:
        """
        Return where another rank has the collective that this one has at *index* of group *name*, None if nowhere.

        Both count from the start of their recordings; where those began at different collectives, the backend's
        numbers tell by how many they are apart. Sends and receives are numbered too, so with them they do not.
        """
        if name not in other.groups:
            return None
        (first, messages, _), (its_first, its_messages, kinds) = self.groups[name], other.groups[name]
        shift = 0 if messages or its_messages else first - its_first
        at = index + shift
        return at if 0 <= at < len(kinds) and kinds[at] == kind else None


def _message_key(one: Issued, message: tuple[int, int, int]) -> str:
    source, target, tag = message
    return f"{one.group.name}/{source}>{target}/{tag}"


@frozen
class _Meeting:
    """Keys that a rank sets when it reaches a collective, and those it then reads."""

    tells: tuple[str, ...]
    reads: tuple[str, ...]


@define(eq=False)
class Exchange:
    """
    The other ranks, as a `drynpu.simulate.Rendezvous`; use it as a context.

    ``notes`` says what could not be known. Without process group, store or other recording ranks, no collective
    waits.
    """

    communication: Communication
    notes: list[str] = field(factory=list)
    _store: dist.Store | None = None
    _together: bool = False
    _rank: int = 0
    _tables: dict[int, _Table] = field(factory=dict)
    _meetings: list[_Meeting] = field(factory=list)

    def __enter__(self) -> Exchange:
        """Tell the others what was recorded here and read what they recorded."""
        issued, number = self.communication.issued, self.communication.number
        if number is None:
            return self
        if not dist.is_initialized():
            if issued:
                self.notes.append("the process group was gone when the recording was written: nobody waits for others")
            return self
        self._store, self._rank, self._together = _store(), dist.get_rank(), True
        with self._or_give_up():
            own = _Table.of(number, issued)
            self._store.set(f"{self._rank}/{number}/table", own.text())
            self._tables = self._read_tables({rank for one in issued for rank in one.group.ranks} - {self._rank})
            self._meetings = list(self._plan(own, issued))
            self._remark(own)
        return self

    def __exit__(self, *error: object) -> None:
        """Leave together, so that the rank that holds the store does not go first."""
        number, store = self.communication.number, self._store
        if store is None:
            return
        with self._or_give_up():
            store.set(f"{self._rank}/{number}/done", "1")
            others = [f"{rank}/{table.number}/done" for rank, table in self._tables.items()]
            if others:
                store.wait(others, _PATIENCE)
        with contextlib.suppress(RuntimeError):
            store.set(f"{self._rank}/records", _NOBODY.decode())

    def __call__(self, index: int, start_ns: int) -> int:
        """Return when the slowest rank reached collective *index*, Unix ns; *start_ns* if nobody tells."""
        if self._store is None or not self._together:
            return start_ns
        meeting = self._meetings[index]
        slowest = start_ns
        with self._or_give_up():
            for key in meeting.tells:
                self._store.set(key, str(start_ns))
            if meeting.reads:
                self._store.wait(list(meeting.reads), _PATIENCE)
                slowest = max(start_ns, *map(int, self._store.multi_get(list(meeting.reads))))
        return slowest

    def _read_tables(self, others: set[int]) -> dict[int, _Table]:
        assert self._store is not None  # narrowed by __enter__
        store = self._store
        announced = {rank: store.get(f"{rank}/records") for rank in others if store.check([f"{rank}/records"])}
        records = {rank: int(number) for rank, number in announced.items() if number != _NOBODY}
        keys = [f"{rank}/{number}/table" for rank, number in records.items()]
        if not keys:
            return {}
        store.wait(keys, _PATIENCE)
        return {rank: _Table(*json.loads(text)) for rank, text in zip(records, store.multi_get(keys), strict=True)}

    def _plan(self, own: _Table, issued: Sequence[Issued]) -> Iterator[_Meeting]:
        """Yield what to tell and to read at each collective. A send waits for nobody, a receive for its send."""
        done: Counter[str] = Counter()
        for one in issued:
            if one.messages:
                yield self._message_meeting(own, one, done)
                continue
            name, kind = one.group.name, one.asked.kind
            index = done[name]
            done[name] += 1
            reads = []
            for rank in one.group.ranks:
                table = self._tables.get(rank)
                at = None if table is None else own.place(name, index, kind, table)
                if table is not None and at is not None:
                    reads.append(f"{rank}/{table.number}/{name}/{at}")
            yield _Meeting((f"{self._rank}/{own.number}/{name}/{index}",), tuple(reads))

    def _message_meeting(self, own: _Table, one: Issued, done: Counter[str]) -> _Meeting:
        tells, reads = [], []
        for message in one.messages:
            source = message[0]
            key = _message_key(one, message)
            index = done[key]
            done[key] += 1
            if source == self._rank:
                tells.append(f"{source}/{own.number}/{key}/{index}")
                continue
            table = self._tables.get(source)
            if table is not None and index < table.messages.get(key, 0):
                reads.append(f"{source}/{table.number}/{key}/{index}")
        return _Meeting(tuple(tells), tuple(reads))

    def _remark(self, own: _Table) -> None:
        issued = self.communication.issued
        missing = sorted({rank for one in issued for rank in one.group.ranks} - {self._rank, *self._tables})
        if missing:
            self.notes.append(f"ranks {missing} did not record with this one: its collectives do not wait for them")
        if any(table.host != own.host for table in self._tables.values()):
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
