"""Text kinds: lines and snapshots, written and read back (formats of the drivers and of Ascend/msprof's parsers)."""

from __future__ import annotations

import random
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu import OutputError, RawFormatError
from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.raw import ProfReader, ProfWriter, TextKind

NOW = datetime(2022, 1, 29, 1, 47, 31)


def new_writer(parent: Path, slice_bytes: int = 1 << 20) -> ProfWriter:
    return ProfWriter.create(
        parent, RECORD_KINDS, index=0, pid=4321, now=NOW, rng=random.Random(7), slice_bytes=slice_bytes
    )


def place(entry: TextKind) -> dict[str, int | None]:
    return {"device_id": 3 if entry.side == "device" else None, "pid": 77 if entry.per_process else None}


def value_of(draw: st.DrawFn, name: str, kind: pl.DataType) -> object:
    if name == "time_s":
        return draw(st.integers(0, 86399))
    if name in ("pid", "tid"):
        return draw(st.integers(0, 2**31 - 1))
    if name == "time_ns":
        return draw(st.integers(0, 10**18 - 1))
    if name.endswith(("percent", "utilization")):
        return draw(st.integers(0, 10000)) / 100
    if kind == pl.Float64:
        return draw(st.integers(0, 10**9)) / 100
    if kind == pl.Int64:
        return draw(st.integers(0, 2**63 - 1))
    if name == "state":
        return draw(st.sampled_from("RSDZT"))
    if name == "cpu":
        return draw(st.sampled_from(["cpu", "cpu0", "cpu191"]))
    return draw(st.text("abcXYZ-./:()[]åß0123456789", min_size=1, max_size=12).filter(lambda text: text.strip()))


@st.composite
def some_rows(draw: st.DrawFn, entry: TextKind) -> pl.DataFrame:
    rows = []
    for at in range(draw(st.integers(0, 6))):
        row = {name: value_of(draw, name, kind) for name, kind in entry.schema.items()}
        if at and draw(st.booleans()):  # another row of the same snapshot
            row |= {name: rows[-1][name] for name in ("time_ns", "index", "uptime_s", "idle_s") if name in row}
        if at and "start_ns" in row:
            row["start_ns"] = rows[0]["start_ns"]
        if "io_percent" in row and draw(st.booleans()):
            row["io_percent"] = row["swapin_percent"] = None
        rows.append(row)
    return pl.DataFrame(rows, schema=entry.schema)


@given(st.data(), st.sampled_from(list(RECORD_KINDS.texts)), st.integers(1, 400))
def test_round_trip_of_every_text_kind(data: st.DataObject, name: str, slice_bytes: int) -> None:
    entry = RECORD_KINDS.text(name)
    rows = data.draw(some_rows(entry))
    with TemporaryDirectory() as folder:
        writer = new_writer(Path(folder), slice_bytes)
        (writer.path / "device_3").mkdir()
        writer.write_text(name, rows, **place(entry))
        reader = ProfReader(writer.path, RECORD_KINDS)
        assert reader.read_text(name, **place(entry)).equals(rows)
        assert reader.notes == []
        if entry.per_process:
            assert reader.processes(name, place(entry)["device_id"]) == ((77,) if len(rows) else ())


def test_the_kinds_and_their_files() -> None:
    assert {name: (entry.side, entry.stem) for name, entry in RECORD_KINDS.texts.items()} == {
        "hccs": ("device", "hccs.data"),
        "nic": ("device", "nic.data"),
        "roce": ("device", "roce.data"),
        "dvpp": ("device", "dvpp.data"),
        "host_mem": ("host", "host_mem.data"),
        "host_disk": ("host", "host_disk.data"),
        "host_cpu": ("host", "host_cpu.data"),
        "host_network": ("host", "host_network.data"),
        "host_sys_cpu": ("host", "host_sys_cpu.data"),
        "device_sys_cpu": ("device", "SystemCpuUsage.data"),
        "host_sys_mem": ("host", "host_sys_mem.data"),
        "device_sys_mem": ("device", "Memory.data"),
        "host_process_cpu": ("host", "{pid}-CpuUsage.data"),
        "device_process_cpu": ("device", "{pid}-CpuUsage.data"),
        "host_process_mem": ("host", "{pid}-Memory.data"),
        "device_process_mem": ("device", "{pid}-Memory.data"),
    }


def rows_of(name: str, *rows: tuple[object, ...]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=RECORD_KINDS.text(name).schema, orient="row")


