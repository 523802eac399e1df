"""Host metrics, measured while a recording runs: a thread that copies lines of /proc, as the collector does."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil
from attrs import define, field

from drynpu.host import counters_folder
from drynpu.options import HostSystem, HostUsage, Sampling, fixed_hz
from drynpu.simulate import HostSamples

_MOST_SHARE = 10
"""A sampler sleeps at least this many times as long as its last sample took: it takes a tenth of a core at most."""
# A read of /proc that hangs must not hold up the end of the recording for longer.
_JOIN_S = 5.0
_SHORT = (
    "host usage of cpu by process could not be measured: the recording is shorter than a tick of the kernel's clock"
)
_LOG = logging.getLogger("drynpu")


@define
class _Samples:
    """The process that one thread samples, and its samples so far."""

    system: Path
    process: Path
    texts: dict[str, list[str]] = field(factory=dict)
    processes: dict[str, dict[int, list[str]]] = field(factory=dict)
    disk: list[tuple[int, int, int, int | None]] = field(factory=list)
    begun: dict[str, list[int]] = field(factory=dict)
    """Clock ticks of cores and processes when the recording began; the kernel counts them since the host started."""
    failures: dict[str, str] = field(factory=dict)
    count: int = 0
    spent_ns: int = 0

    def take(self, probes: Mapping[str, Callable[[_Samples, int], None]]) -> int:
        """Read everything once; return how long that took, in ns."""
        begun = time.perf_counter_ns()
        for name, probe in probes.items():
            if name not in self.failures:
                try:
                    probe(self, time.time_ns())
                except (OSError, ValueError, IndexError, psutil.Error) as error:
                    self.failures[name] = f"{name} could not be measured: {error}"
        took = time.perf_counter_ns() - begun
        self.count, self.spent_ns = self.count + 1, self.spent_ns + took
        return took

    def all_failures(self) -> Iterator[str]:
        """Yield what could not be measured."""
        yield from self.failures.values()
        if self.begun and "host_process_cpu" not in self.processes:
            yield _SHORT

    def text(self, kind: str, chunk: str) -> None:
        self.texts.setdefault(kind, []).append(chunk)

    def packet(self, kind: str, time_ns: int, body: str, pid: int | None = None) -> None:
        size = len(body.encode("utf-8", "replace"))
        chunk = f"TimeStamp:{time_ns}\nIndex:{self.count}\nDataLen:{size}\n{body}\n"
        if pid is None:
            self.text(kind, chunk)
        else:
            self.processes.setdefault(kind, {}).setdefault(pid, []).append(chunk)


def _read(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read()


def _cpu(samples: _Samples, time_ns: int) -> None:
    """Read every thread of the process; one that ends meanwhile is passed over."""
    uptime = _read(samples.system / "uptime")
    lines = []
    for thread in (samples.process / "task").iterdir():
        try:
            lines.append(_read(thread / "stat"))
        except OSError:
            continue
    samples.text("host_cpu", f"time {time_ns}\n{uptime}{''.join(lines)}")


def _memory(samples: _Samples, time_ns: int) -> None:
    samples.text("host_mem", f"{time_ns} {_read(samples.process / 'statm')}")


def _network(samples: _Samples, time_ns: int) -> None:
    samples.text("host_network", f"time {time_ns}\n{_read(samples.system / 'net/dev')}")


def _disk(samples: _Samples, time_ns: int) -> None:
    counters = dict(line.split(": ") for line in _read(samples.process / "io").splitlines())
    waited = None
    if _waiting_is_counted(samples.system):
        waited = int(_read(samples.process / "stat").rpartition(")")[2].split()[39])
    samples.disk.append((time_ns, int(counters["read_bytes"]), int(counters["write_bytes"]), waited))


def _waiting_is_counted(system: Path) -> bool:
    """Return whether the kernel counts how long tasks wait for disks; old ones always do."""
    try:
        return _read(system / "sys/kernel/task_delayacct").strip() != "0"
    except OSError:
        return True


def _system_cpu(samples: _Samples, time_ns: int) -> None:
    """Read all cores and processes, of which the shares are of the recording's time: the first sample is its begin."""
    is_first = not samples.begun
    cores = [line.split() for line in _read(samples.system / "stat").splitlines() if line.startswith("cpu")]
    lines = [f"{name} {_since_begin(samples, name, ticks, is_first)}\n" for name, *ticks in cores]
    samples.packet("host_sys_cpu", time_ns, "".join(lines))
    had_time = any(tick != "0" for tick in lines[0].split()[1:])
    for pid, name, stat in _all_processes(samples.system, "stat"):
        head, bracket, rest = stat.rpartition(")")
        state = rest.split()
        ticks = _since_begin(samples, f"{pid} {state[_START_TIME]}", state[_TICKS], is_first).split()
        body = f"{head}{bracket} {' '.join((*state[: _TICKS.start], *ticks, *state[_TICKS.stop :]))}\n"
        if had_time:
            samples.packet("host_process_cpu", time_ns, f"{body}ProcessName:{name}\n{lines[0]}", pid)


_TICKS, _START_TIME = slice(11, 15), 19
"""Places behind the name in a line of stat: user and system time of a process and of its children, and its start."""


