"""Control files: what they hold, and clocks read back from directories of other hands (cann_msprof.md 2.4, 2.5)."""

from __future__ import annotations

import random
from datetime import datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import orjson
import pytest

from drynpu import OutputError, RawFormatError
from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.platforms import load_chip
from drynpu.raw import ClockAnchors, CpuInfo, DeviceInfo, HostInfo, NetCard, ProfReader, ProfWriter

NOW = datetime(2026, 1, 1, 12, 0, 0).astimezone()
BEGIN_US = 1_767_268_800_000_123
ANCHORS = ClockAnchors(
    collection_begin_us=BEGIN_US,
    monotonic_raw_ns=36_471_130_547_330,
    host_cntvct=36_471_130_547_330,
    device_cntvct=1_833_256_145_654,
    device_hz=50_000_000,
)
HOST = HostInfo(
    platform_version="5",
    pid=4321,
    pid_name="python3",
    hostname="node",
    memory_total_kb=16_000_000,
    cpu_nums=2,
    rank_id=3,
    drv_version=467_473,
    cpus=(CpuInfo(id=0, name="x86", logical_cpu_count=2, type="x86_64"),),
    net_cards=(NetCard(name="eth0", speed=1000),),
)
DEVICE = DeviceInfo(id=1, ai_core_num=24, aiv_num=48, hwts_frequency="50.000000", aic_frequency="1800")
ENDED_NS = BEGIN_US * 1000 + 2_500_000_000


def written(parent: Path, ended_unix_ns: int | None = ENDED_NS) -> Path:
    writer = ProfWriter.create(parent, RECORD_KINDS, index=0, pid=4321, now=NOW, rng=random.Random(1))
    writer.write_controls(HOST, [DEVICE], {"prof_level": "level1"}, ANCHORS, ended_unix_ns)
    return writer.path


def edit(path: Path, **changes: object) -> None:
    path.write_bytes(orjson.dumps(orjson.loads(path.read_bytes()) | changes))


def test_the_files_and_their_marks(tmp_path: Path) -> None:
    prof = written(tmp_path)
    host = {"info.json", "sample.json", "start_info", "end_info", "host_start.log"}
    device = {"info.json.1", "sample.json", "start_info.1", "end_info.1", "host_start.log.1", "dev_start.log.1"}
    for folder, names in (("host", host), ("device_1", device)):
        found = {path.name for path in (prof / folder).iterdir() if path.is_file()}
        assert found == names | {f"{name}.done" for name in names}
        assert (prof / folder / "data").is_dir()


def test_info_json_has_every_key(tmp_path: Path) -> None:
    prof = written(tmp_path)
    host = orjson.loads((prof / "host/info.json").read_bytes())
    assert host == {
        "version": "1.0",
        "jobInfo": "NA",
        "OS": "",
        "hostname": "node",
        "hwtype": "",
        "devices": "64",
        "platform": "",
        "platform_version": "5",
        "pid": "4321",
        "pid_name": "python3",
        "upTime": "",
        "memoryTotal": 16_000_000,
        "cpuNums": 2,
        "sysClockFreq": 0,
        "cpuCores": 0,
        "netCardNums": 1,
        "rank_id": 3,
        "drvVersion": 467_473,
        "cannVersion": "",
        "CPU": [{"Id": 0, "Name": "x86", "Frequency": "", "Logical_CPU_Count": 2, "Type": "x86_64"}],
        "netCard": [{"netCardName": "eth0", "speed": 1000}],
        "DeviceInfo": [],
    }
    device = orjson.loads((prof / "device_1/info.json.1").read_bytes())
    assert device["devices"] == "1"
    assert device["DeviceInfo"][0]["hwts_frequency"] == "50.000000"
    assert set(device["DeviceInfo"][0]) == {
        "id",
        "env_type",
        "ctrl_cpu_core_num",
        "ctrl_cpu_endian_little",
        "ts_cpu_core_num",
        "ai_cpu_core_num",
        "ai_core_num",
        "ai_cpu_core_id",
        "ai_core_id",
        "aicpu_occupy_bitmap",
        "aiv_num",
        "ctrl_cpu_id",
        "ctrl_cpu",
        "ai_cpu",
        "hwts_frequency",
        "aic_frequency",
        "aiv_frequency",
    }
    for folder, devices in (("host", "64"), ("device_1", "1")):
        sample = orjson.loads((prof / folder / "sample.json").read_bytes())
        assert sample == {
            "llc_profiling": "",
            "ai_core_profiling_mode": "",
            "prof_level": "level1",
            "devices": devices,
        }