STAT_ZEROS = " ".join(["0"] * 13)
GOLDEN = {
    "hccs": (
        rows_of("hccs", (5_000_000_007, 10, 20), (5_100_000_000, 30, 40)),
        "time_stamp(s):time_stamp(ns) send_amount receive_amount\n5:000000007 10 20\n5:100000000 30 40\n",
    ),
    "nic": (
        rows_of("nic", (176167_889901260, 100000, *range(1, 13), 0)),
        (
            "time_stamp(s):time_stamp(ns) bandwidth rxPacket/s rxByte/s rxPackets rxBytes rxErrors rxDropped "
            "txPacket/s txByte/s txPackets txBytes txErrors txDropped funcId\n"
            "176167:889901260 100000 1 2 3 4 5 6 7 8 9 10 11 12 0\n"
        ),
    ),
    "dvpp": (
        rows_of("dvpp", (176167_889901260, 8, 0, 3, 0, 0, 0.0, 0, 0, 12.5, 0, 0)),
        (
            "time_stamp(s):time_stamp(ns) dvpp_id engine_type engine_id all_time all_frame all_utilization "
            "proc_time proc_frame proc_utilization last_time last_frame\n"
            "176167:889901260 8 0 3 0 0 0% 0 0 12.5% 0 0\n"
        ),
    ),
    "host_mem": (rows_of("host_mem", (99, 7, 6, 5, 4, 3, 2, 1)), "99 7 6 5 4 3 2 1\n"),
    "host_disk": (
        rows_of("host_disk", (3723, 42, "be/4", "root", 1024.0, 0.5, None, None, "python train.py", 88)),
        "01:02:03 42 be/4 root 1024.00 B/s 0.50 B/s ?unavailable? python train.py\nstart_time 88\n",
    ),
    "host_cpu": (
        rows_of("host_cpu", (7, 1.5, 20.25, 42, "py", "R", 1, 30, 4, 5), (7, 1.5, 20.25, 43, "py", "S", 1, 2, 3, 6)),
        (
            "time 7\n1.50 20.25\n"
            f"42 (py) R 1 0 0 0 0 0 0 0 0 0 30 4 {' '.join(['0'] * 23)} 5 {STAT_ZEROS}\n"
            f"43 (py) S 1 0 0 0 0 0 0 0 0 0 2 3 {' '.join(['0'] * 23)} 6 {STAT_ZEROS}\n"
        ),
    ),
    "host_network": (
        rows_of("host_network", (7, "eth0", *range(16)), (7, "lo", *range(16))),
        f"time 7\neth0: {' '.join(map(str, range(16)))}\nlo: {' '.join(map(str, range(16)))}\n",
    ),
    "host_sys_cpu": (
        rows_of("host_sys_cpu", (7, 0, "cpu", *range(10)), (7, 0, "cpu0", *range(10))),
        "TimeStamp:7\nIndex:0\nDataLen:49\ncpu 0 1 2 3 4 5 6 7 8 9\ncpu0 0 1 2 3 4 5 6 7 8 9\n\n",
    ),
    "device_sys_mem": (
        rows_of("device_sys_mem", (7, 2, 900, 800, 1, 2, 3, 4, 5, 6, 7)),
        (
            "TimeStamp:7\nIndex:2\nDataLen:146\nMemTotal: 900 kB\nMemFree: 800 kB\nBuffers: 1 kB\nCached: 2 kB\n"
            "Shmem: 3 kB\nCommitLimit: 4 kB\nCommitted_AS: 5 kB\nHugePages_Total: 6\nHugePages_Free: 7\n\n"
        ),
    ),
    "host_process_mem": (
        rows_of("host_process_mem", (7, 0, "python", 7, 6, 5, 4, 3, 2, 1)),
        "TimeStamp:7\nIndex:0\nDataLen:33\n7 6 5 4 3 2 1\nProcessName:python\n\n",
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_text_of_a_kind(tmp_path: Path, name: str) -> None:
    entry = RECORD_KINDS.text(name)
    rows, expected = GOLDEN[name]
    writer = new_writer(tmp_path)
    writer.write_text(name, rows, **place(entry))
    directory = writer.path / ("host" if entry.side == "host" else "device_3") / "data"
    stem = entry.stem.replace("{pid}", "77") + ("" if entry.side == "host" else ".3")
    assert {path.name for path in directory.iterdir()} == {f"{stem}.slice_0", f"{stem}.slice_0.done"}
    assert (directory / f"{stem}.slice_0").read_text() == expected


def test_process_cpu_packet(tmp_path: Path) -> None:
    writer = new_writer(tmp_path)
    writer.write_text("host_process_cpu", rows_of("host_process_cpu", (7, 0, 42, "py", 1, 2, 3, 4, *range(10))), pid=42)
    lines = (writer.path / "host/data/42-CpuUsage.data.slice_0").read_text().split("\n")
    assert lines[4:] == ["ProcessName:py", "cpu  0 1 2 3 4 5 6 7 8 9", "", ""]
    stat = lines[3].split(" ")
    assert stat[:4] + stat[13:17] == ["42", "(py)", "S", "0", "1", "2", "3", "4"]
    assert len(stat) == 52


def test_every_slice_has_header_and_footer_and_whole_pieces(tmp_path: Path) -> None:
    writer = new_writer(tmp_path, slice_bytes=1)
    writer.write_text("hccs", rows_of("hccs", (1, 2, 3), (4, 5, 6)), 0)
    writer.write_text("host_disk", rows_of("host_disk", *[(1, 2, "be/4", "u", 1.0, 2.0, 0.0, 0.0, "x", 9)] * 2))
    writer.write_text("host_cpu", rows_of("host_cpu", *[(7, 1.0, 2.0, 42, "py", "R", 1, 30, 4, 5)] * 3))
    for stem, first, last, count in (
        ("device_0/data/hccs.data.0", "time_stamp", "\n", 2),
        ("host/data/host_disk.data", "00:00:01", "start_time 9\n", 2),
        ("host/data/host_cpu.data", "time 7\n", "0\n", 1),
    ):
        texts = [path.read_text() for path in writer.path.glob(f"{stem}.slice_?")]
        assert len(texts) == count
        assert all(text.startswith(first) and text.endswith(last) for text in texts)


def read_lines(tmp_path: Path, name: str, text: bytes) -> tuple[pl.DataFrame, list[str]]:
    entry = RECORD_KINDS.text(name)
    writer = new_writer(tmp_path)
    directory = writer.path / ("host" if entry.side == "host" else "device_3") / "data"
    directory.mkdir(parents=True, exist_ok=True)
    stem = entry.stem.replace("{pid}", "77")
    (directory / f"{stem}.slice_0").write_bytes(text)
    (directory / f"{stem}.slice_0.done").touch()
    reader = ProfReader(writer.path, RECORD_KINDS)
    return reader.read_text(name, **place(entry)), reader.notes


def test_variants_of_other_drivers(tmp_path: Path) -> None:
    without_function = b"time bandwidth rxPacket/s\n1:5 100 1 2 3 4 5 6 7 8 9 10 11 12\n"
    rows, notes = read_lines(tmp_path, "nic", without_function)
    assert rows.row(0) == (1_000_000_005, 100, *range(1, 13), 0)
    rows, more = read_lines(tmp_path, "roce", b"1:000000005 100 1 2 3 4 5 6 7 8 9 10 11 12 3 9\r\n")
    assert rows.row(0) == (1_000_000_005, 100, *range(1, 13), 3)
    one_dvpp, yet_more = read_lines(tmp_path, "dvpp", b"1:5 0 3 1 2 4% 5 6 7% 8 9\n")
    assert one_dvpp.row(0) == (1_000_000_005, 0, 0, 3, 1, 2, 4.0, 5, 6, 7.0, 8, 9)
    assert notes == more == yet_more == []


def test_proc_as_kernels_write_it(tmp_path: Path) -> None:
    stat = (
        "42 (my (odd) name) R 1 42 42 0 -1 4194560 9 0 0 0 30 4 0 0 20 0 1 0 99 1 2 3 4 5 6 7 8 9 0 0 0 0 0 0 17 11 0 0"
    )
    rows, notes = read_lines(tmp_path, "host_cpu", f"time 7\n1.5 2.25\n{stat}\n\n".encode())
    assert rows.row(0) == (7, 1.5, 2.25, 42, "my (odd) name", "R", 1, 30, 4, 11)
    net = "time 7\nInter-|   Receive\n face |bytes    packets\n  eth0:12 " + "0 " * 15 + "\nwlan0: 1 2\n"
    cards, net_notes = read_lines(tmp_path, "host_network", net.encode())
    assert cards.rows() == [(7, "eth0", 12, *[0] * 15)]
    memory = "TimeStamp:7\nIndex:0\nDataLen:50\nMemTotal:       65 kB\nMemFree:  3 kB\nMemAvailable: 4 kB\n\n"
    found, memory_notes = read_lines(tmp_path, "host_sys_mem", memory.encode())
    assert found.row(0) == (7, 0, 65, 3, *[0] * 7)
    old = "TimeStamp:7\nIndex:0\nDataLen:30\ncpu  1 2 3 4 5 6 7\nintr 17 0 0\n\n"
    cores, old_notes = read_lines(tmp_path, "host_sys_cpu", old.encode())
    assert cores.row(0) == (7, 0, "cpu", 1, 2, 3, 4, 5, 6, 7, 0, 0, 0)
    assert notes == memory_notes == old_notes == []
    assert net_notes == ["host/host_network.data.slice_0: 1 lines that are no whole rows of host_network were left out"]


def test_disk_units_and_heads(tmp_path: Path) -> None:
    text = (
        b"Total DISK READ :       0.00 B/s | Total DISK WRITE :       0.00 B/s\n"
        b"    TIME    PID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN      IO    COMMAND\n"
        b"10:00:00  4321 be/4 root        1.50 K/s    2.00 M/s  0.00 %  1.25 % python a b\n"
        b"start_time 17\n"
        b"10:00:01  4321 be/4 root        0.00 B/s    0.00 B/s ?unavailable?  python\n"
    )
    rows, notes = read_lines(tmp_path, "host_disk", text)
    assert rows.rows() == [
        (36000, 4321, "be/4", "root", 1536.0, 2.0 * 2**20, 0.0, 1.25, "python a b", 17),
        (36001, 4321, "be/4", "root", 0.0, 0.0, None, None, "python", 0),
    ]
    assert notes == []


@pytest.mark.parametrize("name", GOLDEN)
def test_cut_anywhere_loses_only_the_last_piece(tmp_path: Path, name: str) -> None:
    rows, text = GOLDEN[name]
    content = text.encode()
    for kept in range(len(content)):
        with TemporaryDirectory(dir=tmp_path) as folder:
            found, _ = read_lines(Path(folder), name, content[:kept])
        if "start_ns" in found.columns:
            found, expected = found.drop("start_ns"), rows.drop("start_ns")
        else:
            expected = rows
        assert found.equals(expected[: len(found)]), kept


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    writer = new_writer(tmp_path)
    rows = rows_of("hccs", (1, 2, 3))
    with pytest.raises(RawFormatError, match="Did you mean 'hccs'"):
        writer.write_text("hcsc", rows, 0)
    with pytest.raises(RawFormatError, match="belong to a device"):
        writer.write_text("hccs", rows)
    with pytest.raises(RawFormatError, match="pid 5 is out of place"):
        writer.write_text("hccs", rows, 0, 5)
    with pytest.raises(RawFormatError, match="say which by pid"):
        writer.write_text("host_process_mem", rows)
    with pytest.raises(RawFormatError, match="Rows of hccs have the columns"):
        writer.write_text("hccs", rows.rename({"tx_bytes": "bytes"}), 0)
    with pytest.raises(RawFormatError, match="holds negative numbers"):
        writer.write_text("hccs", rows_of("hccs", (1, -2, 3)), 0)
    with pytest.raises(RawFormatError, match="do not fit"):
        writer.write_text("hccs", pl.DataFrame({"time_ns": ["x"], "tx_bytes": [1], "rx_bytes": [2]}), 0)
    with pytest.raises(RawFormatError, match="misses values in tx_bytes"):
        writer.write_text("hccs", rows_of("hccs", (1, None, 3)), 0)
    with pytest.raises(OutputError, match="no records of device 9"):
        ProfReader(writer.path, RECORD_KINDS).read_text("hccs", 9)
    writer.write_text("hccs", rows.clear(), 0)
    assert not (writer.path / "device_0").exists()
    assert len(ProfReader(writer.path, RECORD_KINDS).read_text("host_mem")) == 0


def test_names_are_words(tmp_path: Path) -> None:
    writer = new_writer(tmp_path)
    rows = rows_of("host_cpu", (7, 1.0, 2.0, 42, "a b\nc", "R", 1, 30, 4, 5))
    writer.write_text("host_cpu", rows)
    assert ProfReader(writer.path, RECORD_KINDS).read_text("host_cpu")["name"].to_list() == ["a_b_c"]
