"""Databases of two schema versions, made by hand: columns that were renamed, ids, enumerations, damage."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from drynpu import DrynpuError
from drynpu.analysis import summarise
from drynpu.products import load_profile

PID, THREAD = 4711, 4712
GLOBAL = PID << 32 | THREAD
START = 1736410576404465403
STRINGS = [
    *("N/A", "Conv2D1", "KERNEL_AICORE", "AI_CORE", "Conv2D", "FLOAT", "NCHW", '"32,3;8"', "launch", "EVENT_RECORD"),
    *("hcom_allReduce__210_0_1", "group", "hcom_allReduce_", "aic_total_time", "aic_l2_read_bw", "aten::conv2d"),
    *("main.py(3): train", "main.py(9): <module>", "Dequeue@Conv", "Enqueue", "app", "Memcpy"),
]
ID = {text: number for number, text in enumerate(STRINGS)}
Rows = Sequence[Mapping[str, Any]]

TASK = {"deviceId": 1, "globalPid": PID, "contextId": 4294967295, "streamId": 2, "modelId": 4294967295}
COMPUTE = {"name": ID["Conv2D1"], "globalTaskId": 3, "taskType": ID["AI_CORE"], "opType": ID["Conv2D"]}
COMPUTE |= {"inputFormats": ID["NCHW"], "inputDataTypes": ID["FLOAT"], "inputShapes": ID['"32,3;8"']}
COMPUTE |= {"outputFormats": ID["N/A"], "outputDataTypes": ID["N/A"], "outputShapes": ID["N/A"]}
SCHEMA_1_0 = {"blockDim": 32, "mixBlockDim": 4}
SCHEMA_1_2 = {"blockNum": 32, "mixBlockNum": 4, "blockDim": ID["N/A"], "gridDim": ID["N/A"], "opState": ID["N/A"]}
OPERATION = {"opName": ID["hcom_allReduce__210_0_1"], "startNs": START + 50, "endNs": START + 90, "connectionId": 12}
OPERATION |= {"groupName": ID["group"], "opId": 1, "relay": 1, "retry": 0, "dataType": 4, "algType": ID["N/A"]}


def tables(compute: Mapping[str, Any]) -> dict[str, Rows]:
    task = [
        TASK | {"startNs": START, "endNs": START + 53761, "globalTaskId": 3, "connectionId": 9, "taskId": 70000},
        TASK | {"startNs": START + 60000, "endNs": START + 60020, "globalTaskId": 4, "connectionId": 10, "taskId": 8},
    ]
    call = {"globalTid": GLOBAL, "fwdThreadId": 0}
    return {
        "STRING_IDS": [{"id": number, "value": text} for text, number in ID.items()],
        "ENUM_API_TYPE": [{"id": 10000, "name": "node"}, {"id": 5500, "name": "hccl"}],
        "ENUM_HCCL_DATA_TYPE": [{"id": 4, "name": "FP32"}, {"id": 65534, "name": "N/A"}],
        "NPU_INFO": [{"id": 1, "name": "Ascend910B"}],
        "TASK": [
            task[0] | {"taskType": ID["KERNEL_AICORE"]},
            task[1] | {"taskType": ID["EVENT_RECORD"]},
        ],
        "COMPUTE_TASK_INFO": [COMPUTE | compute],
        "TASK_PMU_INFO": [
            {"globalTaskId": 3, "name": ID["aic_total_time"], "value": 50522.34},
            {"globalTaskId": 3, "name": ID["aic_l2_read_bw"], "value": 3 * 2.0**30},
        ],
        "COMMUNICATION_OP": [OPERATION | {"count": 4097000, "opType": ID["hcom_allReduce_"]}],
        "CANN_API": [
            {"startNs": START - 900, "endNs": START - 100, "type": 10000, "globalTid": GLOBAL, "connectionId": 9}
            | {"name": ID["launch"]}
        ],
        "PYTORCH_API": [
            call | {"startNs": str(START - 5000), "endNs": str(START - 3000), "name": ID["aten::conv2d"], "type": 50001}
            | {"sequenceNumber": 9, "inputShapes": ID['"32,3;8"'], "callchainId": 0, "connectionId": None},
            call | {"startNs": str(START - 4000), "endNs": str(START - 3900), "name": ID["Enqueue"], "type": 50002}
            | {"sequenceNumber": None, "inputShapes": None, "callchainId": None, "connectionId": 0},
            call | {"startNs": str(START - 1000), "endNs": str(START - 50), "name": ID["Dequeue@Conv"], "type": 50002}
            | {"sequenceNumber": None, "inputShapes": None, "callchainId": None, "connectionId": 1},
        ],
        "CONNECTION_IDS": [{"id": 0, "connectionId": 9884}, {"id": 1, "connectionId": 9884}],
        "PYTORCH_CALLCHAINS": [
            {"id": 0, "stack": ID["main.py(9): <module>"], "stackDepth": 1},
            {"id": 0, "stack": ID["main.py(3): train"], "stackDepth": 0},
        ],
        "NPU_MEM": [{"type": ID["app"], "ddr": 0, "hbm": 2212077568, "timestampNs": START, "deviceId": 1}],
    }  # fmt: skip


def make(path: Path, content: Mapping[str, Rows]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database:
        for name, rows in content.items():
            titles = list(rows[0])
            database.execute(f'CREATE TABLE "{name}" ({", ".join(titles)})')
            values = [[row[title] for title in titles] for row in rows]
            database.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(titles))})', values)
        database.commit()
    return path


@pytest.mark.parametrize("compute", [SCHEMA_1_0, SCHEMA_1_2], ids=["1.0", "1.2"])
def test_a_database_of_torch(tmp_path: Path, compute: Mapping[str, Any]) -> None:
    folder = tmp_path / "host_1_20250109081616000_ascend_pt"
    make(folder / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_1.db", tables(compute))
    profile = load_profile(folder)
    assert (profile.pid, profile.device_ids, profile.platform.npu_info_name) == (PID, (1,), "Ascend910B")
    (kernel,) = profile.kernels.rows(named=True)
    assert (kernel["name"], kernel["block_num"], kernel["mix_block_num"]) == ("Conv2D1", 32, 4)
    assert (kernel["start_ns"], kernel["duration_ns"], kernel["task_id"]) == (START, 53761, 70000)
    assert (kernel["input_shapes"], kernel["output_shapes"]) == ("32,3;8", "")
    assert (kernel["node_start_ns"], kernel["node_tid"]) == (START - 900, THREAD)
    assert (kernel["aicore_time(us)"], kernel["aic_l2_read_bw(GB/s)"]) == (50.522, 3.0)
    assert profile.tasks["kernel_type"].to_list() == ["AI_CORE", "EVENT_RECORD"]
    (operation,) = profile.communication_ops.rows(named=True)
    assert (operation["group"], operation["dtype"], operation["algorithm"]) == ("group", "FP32", "")
    assert (operation["device_id"], operation["relay"], operation["retry"]) == (1, True, False)
    (operator,) = profile.host_ops.rows(named=True)
    assert (operator["start_ns"], operator["sequence"]) == (START - 5000, 9)
    assert operator["call_stack"] == "main.py(3): train;main.py(9): <module>"
    queue = profile.queue.select("side", "name", "correlation_id", "tid").rows()
    assert queue == [("enqueue", "", 9884, THREAD), ("dequeue", "Conv", 9884, THREAD)]
    assert profile.frame("npu_mem")["hbm_bytes"].to_list() == [2212077568]


def test_samples_of_memory_caches_and_monitors(tmp_path: Path) -> None:
    place = {"deviceId": 2, "timestampNs": START + 7}
    loads = {"readBwLevel": 3, "writeBwLevel": 4, "readOstLevel": 5, "writeOstLevel": 6}
    content = tables(SCHEMA_1_2) | {
        "HBM": [place | {"bandwidth": 3 * 2**20, "hbmId": 1, "type": ID["app"]}],
        "DDR": [place | {"read": 7 * 2**20, "write": 2**19}, place | {"timestampNs": START, "read": 0, "write": 2**20}],
        "LLC": [place | {"llcId": 4, "mode": ID["group"], "hitRate": 12.5, "throughput": 5 * 2**20}],
        "ACC_PMU": [place | {"accId": 9} | loads],
        "SOC_BANDWIDTH_LEVEL": [place | {"l2BufferBwLevel": 8, "mataBwLevel": 1}],
        "QOS": [place | {"eventName": ID["app"], "bandwidth": 77, "dieId": die} for die in (-1, 1)],
    }
    profile = load_profile(make(tmp_path / "msprof_20250109074803.db", content))
    memory = profile.frame("memory_bandwidth").select("device_id", "time_ns", "kind", "unit_id", "event", "mb_s")
    assert memory.rows() == [
        (2, START + 7, "hbm", 1, "app", 3.0),
        (2, START, "ddr", -1, "read", 0.0),
        (2, START, "ddr", -1, "write", 1.0),
        (2, START + 7, "ddr", -1, "read", 7.0),
        (2, START + 7, "ddr", -1, "write", 0.5),
    ]
    assert profile.frame("llc_samples").select("llc_id", "mode", "hit_rate", "mb_s").rows() == [
        (4, "group", 0.125, 5.0)
    ]
    assert profile.frame("acc_pmu_samples").rows() == [(2, START + 7, 9, 3, 4, 5, 6)]
    assert profile.frame("soc_levels").rows() == [(2, START + 7, 8, 1)]
    assert profile.frame("qos_samples").rows() == [(2, START + 7, None, "app", 77), (2, START + 7, 1, "app", 77)]


def test_types_and_shapes_that_stand_in_each_others_columns(tmp_path: Path) -> None:
    content = tables(SCHEMA_1_0)
    calls = [row | {"inputDtypes": ID['"32,3;8"'], "inputShapes": ID["FLOAT"]} for row in content["PYTORCH_API"]]
    path = make(tmp_path / "ascend_pytorch_profiler_0.db", content | {"PYTORCH_API": calls})
    (operator,) = load_profile(path).host_ops.rows(named=True)
    assert (operator["input_dtypes"], operator["input_shapes"]) == ("FLOAT", '"32,3;8"')


def test_a_database_is_not_written_to(tmp_path: Path) -> None:
    path = make(tmp_path / "msprof_20250109074803.db", tables(SCHEMA_1_2))
    before = path.read_bytes()
    path.chmod(0o400)
    assert summarise(load_profile(path)).kernel_count == 1
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_tables_that_are_absent_or_broken_are_left_out(tmp_path: Path) -> None:
    content = tables(SCHEMA_1_2)
    alone = {name: content[name] for name in ("STRING_IDS", "TASK")}
    profile = load_profile(make(tmp_path / "one" / "msprof_20250109074803.db", alone))
    assert (profile.tasks.height, profile.kernels.height, profile.api.height) == (2, 0, 0)
    assert profile.tasks["launch_type"].to_list() == ["KERNEL_AICORE", "EVENT_RECORD"]
    broken = tmp_path / "two" / "msprof_20250109074803.db"
    broken.parent.mkdir()
    broken.write_bytes(b"SQLite format 3\x00" + bytes(4096))
    with pytest.raises(DrynpuError, match=r"no result could be read: msprof_20250109074803\.db"):
        load_profile(broken)
