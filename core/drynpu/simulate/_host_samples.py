"""Measurements of the host beside a recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import field, frozen


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
