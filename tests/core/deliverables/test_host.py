"""Host metrics: measured by the sampler, and synthetic samples carried to the deliverables."""

from __future__ import annotations

import csv
import json
import shutil
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from attrs import asdict
from tests.by_hand import BEGIN_NS, PID, setup

from drynpu.kernels import KernelPlan, Operators
from drynpu.options import Clock, HostSystem, HostUsage, Level, ProfilingRequest, Sampling
from drynpu.platforms import load_chip
from drynpu.products import export_msprof, load_profile
from drynpu.recorder import HostSampler, Outcome, _sampler, write_recording
from drynpu.simulate import Destination, HostSamples, Recording
from drynpu.tables import Profile

STEP_NS = 20_000_000
PROBES = (_sampler._SYSTEM_PROBES, _sampler._USAGE_PROBES)
NOW = datetime(2026, 1, 31, 23, 59, 58)
TOTAL_KB = 1_000_000
EVERYTHING = Sampling(
    host_systems=(HostSystem.CPU, HostSystem.MEMORY, HostSystem.DISK, HostSystem.NETWORK),
    host_usage=(HostUsage.CPU, HostUsage.MEMORY),
)


def write(directory: Path, sampling: Sampling, samples: HostSamples | None, clock: Clock = Clock.WALL) -> Outcome:
    chip = load_chip("Ascend910B2")
    return write_recording(
        Recording(
            operators=Operators.from_calls(()),
            begin_ns=BEGIN_NS,
            end_ns=BEGIN_NS + 20_000_000,
            host_samples=samples,
        ),
        Destination(directory=directory, framework="torch", pid=PID, device_id=0),
        setup(
            lambda signature: KernelPlan(claims=False),
            ProfilingRequest(level=Level.L1, sampling=sampling),
            chip=chip,
            clock=clock,
        ),
    )


def at(number: int) -> int:
    return BEGIN_NS + number * STEP_NS


def stat(tid: int, user: int, system: int, core: int, children: int = 0) -> str:
    fields = ["S", "1", *["0"] * 50]
    fields[11], fields[12], fields[13], fields[14], fields[36] = map(str, (user, system, children, 0, core))
    return f"{tid} (two words) {' '.join(fields)}\n"


def packet(number: int, body: str) -> str:
    return f"TimeStamp:{at(number)}\nIndex:{number}\nDataLen:{len(body)}\n{body}\n"


def synthetic() -> HostSamples:
    """Three samples with numbers that are easy to follow; two threads, the second moves from core 1 to core 0."""
    cpu = [
        f"time {at(n)}\n{100 + n * 0.5:.2f} 7.00\n{stat(11, n * 10, n * 5, 0)}{stat(12, n * 20, 0, 1 if n < 2 else 0)}"
        for n in range(3)
    ]
    net = [
        f"time {at(n)}\nInter-|   Receive | Transmit\n lo: {n * 999} {'0 ' * 15}\n"
        f" eth0: {n * 2000} 0 0 0 0 0 0 0 {n * 500} {'0 ' * 7}\n"
        for n in range(3)
    ]
    cpu_line = "cpu 30 10 20 100 5 1 2 0 0 0\n"
    memory = "MemTotal: 1000 kB\nMemFree: {free} kB\nBuffers: 5 kB\nCached: 6 kB\nShmem: 7 kB\nCommitLimit: 8 kB\n"
    memory += "Committed_AS: 9 kB\nHugePages_Total: 3\nHugePages_Free: 2\n"
    return HostSamples(
        texts={
            "host_cpu": "".join(cpu),
            "host_mem": "".join(f"{at(n)} 9 {1000 * n} 3 0 0 0 0\n" for n in range(3)),
            "host_network": "".join(net),
            "host_sys_cpu": "".join(packet(n, cpu_line + "cpu0 30 10 20 100 5 1 2 0 0 0\n") for n in range(2)),
            "host_sys_mem": "".join(packet(n, memory.format(free=100 + 50 * n)) for n in range(2)),
        },
        processes={
            "host_process_cpu": {
                77: packet(0, f"{stat(77, 10, 4, 0, 2)}ProcessName:seven\n{cpu_line}"),
                88: packet(0, f"{stat(88, 80, 4, 0)}ProcessName:eight\n{cpu_line}"),
            },
            "host_process_mem": {77: packet(0, "40 30 20 0 0 0 0\nProcessName:seven\n")},
        },
        disk=((at(0), 0, 4096, 0), (at(1), 20480, 4096, 1), (at(2), 20480, 8192, 1)),
        samples=3,
    )