def test_start_and_end(tmp_path: Path) -> None:
    prof = written(tmp_path)
    begin = orjson.loads((prof / "device_1/start_info.1").read_bytes())
    assert begin == {
        "collectionDateBegin": f"{datetime.fromtimestamp(BEGIN_US // 10**6).astimezone():%Y-%m-%d %H:%M:%S}.000123",
        "collectionDateEnd": "",
        "collectionTimeBegin": str(BEGIN_US),
        "collectionTimeEnd": "",
        "clockMonotonicRaw": "36471130547330",
    }
    end = orjson.loads((prof / "host/end_info").read_bytes())
    assert end["collectionTimeEnd"] == str(BEGIN_US + 2_500_000)
    assert end["collectionTimeBegin"] == end["collectionDateBegin"] == ""
    assert end["clockMonotonicRaw"] == str(36_471_130_547_330 + 2_500_000_000)


def test_counter_logs(tmp_path: Path) -> None:
    prof = written(tmp_path)
    assert (prof / "host/host_start.log").read_text() == (
        f"[Host]\nclock_realtime: {BEGIN_US}000\nclock_monotonic_raw: 36471130547330\n"
        "cntvct: 36471130547330\ncntvct_diff: 0\n"
    )
    assert (prof / "device_1/host_start.log.1").read_text().startswith("[Device1]\n")
    assert (prof / "device_1/dev_start.log.1").read_text() == (
        f"clock_realtime: {BEGIN_US}000\nclock_monotonic_raw: 36471130547330\ncntvct: 1833256145654\n"
    )


def test_read_back_what_was_written(tmp_path: Path) -> None:
    reader = ProfReader(written(tmp_path), RECORD_KINDS)
    assert reader.host_info == HOST
    assert reader.device_ids == (1,)
    assert reader.device_info(1) == DEVICE
    assert reader.sample()["devices"] == "64"
    assert reader.sample(1)["devices"] == "1"
    assert reader.anchors(1) == reader.anchors() == ANCHORS
    assert reader.ended_unix_ns == ENDED_NS
    assert reader.notes == []


def test_a_run_that_did_not_end(tmp_path: Path) -> None:
    reader = ProfReader(written(tmp_path, ended_unix_ns=None), RECORD_KINDS)
    assert reader.anchors(1) == ANCHORS
    assert reader.ended_unix_ns is None
    assert reader.notes == ["end_info is missing: when collection ended is not known"]


def test_host_times_in_ticks(tmp_path: Path) -> None:
    """A genuine host: a 100 MHz counter, and a cntvct_diff that moves the base of both lines."""
    prof = written(tmp_path)
    edit(prof / "host/info.json", CPU=[{"Id": 0, "Frequency": "100.000000"}])
    (prof / "host/host_start.log").write_text(
        "[Host]\nclock_realtime: 1\nclock_monotonic_raw: 36471130000000\ncntvct: 3666503140109\ncntvct_diff: 0\n"
    )
    (prof / "device_1/host_start.log.1").write_text(
        "[Device1]\nclock_monotonic_raw: 36471130000000\ncntvct: 3666503140109\ncntvct_diff: 250\n"
    )
    clock = ProfReader(prof, RECORD_KINDS).anchors(1)
    offset = BEGIN_US * 1000 - 36_471_130_547_330
    assert int(clock.host_to_unix(3_666_503_140_109 + 12_345)) == offset + 36_471_130_000_000 + 123_450
    assert int(clock.unix_to_host(offset + 36_471_130_000_000 + 123_450)) == 3_666_503_140_109 + 12_345
    # 250 host ticks are 2500 ns; 7 device ticks are 140 ns.
    assert int(clock.tick_to_unix(1_833_256_145_654 + 7)) == offset + 36_471_130_000_000 + 2_500 + 140


