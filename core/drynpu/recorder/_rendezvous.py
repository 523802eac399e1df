"""
The rendezvous of the ranks when a recording is written: they exchange when each device reached each collective.

Each rank simulates its own recording. At every collective it writes into the job's store when its device arrived, and
reads when the devices of the other ranks arrived. The data moves from the arrival of the slowest rank on. Nothing is
exchanged while the script trains, except one announcement per recording.

Nobody waits for a rank that did not record or that stopped at another step. A rank that does not answer in
``_PATIENCE_S`` ends the exchange for this recording, and a note says so.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import socket
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from attrs import define, field, frozen

_PATIENCE_S: Final = 30.0  # the ranks end their recordings at about the same time
_NO_RECORDING: Final = "-"
_Failures: Final = (RuntimeError, ValueError, OSError)


class RankStore(Protocol):
    """Texts under keys that all ranks of a job see. Any of its methods may raise ``RuntimeError`` or ``OSError``."""

    def set(self, key: str, value: str) -> None:
        """Put a text under *key*."""

    def find(self, key: str) -> str | None:
        """Return the text under *key*, None where there is none yet."""

    def read(self, keys: Sequence[str], seconds: float) -> list[str]:
        """Return the texts under *keys* as soon as all are there; raise an error after *seconds*."""


@frozen(kw_only=True)
class RankCall:
    """
    One collective as the ranks tell each other of it.

    ``ranks`` are the ranks of the group; ``sequence`` is a number that all of them give the call, and that grows by 1
    from call to call of the group. ``messages`` are keys of sends and receives: (sender, receiver, tag), by global
    rank. ``size_bytes`` is what is moved, as in a `Collective`; 0 where nobody asks for it.
    """

    group: str
    ranks: tuple[int, ...]
    kind: str
    sequence: int = 0
    messages: tuple[tuple[int, int, int], ...] = ()
    size_bytes: int = 0


class AbsentRanks(Protocol):
    """The ranks of a job that do not run."""

    def slowest_ns(self, call: RankCall, start_ns: int, slowest_ns: int) -> int:
        """
        Return when the slowest rank reached a collective, Unix ns; it is asked once for each, in the order of issue.

        This rank reached it at *start_ns*, the slowest of those that run at *slowest_ns*.
        """

    def note(self) -> str:
        """Return what a profile has to say of them."""


@functools.cache
def _numbers() -> Iterator[int]:
    """Return the counter of this process's recordings; the numbers are in keys of the store, so they have to differ."""
    return itertools.count()


def announce(store: RankStore, rank: int) -> int | None:
    """Announce a recording to the other ranks and return its number; None if the store fails."""
    number = next(_numbers())
    try:
        store.set(f"{rank}/records", str(number))
    except _Failures:
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
    def from_calls(cls, number: int, issued: Sequence[RankCall]) -> _Table:
        by_group: dict[str, list[RankCall]] = defaultdict(list)
        for call in issued:
            by_group[call.group].append(call)
        groups = {}
        for name, calls in by_group.items():
            collectives = [call for call in calls if not call.messages]
            if collectives:
                has_messages = len(collectives) < len(calls)
                groups[name] = (collectives[0].sequence, has_messages, [call.kind for call in collectives])
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


def _message_key(call: RankCall, message: tuple[int, int, int]) -> str:
    sender, receiver, tag = message
    return f"{call.group}/{sender}>{receiver}/{tag}"


@frozen
class _StoreKeys:
    """Keys of the store that a rank sets when it reaches a collective, and keys that it then reads."""

    written: tuple[str, ...]
    read: tuple[str, ...]