Exported = Callable[..., dict[str, Path]]


@pytest.fixture
def exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Exported:
    """Write on a host with 4 cores of 100 ticks a second, 1 GB, and one card of 8 Mbit/s."""
    cards = {"eth0": SimpleNamespace(speed=8), "lo": SimpleNamespace(speed=0)}
    monkeypatch.setattr(psutil, "net_if_stats", lambda: cards)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(total=TOTAL_KB * 1024))
    monkeypatch.setattr("os.cpu_count", lambda: 4)

    def make(samples: HostSamples | None = None, sampling: Sampling = EVERYTHING, **more: Any) -> dict[str, Path]:
        outcome = write(tmp_path, sampling, samples or synthetic(), **more)
        assert outcome.prof_path is not None
        paths = export_msprof(load_profile(outcome.prof_path), now=NOW)
        return {path.name.replace("_20260131235958", ""): path for path in paths}

    return make


def table(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def test_every_table_has_the_numbers_of_the_samples(exported: Exported) -> None:
    files = exported()
    # 0.5 s are 50 ticks; thread 12 used 20 on core 1, then 20 on core 0 beside the 15 of thread 11.
    assert table(files["host_cpu_usage.csv"]) == [
        ["Device_id", "Total Cpu Numbers", "Occupied Cpu Numbers", "Recommend Cpu Numbers"],
        ["host", "4", "2", "2"],
    ]
    assert table(files["host_mem_usage.csv"]) == [
        ["Device_id", "Total Memory(KB)", "Peak Used Memory(KB)", "Recommend Memory(KB)"],
        ["host", str(TOTAL_KB), "8000.0", "10000.0"],
    ]
    assert table(files["host_disk_usage.csv"]) == [
        [
            *("Device_id", "Peak Disk Read(KB/s)", "Recommend Disk Read(KB/s)"),
            *("Peak Disk Write(KB/s)", "Recommend Disk Write(KB/s)"),
        ],
        ["host", "1000.0", "1250.0", "200.0", "250.0"],
    ]
    # 8 Mbit/s are 1 000 000 bytes/s; 2500 bytes in 20 ms.
    assert table(files["host_network_usage.csv"]) == [
        ["Device_id", "Netcard Speed(KB/s)", "Peak Used Speed(KB/s)", "Recommend Speed(KB/s)"],
        ["host", "976.562", "122.07", "152.588"],
    ]
    assert table(files["cpu_usage.csv"]) == [
        ["Device_id", "Cpu Type", "User(%)", "Sys(%)", "IoWait(%)", "Irq(%)", "Soft(%)", "Idle(%)"],
        ["host", "host", *(str(round(part / 168 * 100, 3)) for part in (30, 20, 5, 1, 2, 100))],
    ]
    assert table(files["process_cpu_usage.csv"]) == [
        ["Device_id", "PID", "Name", "CPU(%)"],
        ["host", "88", "eight", "50.0"],
        ["host", "77", "seven", "9.524"],
    ]
    assert table(files["process_mem.csv"]) == [
        ["Device_id", "PID", "Name", "Size(pages)", "Resident(pages)", "Shared(pages)"],
        ["host", "77", "seven", "40", "30", "20"],
    ]
    header, row = table(files["sys_mem.csv"])
    assert ",".join(header) == (
        "Device_id,Memory Total(kB),Memory Free(kB),Buffers(kB),Cached(kB),Share Memory(kB),Commit Limit(kB),"
        "Committed AS(kB),"
        "Huge Pages Total(pages),Huge Pages Free(pages)"
    )
    assert row == ["host", "1000", "125", "5", "6", "7", "8", "9", "3", "2"]


@pytest.mark.parametrize("clock", list(Clock))
def test_the_timeline_has_a_layer_for_each(exported: Exported, clock: Clock) -> None:
    events = json.loads(exported(clock=clock)["msprof.json"].read_text())
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    indices = {"CPU Usage": 9, "Memory Usage": 10, "Network Usage": 11, "Disk Usage": 12}
    assert {name: pid for pid, name in names.items() if name in indices} == {
        name: (PID << 10) | (index << 5) | 31 for name, index in indices.items()
    }
    shown: dict[str, list[tuple[int, float]]] = {}
    for event in events:
        if event["ph"] == "C" and names.get(event["pid"]) in indices:
            place = round((float(event["ts"]) * 1000 - BEGIN_NS) / STEP_NS)
            shown.setdefault(event["name"], []).append((place, event["args"]["Usage(%)"]))
    assert shown == {
        "CPU 0": [(0, 30.0), (1, 70.0)],
        "CPU 1": [(0, 40.0)],
        "CPU Avg": [(0, 17.5), (1, 17.5)],
        "Memory Usage": [(0, 0.4), (1, 0.8)],
        "Network Usage": [(0, 12.5), (1, 12.5)],
        "Disk Usage": [(0, 50.0), (1, 0.0)],
    }


def test_only_what_is_asked_for_is_left(exported: Exported) -> None:
    files = exported(sampling=Sampling(host_systems=(HostSystem.MEMORY,)))
    assert {name for name in files if name.endswith(".csv")} == {"host_mem_usage.csv"}


def test_an_unknown_share_of_waiting_and_card_is_not_made_up(
    exported: Exported, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psutil, "net_if_stats", dict)
    samples = synthetic()
    rows = tuple((*row[:3], None) for row in samples.disk)
    files = exported(HostSamples(texts=samples.texts, disk=rows))
    assert table(files["host_disk_usage.csv"])[1][1] == "1000.0"
    assert table(files["host_network_usage.csv"])[1] == ["host", "0", "N/A", "N/A"]
    names = {event["args"].get("name") for event in json.loads(files["msprof.json"].read_text())}
    assert not {"Disk Usage", "Network Usage"} & names
    assert "CPU Usage" in names


def test_what_cannot_be_measured_is_said(tmp_path: Path) -> None:
    systems = (HostSystem.OS_RUNTIME, HostSystem.NUMA)
    notes = write(tmp_path, Sampling(host_systems=systems), None).notes
    named = [note.split(" is not")[0].split(" are not")[0] for note in notes]
    assert named == ["NUMA metrics", "OS Runtime API", "os_runtime_statistic"]
    (note,) = write(tmp_path, Sampling(host_systems=(HostSystem.CPU,)), None).notes
    assert "nothing was measured" in note


def measured(sampling: Sampling, seconds: float = 0.3) -> HostSamples:
    sampler = HostSampler(sampling)
    sampler.start()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sum(range(10_000))
    samples = sampler.stop()
    assert samples is not None
    return samples


def test_the_sampler_measures_this_process(tmp_path: Path) -> None:
    samples = measured(EVERYTHING)
    assert not samples.failures
    assert not [thread for thread in threading.enumerate() if thread.name == "drynpu-host-sampler"]
    assert samples.samples >= 4
    assert samples.cost_ns > 0
    outcome = write(tmp_path, EVERYTHING, samples)
    assert outcome.prof_path is not None
    profile: Profile = load_profile(outcome.prof_path)
    cpu = profile.frame("host_cpu_usage")
    busy = cpu.filter(cpu["cpu"] == "Avg")["usage"].max()
    assert isinstance(busy, float)
    assert 0 < busy <= 100
    resident = profile.frame("host_memory_usage")["usage"].max()
    assert resident == pytest.approx(psutil.Process().memory_percent(), rel=0.5)
    total = profile.frame("host_memory")["total_kb"][0]
    assert total == psutil.virtual_memory().total // 1024
    assert psutil.Process().pid in profile.frame("host_cpu_shares")["pid"]
    assert profile.frame("host_process_memory").height
    assert profile.frame("host_disk_usage")["read_kb_s"].min() is not None
    assert not profile.notes


def proc_files(root: Path, number: int, boot: int) -> None:
    """Write a /proc whose counters stood at *boot* when the recording began and moved by *number* samples since."""
    threads = {str(tid): stat(tid, boot + ticks, boot, 0) for tid, ticks in ((77, number), (78, 0))}
    files = {
        "uptime": f"{boot + number * STEP_NS / 1e9:.2f} 1.00\n",
        "stat": "".join(
            f"{core} {' '.join(str(boot + step * number) for step in (6, 0, 2, 10, 1, 1, 0, 0))}\n"
            for core in ("cpu", "cpu0")
        ),
        "meminfo": "MemTotal: 1000 kB\nMemFree: 100 kB\n",
        "net/dev": f"Inter-|   Receive | Transmit\n eth0: {boot + number * 2000} 0 0 0 0 0 0 0 {boot} {'0 ' * 7}\n",
        "sys/kernel/task_delayacct": "1",
        "self/io": f"read_bytes: {boot + 4096 * number}\nwrite_bytes: {boot}\n",
        "self/stat": stat(77, boot, boot, 0),
        "self/statm": "40 30 20 0 0 0 0\n",
        **{f"self/task/{tid}/stat": text for tid, text in threads.items()},
        "77/comm": "seven\n", "77/stat": threads["77"], "77/statm": "40 30 20 0 0 0 0\n",
    }  # fmt: skip
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_samples_are_of_the_recording_whatever_the_host_did_since_it_started(
    exported: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psutil, "pids", lambda: [77])
    tables = []
    for boot in (0, 10_000_000):
        clock = SimpleNamespace(time_ns=map(at, sorted([*range(4)] * 6)).__next__, perf_counter_ns=lambda: 0)
        monkeypatch.setattr("drynpu.recorder._sampler.time", clock)
        samples = _sampler._Samples(system=tmp_path / "proc", process=tmp_path / "proc" / "self")
        for number in range(4):
            proc_files(tmp_path / "proc", number, boot)
            samples.take({str(probe): probe for probes in PROBES for probe in probes.values()})
        assert not samples.failures
        each = {name: {pid: "".join(parts) for pid, parts in by.items()} for name, by in samples.processes.items()}
        texts = {name: "".join(parts) for name, parts in samples.texts.items()}
        files = exported(HostSamples(texts=texts, processes=each, disk=tuple(samples.disk), samples=4))
        tables.append({name: table(path) for name, path in files.items() if name.endswith(".csv")})
        for path in tmp_path.glob("PROF_*"):
            shutil.rmtree(path)
    assert tables[0] == tables[1]
    assert tables[0]["cpu_usage.csv"][1] == ["host", "host", *(str(n / 20 * 100) for n in (6, 2, 1, 1, 0, 10))]
    assert tables[0]["process_cpu_usage.csv"][1] == ["host", "77", "seven", "5.0"]
    assert {"host_cpu_usage.csv", "host_disk_usage.csv", "host_network_usage.csv"} <= tables[0].keys()


def test_a_sampler_without_anything_to_do_starts_no_thread() -> None:
    before = threading.active_count()
    sampler = HostSampler(Sampling(host_systems=(HostSystem.NUMA,)))
    sampler.start()
    assert threading.active_count() == before
    assert sampler.stop() is None


def test_what_cannot_be_read_does_not_stop_the_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("drynpu.host._COUNTERS", tmp_path)
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "stat").touch()
    samples = measured(EVERYTHING, 0.05)
    assert len(samples.failures) >= 4
    assert not samples.texts
    (tmp_path / "profile").mkdir()
    notes = write(tmp_path / "profile", EVERYTHING, samples).notes
    assert set(samples.failures) <= set(notes)


def test_samples_of_several_stretches_follow_each_other() -> None:
    first = HostSamples(
        texts={"host_mem": "1 a\n"},
        processes={"host_process_mem": {7: "x"}},
        disk=((1, 0, 0, None),),
        samples=1,
        cost_ns=30,
    )
    second = HostSamples(
        texts={"host_mem": "2 b\n", "host_cpu": "c\n"},
        processes={"host_process_mem": {7: "y", 8: "z"}},
        disk=((2, 5, 0, None),),
        samples=2,
        cost_ns=60,
        failures=("none",),
    )
    joined = HostSamples.join([first, second])
    assert joined is not None
    assert asdict(joined) == asdict(
        HostSamples(
            texts={"host_mem": "1 a\n2 b\n", "host_cpu": "c\n"},
            processes={"host_process_mem": {7: "xy", 8: "z"}},
            disk=((1, 0, 0, None), (2, 5, 0, None)),
            samples=3,
            cost_ns=50,
            failures=("none",),
        )
    )
    assert HostSamples.join([]) is None
