"""What a recording holds of the host besides operators: library calls, Python calls, framework events, samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import field, frozen

from drynpu.arrays import I32, I64, Records
from drynpu.layouts import framework_mindspore as mindspore_facts
from drynpu.layouts.framework_mindspore import MS_ABSENT


@frozen(eq=False, kw_only=True)
class AclCalls:
    """
    Calls by their C names (``aclmdlExecute``); columns of shape ``[n]``, in any order.

    A recording that has them shows these calls into ACL; no calls are then derived from the waits among its
    ``host_calls``.
    """

    names: tuple[str, ...]
    """The distinct names."""
    name: I32
    start_ns: I64
    """Unix time, as measured."""
    end_ns: I64
    thread: I64
    """OS thread id."""

    def __len__(self) -> int:
        return len(self.name)

    @classmethod
    def from_rows(cls, rows: Sequence[tuple[str, int, int, int]]) -> AclCalls:
        """Return the table of rows ``(name, start_ns, end_ns, thread)``."""
        numbers = {name: number for number, name in enumerate(dict.fromkeys(row[0] for row in rows))}
        return cls(
            names=tuple(numbers),
            name=np.fromiter((numbers[row[0]] for row in rows), np.int32, len(rows)),
            start_ns=np.fromiter((row[1] for row in rows), np.int64, len(rows)),
            end_ns=np.fromiter((row[2] for row in rows), np.int64, len(rows)),
            thread=np.fromiter((row[3] for row in rows), np.int64, len(rows)),
        )


@frozen(eq=False, kw_only=True)
class PythonFrames:
    """
    Calls of Python functions, sorted by ``(start_ns, -end_ns)``; every column has shape ``[n]``, times Unix ns.

    A name is ``<file>(<line>): <function>``, the name of a built-in function, or ``<class>######<object>`` for the call
    of a module.
    """

    names: tuple[str, ...]
    name: I64
    start_ns: I64
    end_ns: I64
    thread: I64


@frozen(eq=False, kw_only=True)
class FrameworkEvents:
    """
    Events as ``mindspore.op_range`` has them (mindspore_profiler.md 11), but for their times, which are Unix ns.

    Their ``pid`` and ``step`` are not read: the writer of the file fills both.
    """

    records: Records
    """``mindspore_facts.MS_OP_RANGE``, shape ``[n]``."""
    text_index: I64
    """Row of ``texts`` per event, -1 for none."""
    texts: tuple[dict[int, str], ...] = field(repr=False)
    """Distinct sets of texts, ``MsOpRangeField`` -> text."""

    def __len__(self) -> int:
        return len(self.records)

    @classmethod
    def empty(cls) -> FrameworkEvents:
        """Return no events."""
        return cls(records=np.zeros(0, mindspore_facts.MS_OP_RANGE), text_index=np.zeros(0, np.int64), texts=())

    @classmethod
    def join(cls, parts: Sequence[FrameworkEvents]) -> FrameworkEvents:
        """Return the events of several stretches of one recording; numbers of flows stay apart."""
        if not parts:
            return cls.empty()
        moved, first_flow, first_text = [], 0, 0
        for part in parts:
            moved.append((renumbered(part.records, first_flow), part.text_index + first_text * (part.text_index >= 0)))
            first_flow += _last_flow(part.records)
            first_text += len(part.texts)
        return cls(
            records=np.concatenate([records for records, _ in moved]),
            text_index=np.concatenate([index for _, index in moved]),
            texts=tuple(text for part in parts for text in part.texts),
        )


def renumbered(records: Records, first: int) -> Records:
    """Return a copy of the records whose flows have numbers that are greater by *first*."""
    copied = records.copy()
    copied["flow_id"][records["flow_id"] != MS_ABSENT] += np.uint64(first)
    return copied


def _last_flow(records: Records) -> int:
    """Return the greatest number of a flow, 0 without any."""
    flows = records["flow_id"]
    return int(flows[flows != MS_ABSENT].max(initial=0))


@frozen(eq=False, kw_only=True)
class HostSamples:
    """
    Measurements as the text that the collector writes, with Unix ns for times.

    ``texts`` are by the name of a text kind, ``processes`` by kind and process. ``disk`` has rows
    ``(time_ns, bytes read, bytes written, ticks waited for the disk)``, counted since the process began; the last is
    None where the kernel does not count it. ``failures`` say what could not be read.
    """

    texts: Mapping[str, str] = field(factory=dict)
    processes: Mapping[str, Mapping[int, str]] = field(factory=dict)
    disk: tuple[tuple[int, int, int, int | None], ...] = ()
    samples: int = 0
    cost_ns: int = 0
    """Mean time that one sample took."""
    failures: tuple[str, ...] = ()

    @classmethod
    def join(cls, parts: Sequence[HostSamples]) -> HostSamples | None:
        """Return the samples of several stretches of one recording, in order; None if there are none."""
        if not parts:
            return None
        texts: dict[str, str] = {}
        processes: dict[str, dict[int, str]] = {}
        for part in parts:
            for kind, text in part.texts.items():
                texts[kind] = texts.get(kind, "") + text
            for kind, by_pid in part.processes.items():
                known = processes.setdefault(kind, {})
                for pid, text in by_pid.items():
                    known[pid] = known.get(pid, "") + text
        samples = sum(part.samples for part in parts)
        return cls(
            texts=texts,
            processes=processes,
            disk=tuple(row for part in parts for row in part.disk),
            samples=samples,
            cost_ns=sum(part.cost_ns * part.samples for part in parts) // max(samples, 1),
            failures=tuple(dict.fromkeys(failure for part in parts for failure in part.failures)),
        )