def test_cntvct_diff_without_a_host_frequency_counts_nanoseconds(tmp_path: Path) -> None:
    prof = written(tmp_path)
    path = prof / "device_1/host_start.log.1"
    path.write_text(path.read_text().replace("cntvct_diff: 0", "cntvct_diff: 300"))
    clock = ProfReader(prof, RECORD_KINDS).anchors(1)
    assert int(clock.tick_to_unix(1_833_256_145_654)) == BEGIN_US * 1000 + 300


def test_a_device_with_its_own_start(tmp_path: Path) -> None:
    """Wall time of a device follows its own start_info, and its odd frequency, to the nanosecond."""
    prof = written(tmp_path)
    edit(prof / "device_1/start_info.1", collectionTimeBegin=str(BEGIN_US + 7), clockMonotonicRaw="36471130550000")
    device = DEVICE.__class__(id=1, hwts_frequency="38.400000")
    edit(prof / "device_1/info.json.1", DeviceInfo=[{"id": "1", "hwts_frequency": device.hwts_frequency}])
    reader = ProfReader(prof, RECORD_KINDS)
    clock = reader.anchors(1)
    ticks = np.arange(1_833_256_145_654, 1_833_256_145_654 + 1000, 7)
    wall = [
        Fraction((int(tick) - 1_833_256_145_654) * 10**9, 38_400_000)
        + 36_471_130_547_330
        + (BEGIN_US + 7) * 1000
        - 36_471_130_550_000
        for tick in ticks
    ]
    assert clock.tick_to_unix(ticks).tolist() == [exact.numerator // exact.denominator for exact in wall]
    assert int(clock.host_to_unix(36_471_130_547_330)) == BEGIN_US * 1000
    assert reader.notes == []


def test_start_info_of_another_directory_stands_in(tmp_path: Path) -> None:
    prof = written(tmp_path)
    (prof / "host/start_info").unlink()
    reader = ProfReader(prof, RECORD_KINDS)
    assert reader.anchors(1) == ANCHORS
    assert reader.notes == ["host/start_info is missing or incomplete: device_1/start_info.1 was taken"]


def test_info_json_with_another_id_is_taken_and_noted(tmp_path: Path) -> None:
    prof = written(tmp_path)
    (prof / "device_1/info.json.1").rename(prof / "device_1/info.json")
    reader = ProfReader(prof, RECORD_KINDS)
    assert reader.device_info(1) == DEVICE
    assert reader.notes == ["device_1/info.json: taken where info.json.1 was expected"]


def test_device_without_host_directory(tmp_path: Path) -> None:
    prof = written(tmp_path)
    for path in sorted((prof / "host").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (prof / "host").rmdir()
    reader = ProfReader(prof, RECORD_KINDS)
    assert reader.host_info == HOST
    assert reader.anchors(1) == ANCHORS
    assert len(reader.notes) == 2


def test_host_without_devices(tmp_path: Path) -> None:
    writer = ProfWriter.create(tmp_path, RECORD_KINDS, index=0, pid=4321, now=NOW)
    writer.write_controls(HOST, [], {}, ANCHORS, ENDED_NS)
    clock = ProfReader(writer.path, RECORD_KINDS).anchors()
    assert int(clock.host_to_unix(ANCHORS.host_cntvct)) == BEGIN_US * 1000
    assert clock.device_hz == 10**9


def test_odd_values_are_noted_and_neutral(tmp_path: Path) -> None:
    prof = written(tmp_path)
    edit(prof / "host/info.json", memoryTotal="a lot", rank_id=None, CPU=[{"Frequency": "fast"}], later="ignored")
    reader = ProfReader(prof, RECORD_KINDS)
    assert reader.host_info.memory_total_kb == 0
    assert reader.host_info.rank_id == -1
    assert reader.anchors(1).host_hz == 0
    assert len(reader.notes) == 2
    assert "memoryTotal is 'a lot'" in reader.notes[0]
    assert "Frequency is 'fast'" in reader.notes[1]


@pytest.mark.parametrize(
    ("name", "purpose"),
    [
        ("host/info.json", "chip, process and clock rates"),
        ("device_1/info.json.1", "chip, process and clock rates"),
        ("device_1/dev_start.log.1", "turns device ticks into time"),
        ("device_1/host_start.log.1", "turns host ticks into time"),
    ],
)
def test_missing_files_say_what_they_are_for(tmp_path: Path, name: str, purpose: str) -> None:
    prof = written(tmp_path)
    (prof / name).unlink()
    folder, file = name.split("/")
    with pytest.raises(OutputError, match=purpose) as caught:
        ProfReader(prof, RECORD_KINDS).anchors(1)
    assert f"{folder} has no {file.removesuffix('.1')}" in str(caught.value)


def test_missing_start_info_and_sample(tmp_path: Path) -> None:
    prof = written(tmp_path)
    (prof / "device_1/start_info.1").unlink()
    (prof / "host/start_info").unlink()
    (prof / "host/sample.json").unlink()
    with pytest.raises(OutputError, match="no start_info .* turns raw times into wall time"):
        ProfReader(prof, RECORD_KINDS).anchors(1)
    with pytest.raises(OutputError, match=r"host has no sample\.json: it holds the collection settings"):
        ProfReader(prof, RECORD_KINDS).sample()


def test_broken_files(tmp_path: Path) -> None:
    prof = written(tmp_path)
    (prof / "host/sample.json").write_text("{")
    (prof / "device_1/sample.json").write_text("[]")
    (prof / "device_1/dev_start.log.1").write_text("clock_monotonic_raw: 1\n")
    reader = ProfReader(prof, RECORD_KINDS)
    with pytest.raises(RawFormatError, match=r"sample\.json \(the collection settings\) is not JSON"):
        reader.sample()
    with pytest.raises(RawFormatError, match="holds a JSON list"):
        reader.sample(1)
    with pytest.raises(RawFormatError, match=r"dev_start\.log\.1 has no cntvct"):
        reader.anchors(1)
    edit(prof / "device_1/info.json.1", DeviceInfo=[])
    with pytest.raises(RawFormatError, match="no DeviceInfo entry"):
        reader.device_info(1)
    edit(prof / "device_1/info.json.1", DeviceInfo=[{"id": 1, "hwts_frequency": "?"}])
    with pytest.raises(RawFormatError, match=r"hwts_frequency of device 1 is '\?'"):
        reader.anchors(1)
    edit(prof / "device_1/info.json.1", DeviceInfo=[{"hwts_frequency": "50"}])
    with pytest.raises(RawFormatError, match="no usable 'id'"):
        reader.device_info(1)


def test_contradicting_clock_rates_are_refused(tmp_path: Path) -> None:
    writer = ProfWriter.create(tmp_path, RECORD_KINDS, index=0, pid=4321, now=NOW)
    slow = DeviceInfo(id=0, hwts_frequency="25")
    with pytest.raises(RawFormatError, match=r"hwts_frequency '25' of device 0 is 25000000 Hz"):
        writer.write_controls(HOST, [slow], {}, ANCHORS, None)
    ticking = HostInfo(platform_version="5", pid=1, cpus=(CpuInfo(frequency="100"),))
    with pytest.raises(RawFormatError, match="Frequency says 100000000 Hz, the clock anchors say 0 Hz"):
        writer.write_controls(ticking, [], {}, ANCHORS, None)


def test_a_ticking_host_round_trips(tmp_path: Path) -> None:
    clock = ClockAnchors(BEGIN_US, 10**12, 77_777, 88_888, 50_000_000, 100_000_000, 10**12 + 40, 10**12 + 80)
    host = HostInfo(platform_version="5", pid=1, cpus=(CpuInfo(frequency="100.000000"),))
    writer = ProfWriter.create(tmp_path, RECORD_KINDS, index=0, pid=4321, now=NOW)
    writer.write_controls(host, [DEVICE], {}, clock, None)
    assert ProfReader(writer.path, RECORD_KINDS).anchors(1) == clock


def test_device_info_of_a_chip() -> None:
    split = DeviceInfo.of_chip(load_chip("Ascend910B2"), 5)
    assert (split.id, split.ai_core_num, split.aiv_num) == (5, 24, 48)
    assert (split.aic_frequency, split.aiv_frequency) == ("1800", "1800")
    assert split.hwts_hz == 50_000_000
    assert split.ai_cpu.count(",") + 1 == split.ai_cpu_core_num == bin(split.aicpu_occupy_bitmap).count("1")
    assert DeviceInfo.of_chip(load_chip("Ascend910"), 0).aiv_num == 0
    assert DeviceInfo.of_chip(load_chip("Ascend310P3"), 0).aiv_num == 7
