"""Damaged profiles: whatever the files hold, reading gives rows and notes or a typed error, never anything else."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from drynpu import OutputError, RawFormatError
from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.raw import ClockAnchors, CpuInfo, DeviceInfo, HostInfo, NetCard, ProfReader, ProfWriter

NOW = datetime(2022, 1, 29, 1, 47, 31)
DAMAGE = st.tuples(
    st.sampled_from(["cut", "lose", "insert", "overwrite"]), st.integers(0, 2000), st.binary(max_size=40)
)
CONTROLS = ("info.json", "sample.json", "start_info", "end_info", "host_start.log", "dev_start.log")
TOKENS = [
    token.encode() for token in ("TimeStamp:", "Index:", "DataLen:", "time ", "start_time ", "cpu", "ProcessName:")
]
TOKENS += [b"MemTotal: ", b") R ", b"9" * 30, b"9" * 5000, b"-1", b"1.5e999", b"nan", b"1 K/s", b"?unavailable?"]
TOKENS += [b"\n", b" ", b":", b"%", b"{", b"[", b'"', b"null", b"\x00", b"\xff\xfe", b"\xd9\xa1"]


def damaged(content: bytes, how: str, at: int, extra: bytes) -> bytes:
    at = min(at, len(content))
    if how == "cut":
        return content[:at]
    if how == "lose":
        return content[at:]
    return content[:at] + extra + content[at + (len(extra) if how == "overwrite" else 0) :]


def typed_or_noted(read: Callable[[], object]) -> None:
    try:
        read()
    except (RawFormatError, OutputError) as error:
        assert str(error)


def new_writer(parent: Path) -> ProfWriter:
    writer = ProfWriter.create(parent, RECORD_KINDS, index=0, pid=1, now=NOW, rng=random.Random(7))
    (writer.path / "device_0" / "data").mkdir(parents=True)
    return writer


@given(st.sampled_from(list(RECORD_KINDS.records)), st.lists(DAMAGE, min_size=1, max_size=3), st.integers(0, 4))
def test_damaged_records(name: str, damages: list[tuple[str, int, bytes]], count: int) -> None:
    entry = RECORD_KINDS.record(name)
    with TemporaryDirectory() as folder:
        writer = new_writer(Path(folder))
        records = entry.new(count)
        if "count" in (entry.dtype.names or ()):
            records["count"] = 1
        writer.write(name, records, None if entry.side == "host" else 0)
        suffix = "" if entry.side == "host" else ".0"
        path = writer.path / ("host" if entry.side == "host" else "device_0") / "data" / f"{entry.stem}{suffix}.slice_0"
        content = path.read_bytes() if count else b""
        for how, at, extra in damages:
            content = damaged(content, how, at, extra)
        path.write_bytes(content)
        reader = ProfReader(writer.path, RECORD_KINDS)
        found = reader.read(name, 0)
        assert found.dtype == entry.dtype
        assert len(found) <= len(content) // entry.dtype.itemsize
        assert reader.notes or len(found) * entry.dtype.itemsize == len(content) or entry.function is not None


@given(st.sampled_from(list(RECORD_KINDS.records)), st.binary(max_size=2000))
def test_chance_bytes_as_records(name: str, content: bytes) -> None:
    entry = RECORD_KINDS.record(name)
    with TemporaryDirectory() as folder:
        writer = new_writer(Path(folder))
        suffix = "" if entry.side == "host" else ".0"
        side = "host" if entry.side == "host" else "device_0"
        (writer.path / side / "data" / f"{entry.stem}{suffix}.slice_0").write_bytes(content)
        assert ProfReader(writer.path, RECORD_KINDS).read(name, 0).dtype == entry.dtype


PIECES = st.lists(
    st.one_of(st.sampled_from(TOKENS), st.binary(max_size=5), st.integers(0, 99).map(lambda n: b"%d " % n))
)
SAMPLES = (
    b"1:000000002 3 4\n",
    b"1:2 0 1 2 3 4 5 6 7 8 9 10 11 12 13\n",
    b"1:2 0 3 1 2 4% 5 6 7% 8 9\n",
    b"1 2 3 4 5 6 7 8\n",
    b"10:00:00  4321 be/4 root 1.50 K/s 2.00 M/s 0.00 % 1.25 % python\nstart_time 17\n",
    b"time 7\n1.5 2.25\n42 (py) R 1 " + b"0 " * 48 + b"\n",
    b"time 7\neth0: " + b"1 " * 16 + b"\n",
    b"TimeStamp:7\nIndex:0\nDataLen:30\ncpu 0 1 2 3 4 5 6 7 8 9\n\n",
    b"TimeStamp:7\nIndex:0\nDataLen:30\nMemTotal: 9 kB\nMemFree: 8 kB\n\n",
    b"TimeStamp:7\nIndex:0\nDataLen:20\n1 (x) R " + b"0 " * 49 + b"\nProcessName:x\ncpu 1 2 3 4 5 6 7\n\n",
    b"TimeStamp:7\nIndex:0\nDataLen:20\n7 6 5 4 3 2 1\nProcessName:x\n\n",
)


@given(
    st.sampled_from(list(RECORD_KINDS.texts)),
    st.one_of(st.binary(max_size=300), PIECES.map(b"".join), st.lists(st.sampled_from(SAMPLES)).map(b"".join)),
    st.lists(DAMAGE, max_size=3),
    st.integers(0, 300),
)
@example("host_mem", b"9" * 5000 + b" 1 2 3 4 5 6 7\n", [], 0)
@example("hccs", b"1:1 99999999999999999999 2\n1:1 9223372036854775808 2\n", [], 0)
def test_damaged_text(name: str, content: bytes, damages: list[tuple[str, int, bytes]], at: int) -> None:
    entry = RECORD_KINDS.text(name)
    for how, where, extra in damages:
        content = damaged(content, how, where, extra)
    with TemporaryDirectory() as folder:
        writer = new_writer(Path(folder))
        stem = entry.stem.replace("{pid}", "7") + ("" if entry.side == "host" else ".0")
        data = writer.path / ("host" if entry.side == "host" else "device_0") / "data"
        (data / f"{stem}.slice_0").write_bytes(content[:at])
        (data / f"{stem}.slice_1").write_bytes(content[at:])
        reader = ProfReader(writer.path, RECORD_KINDS)
        pid = 7 if entry.per_process else None
        found = reader.read_text(name, 0, pid)
        assert found.schema == entry.schema
        if found.is_empty() and content.strip():
            assert reader.notes


def with_controls(folder: Path) -> Path:
    writer = new_writer(folder)
    cpu = CpuInfo(frequency="1000.000000", logical_cpu_count=4)
    host = HostInfo(platform_version="5", pid=1, cpus=(cpu,), net_cards=(NetCard(name="eth0", speed=1000),))
    device = DeviceInfo(id=0, hwts_frequency="50.000000", aic_frequency="1800")
    anchors = ClockAnchors(
        collection_begin_us=10**15,
        monotonic_raw_ns=5 * 10**9,
        host_cntvct=7 * 10**9,
        host_hz=host.host_hz,
        host_counter_ns=5 * 10**9,
        device_cntvct=10**9,
        device_hz=50_000_000,
        device_counter_ns=5 * 10**9,
    )
    writer.write_controls(host, [device], {"mode": "system"}, anchors, 10**18)
    writer.write_dictionaries({1: "one"}, {(5000, 1): "two"})
    return writer.path


def read_everything(path: Path) -> None:
    reader = ProfReader(path, RECORD_KINDS)
    typed_or_noted(lambda: reader.host_info)
    typed_or_noted(lambda: reader.device_info(0))
    typed_or_noted(reader.sample)
    typed_or_noted(lambda: reader.sample(0))
    typed_or_noted(lambda: reader.ended_unix_ns)
    typed_or_noted(lambda: reader.anchors(0).tick_to_unix([0, 1, 2**40]))
    typed_or_noted(lambda: reader.anchors(0).host_to_unix([0, 1, 2**40]))
    typed_or_noted(lambda: reader.hashes)
    typed_or_noted(lambda: reader.types)


def control_paths(path: Path) -> list[Path]:
    files = (entry for entry in path.rglob("*") if entry.is_file() and entry.suffix != ".done")
    return sorted(entry for entry in files)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.integers(-(2**63), 2**64 - 1),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.data(), st.lists(DAMAGE, min_size=1, max_size=3))
def test_damaged_control_files(data: st.DataObject, damages: list[tuple[str, int, bytes]]) -> None:
    with TemporaryDirectory() as folder:
        path = with_controls(Path(folder))
        chosen = data.draw(st.sampled_from(control_paths(path)))
        content = chosen.read_bytes()
        for how, at, extra in damages:
            content = damaged(content, how, at, extra)
        chosen.write_bytes(content)
        read_everything(path)


@given(st.data(), st.one_of(PIECES.map(b"".join), st.binary(max_size=60)))
def test_chance_bytes_as_control_files(data: st.DataObject, content: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = with_controls(Path(folder))
        data.draw(st.sampled_from(control_paths(path))).write_bytes(content)
        read_everything(path)


@given(st.data(), JSON)
def test_any_value_in_a_json_control_file(data: st.DataObject, value: object) -> None:
    with TemporaryDirectory() as folder:
        path = with_controls(Path(folder))
        documents = [entry for entry in control_paths(path) if entry.read_bytes().startswith(b"{")]
        chosen = data.draw(st.sampled_from(documents))
        document = orjson.loads(chosen.read_bytes())
        target = document
        while isinstance(target, (dict, list)) and target:
            keys = sorted(target) if isinstance(target, dict) else range(len(target))
            key = data.draw(st.sampled_from(keys))
            if not isinstance(target[key], (dict, list)) or not target[key] or data.draw(st.booleans()):
                target[key] = value
                break
            target = target[key]
        chosen.write_bytes(orjson.dumps(document))
        read_everything(path)


@pytest.mark.parametrize(
    "line", ["cntvct: " + "9" * 5000, "clock_monotonic_raw: 99999999999999999999", "cntvct_diff: -9", "cntvct: ٣"]
)
@pytest.mark.parametrize("name", ["host_start.log", "device_0/dev_start.log.0", "device_0/host_start.log.0"])
def test_strange_counters(tmp_path: Path, name: str, line: str) -> None:
    path = with_controls(tmp_path)
    file = path / name if "/" in name else path / "host" / name
    file.write_text(file.read_text() + line + "\n", encoding="utf-8")
    read_everything(path)