@define(eq=False)
class RankRendezvous:
    """
    The `drynpu.simulate.Rendezvous` of this rank with the others; use it as a context.

    Parameters
    ----------
    calls:
        The collectives of the recording, in the order of their start.
    number:
        The announcement of the recording, by `announce`; None: it was not announced, and waits for nobody.
    rank:
        This rank.
    store:
        What the ranks share; None: it is gone, which ``notes`` has to say.

    base_ns:
        The Unix time from which exchanged times count: 0 for ranks that share a clock, the begin of the recording for
        ranks that run by themselves.
    patience_s:
        How long it waits for one that does not answer.
    absent:
        The ranks that do not run, as modelled; None: nobody waits for them.

    ``notes`` says what is not known. Without store or other recording ranks no collective waits.
    """

    calls: Sequence[RankCall] = ()
    number: int | None = None
    rank: int = 0
    store: RankStore | None = None
    base_ns: int = 0
    patience_s: float = _PATIENCE_S
    absent: AbsentRanks | None = None
    notes: list[str] = field(factory=list)
    _together: bool = False
    _tables: dict[int, _Table] = field(factory=dict)
    _keys: list[_StoreKeys] = field(factory=list)

    def __enter__(self) -> RankRendezvous:
        """Write the table of this rank into the store and read the tables of the other ranks."""
        if self.number is None or self.store is None:
            return self
        self._together = True
        with self._or_give_up():
            table = _Table.from_calls(self.number, self.calls)
            self.store.set(f"{self.rank}/{self.number}/table", table.text())
            self._tables = self._read_tables({rank for call in self.calls for rank in call.ranks} - {self.rank})
            self._keys = list(self._store_keys(table, self.calls))
            self._add_notes(table)
        return self

    def __exit__(self, *error: object) -> None:
        """Leave together with the other ranks, because the process of one of them holds the store."""
        store = self.store
        if self.number is None or store is None:
            return
        with self._or_give_up():
            store.set(f"{self.rank}/{self.number}/done", "1")
            others = [f"{rank}/{table.number}/done" for rank, table in self._tables.items()]
            if others:
                store.read(others, self.patience_s)
        with contextlib.suppress(*_Failures):
            store.set(f"{self.rank}/records", _NO_RECORDING)

    def __call__(self, index: int, start_ns: int) -> int:
        """Return when the slowest rank reached collective *index* (Unix ns), *start_ns* if that is not known."""
        slowest_ns = max(start_ns, self._slowest_here(index, start_ns))
        if self.absent is None:
            return slowest_ns
        return self.absent.slowest_ns(self.calls[index], start_ns, slowest_ns)

    def _slowest_here(self, index: int, start_ns: int) -> int:
        """Return when the slowest of the ranks that run reached a collective."""
        if self.store is None or not self._together:
            return start_ns
        keys = self._keys[index]
        slowest_ns = start_ns
        with self._or_give_up():
            for key in keys.written:
                self.store.set(key, str(start_ns - self.base_ns))
            if keys.read:
                slowest_ns = self.base_ns + max(map(int, self.store.read(keys.read, self.patience_s)))
        return slowest_ns

    def _read_tables(self, others: set[int]) -> dict[int, _Table]:
        assert self.store is not None  # narrowed by __enter__
        announced = {rank: self.store.find(f"{rank}/records") for rank in others}
        records = {rank: int(number) for rank, number in announced.items() if number not in (None, _NO_RECORDING)}
        keys = [f"{rank}/{number}/table" for rank, number in records.items()]
        if not keys:
            return {}
        texts = self.store.read(keys, self.patience_s)
        return {rank: _Table(*json.loads(text)) for rank, text in zip(records, texts, strict=True)}

    def _store_keys(self, table: _Table, issued: Sequence[RankCall]) -> Iterator[_StoreKeys]:
        """Yield the keys of each collective. A send waits for no other rank, a receive for its send."""
        done: Counter[str] = Counter()
        for call in issued:
            if call.messages:
                yield self._message_keys(table, call, done)
                continue
            index = done[call.group]
            done[call.group] += 1
            read = []
            for rank in call.ranks:
                other = self._tables.get(rank)
                place = None if other is None else table.place(call.group, index, call.kind, other)
                if other is not None and place is not None:
                    read.append(f"{rank}/{other.number}/{call.group}/{place}")
            yield _StoreKeys((f"{self.rank}/{table.number}/{call.group}/{index}",), tuple(read))

    def _message_keys(self, table: _Table, call: RankCall, done: Counter[str]) -> _StoreKeys:
        written, read = [], []
        for message in call.messages:
            sender = message[0]
            key = _message_key(call, message)
            index = done[key]
            done[key] += 1
            if sender == self.rank:
                written.append(f"{sender}/{table.number}/{key}/{index}")
                continue
            other = self._tables.get(sender)
            if other is not None and index < other.messages.get(key, 0):
                read.append(f"{sender}/{other.number}/{key}/{index}")
        return _StoreKeys(tuple(written), tuple(read))

    def _add_notes(self, table: _Table) -> None:
        missing = sorted({rank for call in self.calls for rank in call.ranks} - {self.rank, *self._tables})
        if missing and self.absent is not None:
            self.notes.append(self.absent.note())
        elif missing:
            self.notes.append(f"ranks {missing} did not record with this one: its collectives do not wait for them")
        if any(other.host != table.host for other in self._tables.values()):
            self.notes.append("ranks on several hosts: waits for others hold the difference between their clocks")

    @contextlib.contextmanager
    def _or_give_up(self) -> Iterator[None]:
        """Go on without the others once the store or one of them fails: a profiler must not end a training run."""
        try:
            yield
        except _Failures as error:
            self._together = False
            reason = str(error).partition("\n")[0]
            self.notes.append(f"the exchange with other ranks ended early, later collectives wait for nobody: {reason}")