def _since_begin(samples: _Samples, who: str, ticks: list[str], is_first: bool) -> str:
    """Return counters without what they were when the recording began; a process that started later had nothing."""
    numbers = [int(tick) for tick in ticks]
    if is_first:
        samples.begun[who] = numbers
    before = samples.begun.get(who, [0] * len(numbers))
    return " ".join(str(max(now - begin, 0)) for now, begin in zip(numbers, before, strict=True))


def _system_memory(samples: _Samples, time_ns: int) -> None:
    samples.packet("host_sys_mem", time_ns, _read(samples.system / "meminfo"))
    for pid, name, pages in _all_processes(samples.system, "statm"):
        samples.packet("host_process_mem", time_ns, f"{pages}ProcessName:{name}\n", pid)


def _all_processes(system: Path, file: str) -> list[tuple[int, str, str]]:
    """Return id, name and one file of every process; one that ends meanwhile is passed over."""
    processes = []
    for pid in psutil.pids():
        try:
            processes.append((pid, _read(system / str(pid) / "comm").strip(), _read(system / str(pid) / file)))
        except OSError:
            continue
    return processes


_SYSTEM_PROBES: Mapping[HostSystem, Callable[[_Samples, int], None]] = {
    HostSystem.CPU: _cpu,
    HostSystem.MEMORY: _memory,
    HostSystem.DISK: _disk,
    HostSystem.NETWORK: _network,
}
_USAGE_PROBES: Mapping[HostUsage, Callable[[_Samples, int], None]] = {
    HostUsage.CPU: _system_cpu,
    HostUsage.MEMORY: _system_memory,
}


@define
class HostSampler:
    """
    Measures a process (``pid``; None: this one) and the host from :meth:`start` to :meth:`stop`, as often as asked.

    The process is read 50 times a second (``host_sys`` has no rate of its own), the host ``host_usage_hz`` times; less
    often where reading takes longer than a tenth of that. There is a sample at the start and one at the end. Nothing
    is raised: what cannot be read is in ``HostSamples.failures``.
    """

    sampling: Sampling
    pid: int | None = None
    system: Path | None = field(factory=counters_folder)
    """Where the counters of the system are; None: nowhere."""
    _lacking: str = field(default="", init=False)
    _ended: threading.Event = field(factory=threading.Event, init=False)
    _threads: list[threading.Thread] = field(factory=list, init=False)
    _samples: list[_Samples] = field(factory=list, init=False)

    def start(self) -> None:
        """Start measuring; nothing happens if nothing is asked for."""
        chosen = [system for system in self.sampling.host_systems if system in _SYSTEM_PROBES]
        systems = {f"host {system.value}": _SYSTEM_PROBES[system] for system in chosen}
        usage = {f"host usage of {kind.value}": _USAGE_PROBES[kind] for kind in self.sampling.host_usage}
        if self.system is None and (systems or usage):
            self._lacking = f"{', '.join((*systems, *usage))} could not be measured: this system has no /proc"
        for probes, rate_hz in ((systems, fixed_hz("sampling.host_systems")), (usage, self.sampling.host_usage_hz)):
            if not probes or self.system is None:
                continue
            process = self.system / ("self" if self.pid is None else str(self.pid))
            samples = _Samples(system=self.system, process=process)
            thread = threading.Thread(
                target=self._run, args=(samples, probes, 1 / rate_hz), name="drynpu-host-sampler", daemon=True
            )
            try:
                thread.start()
            except RuntimeError as error:
                samples.failures["host"] = f"the host could not be measured: {error}"
            else:
                self._threads.append(thread)
            self._samples.append(samples)

    def stop(self) -> HostSamples | None:
        """Stop measuring and return what was measured; None if nothing was asked for."""
        self._ended.set()
        for thread in self._threads:
            thread.join(_JOIN_S)
        if not self._samples and not self._lacking:
            return None
        count = sum(samples.count for samples in self._samples)
        failures = (text for samples in self._samples for text in samples.all_failures())
        return HostSamples(
            texts={name: "".join(parts) for samples in self._samples for name, parts in samples.texts.items()},
            processes={
                name: {pid: "".join(parts) for pid, parts in by_pid.items()}
                for samples in self._samples
                for name, by_pid in samples.processes.items()
            },
            disk=tuple(row for samples in self._samples for row in samples.disk),
            samples=count,
            cost_ns=sum(samples.spent_ns for samples in self._samples) // max(count, 1),
            failures=tuple(filter(None, (self._lacking, *failures))),
        )

    def _run(self, samples: _Samples, probes: Mapping[str, Callable[[_Samples, int], None]], period_s: float) -> None:
        try:
            due = time.perf_counter()
            while True:
                took_s = samples.take(probes) / 1e9
                due = max(due + period_s, time.perf_counter() + took_s * (_MOST_SHARE - 1))
                if self._ended.wait(max(due - time.perf_counter(), 0)):
                    samples.take(probes)
                    return
        except Exception as error:  # noqa: BLE001 - the program under measurement goes on
            samples.failures["host"] = f"measuring the host ended early: {error}"
            _LOG.warning("measuring the host ended early: %s", error)
