"""The database says what the csv and json files of the same profile say, row by row."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from drynpu.deliverables.registry import GROUPS, schemas
from drynpu.deliverables.tasks.db import _in_contexts, _TaskRows
from drynpu.options import Level, Switches
from drynpu.products import export_msprof_db, load_profile
from drynpu.tables import TASKS
from drynpu.tables.stored import stored

Both = Callable[..., SimpleNamespace]

STRINGS = "(SELECT value FROM STRING_IDS WHERE id = {})"
HOST_ONLY = 4_000_000_000
MB = 2**20


def text(column: str) -> str:
    """The text behind a column, to be selected; nothing where the number is no text's."""
    return STRINGS.format(column)


def cells(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return [{key: value.rstrip("\t") for key, value in row.items()} for row in csv.DictReader(stream)]


def us(ns: int) -> str:
    return f"{Decimal(ns) / 1000:.3f}"


def events(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_tasks(toolkit_made: SimpleNamespace, read: SimpleNamespace) -> None:
    query = "SELECT * FROM TASK WHERE connectionId < 4000000000"
    stored = [
        (row["streamId"], row["taskId"], us(row["startNs"]), us(row["endNs"]))
        for row in read.rows(toolkit_made.db, query)
    ]
    shown = [
        (int(row["stream_id"]), int(row["task_id"]), row["task_start(us)"], row["task_stop(us)"])
        for row in cells(toolkit_made.files["task_time.csv"])
    ]
    assert sorted(stored) == sorted(shown)
    assert len(stored) > 60
    kinds = Counter(row[0] for row in read.rows(toolkit_made.db, f"SELECT {text('taskType')} FROM TASK"))
    assert kinds["KERNEL_AIVEC"] == 3
    assert kinds["KERNEL_AICORE"] == 2
    assert kinds["KERNEL_AICPU"] == 1
    assert kinds["MEMCPY_ASYNC"] >= 2


@pytest.mark.parametrize("level", [Level.L0, Level.L1])
def test_kernels(both: Both, read: SimpleNamespace, level: Level) -> None:
    export = both(level=level)
    titles = {
        "Op Name": text("k.name"),
        "OP Type": text("k.opType"),
        "OP State": text("k.opState"),
        "Task Type": text("k.taskType"),
        "Block Num": "k.blockNum",
        "Mix Block Num": "k.mixBlockNum",
        "HF32 Eligible": text("k.hf32Eligible"),
        **{
            f"{side} {title}": text(f"k.{side.lower()}{column}")
            for side in ("Input", "Output")
            for title, column in (("Shapes", "Shapes"), ("Data Types", "DataTypes"), ("Formats", "Formats"))
        },
        "Stream ID": "t.streamId",
        "Task ID": "t.taskId",
        "Model ID": "t.modelId",
        "Device_id": "t.deviceId",
    }
    columns = ", ".join(titles.values())
    stored = [
        ([str(value) for value in row[:-2]], us(row[-2]), us(row[-1]))
        for row in read.rows(
            export.db,
            f"SELECT {columns}, t.startNs, t.endNs - t.startNs FROM COMPUTE_TASK_INFO k JOIN TASK t USING "
            "(globalTaskId) ORDER BY t.startNs",
        )
    ]
    kernels = [row for row in cells(export.files["op_summary.csv"]) if row["Task Type"] != "COMMUNICATION"]
    if level is Level.L0:
        # The csv has N/A, the column of the database is a number.
        kernels = [{**row, "Mix Block Num": "0"} for row in kernels]
    shown = [
        ([row[title] for title in titles], row["Task Start Time(us)"], row["Task Duration(us)"]) for row in kernels
    ]
    assert stored == shown
    assert len(stored) == 6
    shapes = stored[0][0][list(titles).index("Input Shapes")]
    assert shapes == ("N/A" if level is Level.L0 else '"256,1024;256,1024"')


def test_counters(toolkit_made: SimpleNamespace, read: SimpleNamespace) -> None:
    stored: dict[tuple[int, int], dict[str, float]] = defaultdict(dict)
    for row in read.rows(
        toolkit_made.db,
        f"SELECT streamId, taskId, {text('p.name')} AS counter, value FROM TASK_PMU_INFO p JOIN TASK USING "
        "(globalTaskId)",
    ):
        stored[row["streamId"], row["taskId"]][row["counter"]] = row["value"]
    special = {"aicore_time(us)": "aic_total_time", "aiv_time(us)": "aiv_total_time"}
    compared = 0
    for row in cells(toolkit_made.files["op_summary.csv"]):
        names = [name for name in row if name.startswith(("aic", "aiv"))]
        known = stored.pop((int(row["Stream ID"]), int(row["Task ID"])), {}) if row["Stream ID"] != "N/A" else {}
        shown = {name: row[name] for name in names if row[name] != "N/A"}
        renamed = {special.get(name, name.removesuffix("(us)")): (name, float(value)) for name, value in shown.items()}
        # Units that the vector core lacks, whose events it records (unified_pmu_processor.cpp, compared).
        absent = {"aiv_mac_time", "aiv_mac_ratio", "aiv_mte1_time", "aiv_mte1_ratio"}
        assert set(known) == set(renamed) | (absent if known else set())
        assert not any(known[name] for name in absent if known)
        for name, (title, value) in renamed.items():
            scale = 1000 if title.endswith("(us)") else 1
            # The file rounds to three decimals, the database does not.
            assert known[name] == pytest.approx(value * scale, abs=0.000_5001 * scale)
            assert known[name] == value * scale or scale * round(known[name] / scale, 3) == pytest.approx(value * scale)
            compared += 1
    assert compared == 5 * 24
    assert not stored


def test_calls(toolkit_made: SimpleNamespace, read: SimpleNamespace) -> None:
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in read.rows(
        toolkit_made.db,
        f"SELECT e.name AS level, {text('c.name')} AS call, endNs - startNs AS ns FROM CANN_API c JOIN ENUM_API_TYPE e "
        "ON e.id = c.type",
    ):
        found[row["level"], row["call"]].append(row["ns"])
    shown = {(row["Level"], row["API Name"]): row for row in cells(toolkit_made.files["api_statistic.csv"])}
    assert found.keys() == shown.keys()
    for key, lengths in found.items():
        assert int(shown[key]["Count"]) == len(lengths)
        assert Decimal(shown[key]["Time(us)"]) == Decimal(sum(lengths)) / 1000
        assert Decimal(shown[key]["Max(us)"]) == Decimal(max(lengths)) / 1000
    threads = {row[0] for row in read.rows(toolkit_made.db, "SELECT DISTINCT globalTid FROM CANN_API")}
    assert {thread >> 32 for thread in threads} == {4321}


def test_communication_operators(toolkit_made: SimpleNamespace, read: SimpleNamespace) -> None:
    stored = [
        tuple(row)
        for row in read.rows(
            toolkit_made.db,
            f"SELECT {text('opName')}, {text('opType')}, startNs, endNs - startNs, count, rankSize, "
            f"(SELECT name FROM ENUM_HCCL_DATA_TYPE e WHERE e.id = dataType), relay, retry FROM COMMUNICATION_OP "
            "ORDER BY startNs",
        )
    ]
    rows = [row for row in cells(toolkit_made.files["op_summary.csv"]) if row["Task Type"] == "COMMUNICATION"]
    shown = [(row["Op Name"], row["OP Type"], row["Task Start Time(us)"], row["Task Duration(us)"]) for row in rows]
    assert [(name, kind, us(start), us(length)) for name, kind, start, length, *_ in stored] == shown
    assert [row[4:] for row in stored] == [
        (1 << 21, 4, "FP16", 0, 0),
        (1 << 21, 4, "BFP16", 0, 0),
        (1 << 21, 2, "FP16", 0, 0),
    ]


def test_communication_tasks(toolkit_made: SimpleNamespace, read: SimpleNamespace) -> None:
    enum = "(SELECT name FROM ENUM_HCCL_{} e WHERE e.id = c.{})"
    stored = [
        tuple(row)
        for row in read.rows(
            toolkit_made.db,
            f"SELECT {text('c.taskType')}, t.startNs, t.endNs - t.startNs, t.streamId, t.taskId, srcRank, dstRank, "
            f"{enum.format('TRANSPORT_TYPE', 'transportType')}, {enum.format('LINK_TYPE', 'linkType')}, "
            f"{enum.format('DATA_TYPE', 'dataType')}, size, bandwidth FROM COMMUNICATION_TASK_INFO c JOIN TASK t USING "
            "(globalTaskId) ORDER BY t.startNs, t.streamId, t.taskId",
        )
    ]
    found = [event for event in events(toolkit_made.files["msprof.json"]) if "transport type" in event.get("args", {})]
    shown = [
        (
            event["name"],
            int(Decimal(event["ts"]) * 1000),
            round(event["dur"] * 1000),
            *(event["args"][name] for name in ("stream id", "task id", "src rank", "dst rank")),
            *(event["args"][name] for name in ("transport type", "link type", "data type", "size(Byte)")),
            pytest.approx(event["args"]["bandwidth(GB/s)"] * 1e9, rel=1e-4),
        )
        for event in sorted(
            found, key=lambda event: (Decimal(event["ts"]), event["args"]["stream id"], event["args"]["task id"])
        )
    ]
    assert stored == shown
    assert len(stored) > 20


def test_communication_tasks_lie_in_their_operators(toolkit_made: SimpleNamespace, read: SimpleNamespace) -> None:
    outside = read.rows(
        toolkit_made.db,
        "SELECT * FROM COMMUNICATION_TASK_INFO c JOIN TASK t USING (globalTaskId) LEFT JOIN COMMUNICATION_OP o USING "
        "(opId) WHERE o.opId IS NULL OR t.startNs < o.startNs OR t.endNs > o.endNs OR c.name <> o.opName "
        "OR t.connectionId <> o.connectionId OR c.groupName <> o.groupName",
    )
    assert not outside
    bounds = "SELECT o.opId, o.startNs, o.endNs FROM COMMUNICATION_OP o ORDER BY opId"
    of_tasks = (
        "SELECT c.opId, MIN(t.startNs), MAX(t.endNs) FROM COMMUNICATION_TASK_INFO c JOIN TASK t USING (globalTaskId) "
        "GROUP BY c.opId ORDER BY c.opId"
    )
    assert [tuple(row) for row in read.rows(toolkit_made.db, of_tasks)] == [
        tuple(row) for row in read.rows(toolkit_made.db, bounds)
    ]


def test_overlap(toolkit_made: SimpleNamespace, read: SimpleNamespace) -> None:
    kinds = ("Computing", "Communication", "Communication(Not Overlapped)", "Free")
    trace = events(toolkit_made.files["msprof.json"])
    shown = [
        (kinds.index(event["name"]), int(Decimal(event["ts"]) * 1000), round(event["dur"] * 1000))
        for event in trace
        if event["ph"] == "X" and event["pid"] >> 5 & 31 == 31
    ]
    stored = read.rows(toolkit_made.db, "SELECT type, startNs, endNs - startNs FROM OVERLAP_ANALYSIS ORDER BY id")
    assert [tuple(row) for row in stored] == shown
    assert {kind for kind, *_ in shown} == {0, 1, 2, 3}


def test_copies(toolkit_made: SimpleNamespace, read: SimpleNamespace) -> None:
    stored = [
        tuple(row)
        for row in read.rows(
            toolkit_made.db,
            "SELECT t.startNs, m.size, e.name FROM MEMCPY_INFO m JOIN TASK t USING (globalTaskId) "
            "JOIN ENUM_MEMCPY_OPERATION e ON e.id = m.memcpyOperation ORDER BY t.startNs",
        )
    ]
    found = [event for event in events(toolkit_made.files["msprof.json"]) if "operation" in event.get("args", {})]
    shown = [
        (int(Decimal(event["ts"]) * 1000), event["args"]["size(B)"], event["args"]["operation"]) for event in found
    ]
    assert [row for row in stored if row[1]] == sorted(shown)
    assert [operation for *_, operation in sorted(shown)] == ["host to device", "device to host"]
    # Copies of collectives tell neither their size nor where they go.
    others = [row for row in stored if not row[1]]
    assert {operation for *_, operation in others} == {"other"}
    launched = read.rows(toolkit_made.db, f"SELECT * FROM TASK WHERE {text('taskType')} = 'MEMCPY_ASYNC'")
    assert len(others) == len(launched) - len(shown) > 0


def test_marks_on_streams_are_tasks(toolkit_made: SimpleNamespace, read: SimpleNamespace) -> None:
    query = f"SELECT {text('taskType')} AS kind FROM TASK WHERE connectionId > 4000000000"
    assert {row["kind"] for row in read.rows(toolkit_made.db, query)} == {"MsTx"}


def test_what_runs_in_a_context_is_there_as_a_whole_too() -> None:
    """
    A genuine database (torch_db_level1 of 2025) has for the kernel with ids 2, 11112 a row with context 4294967295 from
    1736410576421822690 to 1736410576421839830, and one with context 0 inside it.
    """
    rows = [
        {"context_id": 4_294_967_295, "task_id": 7, "start_ns": 5, "duration_ns": 1},
        {"context_id": 0, "task_id": 11_112, "start_ns": 1736410576421822690, "duration_ns": 17_140},
    ]
    tasks = stored(pl.DataFrame(rows, schema=TASKS))
    found = _TaskRows(tasks, pl.DataFrame(), _in_contexts(tasks), first_id=40)
    assert found.height == 1
    (whole,) = found.slice(0, 5).select("globalTaskId", *rows[0]).rows(named=True)
    assert whole == {
        "globalTaskId": 40,
        "context_id": 4_294_967_295,
        "task_id": 11_112,
        "start_ns": 1736410576421822690,
        "duration_ns": 17_140,
    }


def test_the_clock_is_there_at_both_ends(toolkit_made: SimpleNamespace, read: SimpleNamespace) -> None:
    rows = [
        tuple(row)
        for row in read.rows(toolkit_made.db, "SELECT timestampNs, freq FROM AICORE_FREQ ORDER BY timestampNs")
    ]
    session = read.rows(toolkit_made.db, "SELECT startTimeNs, endTimeNs FROM SESSION_TIME_INFO")[0]
    assert (rows[0][0], rows[-1][0]) == tuple(session)


def test_memory(toolkit_made: SimpleNamespace, read: SimpleNamespace) -> None:
    samples = read.rows(toolkit_made.db, f"SELECT deviceId, {text('type')} AS kind, ddr, hbm, timestampNs FROM NPU_MEM")
    stored = [
        (str(row["deviceId"]), row["kind"], row["ddr"] / 1024, row["hbm"] / 1024, us(row["timestampNs"]))
        for row in samples
    ]
    # The database has the collector's word, as a genuine one, the csv file the parser's word: app and APP.
    shown = [
        (row["Device_id"], row["event"].lower(), float(row["ddr(KB)"]), float(row["hbm(KB)"]), row["timestamp(us)"])
        for row in cells(toolkit_made.files["npu_mem.csv"])
    ]
    assert stored == shown
    assert any(hbm for *_, hbm, _ in stored)
    modules = read.rows(
        toolkit_made.db,
        "SELECT m.name AS component, timestampNs, totalReserved FROM NPU_MODULE_MEM JOIN ENUM_MODULE m ON m.id = "
        "moduleId",
    )
    assert [(row["component"], us(row["timestampNs"]), row["totalReserved"] / 1024) for row in modules] == [
        (row["Component"], row["Timestamp(us)"], float(row["Total Reserved(KB)"]))
        for row in cells(toolkit_made.files["npu_module_mem.csv"])
    ]


def test_memory_of_operators_is_read_back(both: Both, tmp_path: Path) -> None:
    export = both(framework="tensorflow", switches=Switches(task_memory=True))
    (tmp_path / "alone").mkdir()
    alone = load_profile(Path(shutil.copy(export.db, tmp_path / "alone")))
    found, expected = (profile.frame("cann_allocations") for profile in (alone, export.profile))
    assert set(found["size_bytes"].sign()) == {-1, 1}
    assert_frame_equal(found, expected)


def test_memory_of_operators(both: Both, read: SimpleNamespace) -> None:
    export = both(framework="tensorflow", switches=Switches(task_memory=True))
    stored = read.rows(
        export.db,
        f"SELECT {text('operatorName')} AS operator, {text('type')} AS kind, {text('component')} AS component, size, "
        "addr, timestampNs, totalAllocate, totalReserve, globalTid FROM NPU_OP_MEM",
    )
    assert {row["globalTid"] for row in stored} == {4321 << 32 | 4321}
    records = cells(export.files["memory_record.csv"])
    assert [
        (row["component"], us(row["timestampNs"]), row["totalAllocate"] / 1024, row["totalReserve"] / 1024)
        for row in stored
    ] == [
        (
            row["Component"],
            row["Timestamp(us)"],
            float(row["Total Allocated(KB)"]),
            float(row["Total Reserved(KB)"]),
        )
        for row in records
    ]
    assert [(row["kind"], row["addr"]) for row in stored] == [
        ("allocate", 4096),
        ("allocate", 1 << 20),
        ("release", 4096),
    ]
    taken, kept, released = (row["size"] for row in stored)
    assert taken == released > kept > 0
    assert [row["operator"] for row in stored] == ["Small", "MatMul", "Small"]


def test_marks(toolkit_made: SimpleNamespace, read: SimpleNamespace) -> None:
    stored = read.rows(
        toolkit_made.db,
        f"SELECT m.startNs, m.endNs, e.name AS kind, {text('message')} AS message, {text('domainId')} AS domain, "
        "globalTid, m.connectionId, category, t.startNs AS deviceStart, t.endNs AS deviceEnd, t.deviceId, t.streamId "
        "FROM MSTX_EVENTS m JOIN ENUM_MSTX_EVENT_TYPE e ON e.id = eventType LEFT JOIN TASK t ON t.connectionId = "
        "m.connectionId ORDER BY m.startNs",
    )
    shown = cells(toolkit_made.files["msprof_tx.csv"])
    assert [
        (us(row["startNs"]), us(row["endNs"]), row["kind"], row["message"], row["domain"], row["globalTid"] % 2**32)
        for row in stored
    ] == [
        (
            row["Start_time(us)"],
            row["End_time(us)"],
            row["event_type"],
            row["message"],
            row["domain"].replace("N/A", ""),
            int(row["tid"]),
        )
        for row in shown
    ]
    on_device = [row for row in stored if row["deviceStart"] is not None]
    assert [(us(row["deviceStart"]), us(row["deviceEnd"]), str(row["deviceId"])) for row in on_device] == [
        (row["Device Start_time(us)"], row["Device End_time(us)"], row["Device_id"])
        for row in shown
        if row["Device Start_time(us)"] != "N/A"
    ]
    assert [row["message"] for row in on_device] == ["on a stream"]
    # Extended marks have no category, and a number of their own also without a stream (msproftx_host_processor.cpp).
    plain = [row["domain"] == "" for row in stored]
    assert [row["connectionId"] == HOST_ONLY for row in stored] == plain
    assert [row["category"] != 2**32 - 1 for row in stored] == plain
    assert sorted(set(plain)) == [False, True]


def counters(toolkit_made: SimpleNamespace, name: str, key: str) -> list[tuple[int, float]]:
    """Time and value of the counters of a name in the timeline."""
    return [
        (int(Decimal(event["ts"]) * 1000), event["args"][key])
        for event in events(toolkit_made.files["msprof.json"])
        if event["ph"] == "C" and event["name"] == name
    ]


@pytest.mark.parametrize(
    ("name", "key", "query", "scale"),
    [
        ("HBM 0/Read", "Read(MB/s)", "bandwidth FROM HBM WHERE hbmId = 0 AND {type} = 'read'", MB),
        ("HBM 0/Write", "Write(MB/s)", "bandwidth FROM HBM WHERE hbmId = 0 AND {type} = 'write'", MB),
        ("LLC 0 Read/Hit Rate", "Hit Rate(%)", "hitRate FROM LLC WHERE llcId = 0 AND {mode} = 'read'", 100),
        ("LLC 0 Read/Throughput", "Throughput(MB/s)", "throughput FROM LLC WHERE llcId = 0", MB),
        ("Rx", "Rx(MB/s)", "rxThroughput FROM HCCS", MB),
        ("Tx", "Tx(MB/s)", "txThroughput FROM HCCS", MB),
        ("PCIe_cpl", "Tx", "txCplAvg FROM PCIE", MB),
        ("PCIe_post", "Tx", "txPostAvg FROM PCIE", MB),
        ("PCIe_post", "Rx", "rxPostAvg FROM PCIE", MB),
        ("PCIe_nonpost_latency", "Tx", "txNonpostLatencyAvg FROM PCIE", 1000),
    ],
)
def test_samples(
    toolkit_made: SimpleNamespace, read: SimpleNamespace, name: str, key: str, query: str, scale: float
) -> None:
    shown = counters(toolkit_made, name, key)
    stored = read.rows(toolkit_made.db, f"SELECT timestampNs, {query.format(type=text('type'), mode=text('mode'))}")
    assert [time for time, _ in shown] == [time for time, _ in stored]
    last = "HCCS" in query  # whose last sample the toolkit leaves out
    assert len(shown) + last > 1
    for (_, seen), (_, kept) in zip(shown, stored, strict=True):
        assert kept == pytest.approx(seen * scale, rel=1e-3, abs=scale / 500)


def test_samples_of_other_chips(both: Both, read: SimpleNamespace) -> None:
    export = both(chip="Ascend310P3", collectives=())
    tables = read.tables(export.db)
    assert "DDR" in tables
    assert "TASK_PMU_INFO" not in tables
    for way in ("read", "write"):
        shown = counters(export, f"DDR/{way.capitalize()}", f"{way.capitalize()}(MB/s)")
        stored = read.rows(export.db, f"SELECT timestampNs, {way} FROM DDR")
        assert [time for time, _ in shown] == [time for time, _ in stored]
        assert [kept for _, kept in stored] == pytest.approx([seen * MB for _, seen in shown], rel=1e-3, abs=MB / 500)
        assert any(kept for _, kept in stored)


@pytest.mark.parametrize(("device_id", "die"), [(0, "die 0"), (3, "die 1")])
def test_links_between_dies(both: Both, read: SimpleNamespace, device_id: int, die: str) -> None:
    export = both(chip="Ascend910_93", device_id=device_id, **({} if device_id == 0 else {"collectives": ()}))
    for channel, column in (("dat_rx", "rxDat"), ("dat_tx", "txDat"), ("req_tx", "txReq")):
        stored = read.rows(export.db, f"SELECT {text('name')} AS die, timestampNs, {column} AS rate FROM SIO")
        shown = counters(export, channel, die)
        assert [row["timestampNs"] for row in stored] == [time for time, _ in shown]
        assert [row["rate"] for row in stored] == pytest.approx(
            [seen * MB for _, seen in shown], rel=1e-3, abs=MB / 500
        )
        assert {row["die"] for row in stored} == {die}
        assert any(row["rate"] for row in stored) == (device_id == 0 and channel != "req_tx")


def test_usage_of_the_host(record: Callable[..., Any], read: SimpleNamespace) -> None:
    group_tables = {
        "host_cpu_usage": [(5, "0", 12.5, 2), (5, "1", 0.0, 2), (5, "Avg", 6.25, 2), (9, "0", 50.0, 2)],
        "host_memory_usage": [(5, 1.25, 4096)],
        "host_disk_usage": [(5, 2.0, 0.5, None)],
        "host_network_usage": [(5, None, 3.0, None), (9, 0.5, 4.0, 800.0)],
    }
    tables = {
        name: pl.DataFrame(rows, schema=schemas(GROUPS)[name], orient="row") for name, rows in group_tables.items()
    }
    path = export_msprof_db(attrs.evolve(record(), group_tables=tables))
    assert path is not None

    def stored(name: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in read.rows(path, f"SELECT * FROM {name}")]

    assert stored("CPU_USAGE") == [(5, 0, 12.5), (5, 1, 0), (9, 0, 50)]
    assert stored("HOST_MEM_USAGE") == [(5, 1.25)]
    assert stored("HOST_DISK_USAGE") == [(5, 2048, 512, None)]
    # As in the toolkit, nothing stands there while the speed of the link is unknown.
    assert stored("HOST_NETWORK_USAGE") == [(9, 0.5, 4096)]
