"""The toolkit's timeline, byte by byte on a small profile (cann_msprof.md 4.5)."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from drynpu.deliverables.overlap.facts import OVERLAP_LAYER
from drynpu.deliverables.tasks.timeline import Timeline, timeline_blocks
from drynpu.tables import API, COMMUNICATION_OPS, NO_CONTEXT, NO_MODEL, TASKS
from drynpu.writers.layers import CANN, kept_at_level0, layer_pid
from drynpu.writers.number_text import Writer
from drynpu.writers.trace_json import COMPACT, SPACED, write_trace

PID, DEVICE, US = 4321, 1, 1000
HARDWARE_PID = (PID << 10) | (14 << 5) | DEVICE
CANN_PID = (PID << 10) | (7 << 5) | 31
NOWHERE = {"copy_bytes": None, "copy_kind": None}
TASK = {"device_id": DEVICE, "batch_id": 0, "context_id": NO_CONTEXT, "model_id": NO_MODEL, **NOWHERE}


def api(level: str, name: str, number: int, item: str = "", start_us: int = 1000) -> dict[str, object]:
    start = start_us * US
    return {
        "connection_id": number,
        "level": level,
        "name": name,
        "item": item,
        "pid": PID,
        "tid": 7,
        "start_ns": start,
        "end_ns": start + 20 * US,
    }


def task(number: int, name: str, kind: str, connection: int, start_us: int, **more: object) -> dict[str, object]:
    ids = {"stream_id": 2, "task_id": number, "start_ns": start_us * US, "duration_ns": 5020}
    return {**TASK, **ids, "kernel_name": name, "kernel_type": kind, "connection_id": connection, **more}


def timeline(writer: Writer = Writer.NATIVE, **frames: pl.DataFrame) -> Timeline:
    empty = {
        "api": pl.DataFrame(schema=API),
        "tasks": pl.DataFrame(schema=TASKS),
        "communication_ops": pl.DataFrame(schema=COMMUNICATION_OPS),
    }
    return Timeline(pid=PID, writer=writer, **(empty | frames))


def text(directory: Path, data: Timeline, *, pruned: bool = False) -> str:
    blocks = timeline_blocks(data, COMPACT, pruned=pruned)
    assert write_trace(directory / "t.json", blocks, COMPACT)
    return (directory / "t.json").read_text(encoding="utf-8")


def calls() -> pl.DataFrame:
    rows = [
        api("node", "launch", 1, "aclnnAdd_Add"),
        api("runtime", "KernelLaunchWithHandleV2", 2, start_us=1001),
        api("acl", "aclrtMemcpyAsync", 3, start_us=1100),
        api("communication", "hcom_allReduce_", 4, "hcom_allReduce_", start_us=1200),
        api("node", "launch", 5, "never_ran", start_us=1300),
    ]
    return pl.DataFrame(rows, schema=API)


def tasks() -> pl.DataFrame:
    rows = [
        task(1, "aclnnAdd_Add", "AI_VECTOR_CORE", 1, 1030),
        task(2, "", "MEMCPY_ASYNC", 3, 1130, copy_bytes=4096, copy_kind=1),
        task(3, "", "EVENT_RECORD", -1, 1140),
        task(4, 'lost "host"', "AI_CORE", 99, 1150),
    ]
    return pl.DataFrame(rows, schema=TASKS)


def collectives() -> pl.DataFrame:
    row = {"device_id": DEVICE, "name": "hcom_allReduce__586_0_1", "group": "g1", "start_ns": 1300 * US}
    more = {"duration_ns": 8 * US, "connection_id": 4, "dtype": "FP16", "count": 10, "algorithm": "", "rank_size": None}
    return pl.DataFrame([row | more], schema=COMMUNICATION_OPS)


@pytest.mark.parametrize(("writer", "kind"), [(Writer.NATIVE, "SDMA_SQE"), (Writer.PYTHON, "MEMCPY_ASYNC")])
def test_the_native_path_says_what_copied(writer: Writer, kind: str, tmp_path: Path) -> None:
    """In a genuine timeline 24 copies have the types PCIE_DMA_SQE and SDMA_SQE; the database has MEMCPY_ASYNC."""
    copy = task(2, "", "MEMCPY_ASYNC", 3, 1130, copy_bytes=4096, copy_kind=3, copy_engine="SDMA_SQE")
    shown = text(tmp_path, timeline(tasks=pl.DataFrame([copy], schema=TASKS), writer=writer))
    assert f'{{"name":"MEMCPY_ASYNC","pid":{HARDWARE_PID}' in shown
    assert f'"Task Type":"{kind}"' in shown


def test_process_numbers() -> None:
    assert layer_pid(4321, CANN) == 4321 * 1024 + 7 * 32 + 31
    assert layer_pid(4321, OVERLAP_LAYER, 3) == 4321 * 1024 + 31 * 32 + 3


def test_cann_layer_byte_by_byte(tmp_path: Path) -> None:
    data = timeline(api=calls().head(1), tasks=tasks().head(1))
    assert text(tmp_path, data) == (
        f'[{{"name":"process_name","pid":{CANN_PID},"tid":0,"ph":"M","args":{{"name":"CANN"}}}},'
        f'{{"name":"process_labels","pid":{CANN_PID},"tid":0,"ph":"M","args":{{"labels":"CPU"}}}},'
        f'{{"name":"process_sort_index","pid":{CANN_PID},"tid":0,"ph":"M","args":{{"sort_index":7}}}},'
        f'{{"name":"thread_name","pid":{CANN_PID},"tid":7,"ph":"M","args":{{"name":"Thread 7"}}}},'
        f'{{"name":"thread_sort_index","pid":{CANN_PID},"tid":7,"ph":"M","args":{{"sort_index":7}}}},'
        f'{{"name":"Node@launch","pid":{CANN_PID},"tid":7,"ts":"1000.000","dur":20.0,"ph":"X","args":{{"Thread Id":7,'
        '"Mode":"launch","level":"node","id":"0","item_id":"aclnnAdd_Add","connection_id":1}},'
        f'{{"name":"HostToDevice4294967296","pid":{CANN_PID},"tid":7,"ph":"s","cat":"HostToDevice",'
        '"id":"4294967296","ts":"1000.000"},'
        f'{{"name":"aclnnAdd_Add","pid":{HARDWARE_PID},"tid":2,"ts":"1030.000","dur":5.02,"ph":"X","args":'
        '{"Model Id":4294967295,"Task Type":"AI_VECTOR_CORE","Physic Stream Id":2,"Task Id":1,"Batch Id":0,'
        '"Subtask Id":4294967295,"connection_id":1}},'
        f'{{"name":"HostToDevice4294967296","pid":{HARDWARE_PID},"tid":2,"ph":"f","cat":"HostToDevice",'
        '"id":"4294967296","ts":"1030.000","bp":"e"},'
        f'{{"name":"process_name","pid":{HARDWARE_PID},"tid":0,"ph":"M","args":{{"name":"Ascend Hardware"}}}},'
        f'{{"name":"process_labels","pid":{HARDWARE_PID},"tid":0,"ph":"M","args":{{"labels":"NPU 1"}}}},'
        f'{{"name":"process_sort_index","pid":{HARDWARE_PID},"tid":0,"ph":"M","args":{{"sort_index":14}}}},'
        f'{{"name":"thread_name","pid":{HARDWARE_PID},"tid":2,"ph":"M","args":{{"name":"Stream 2"}}}},'
        f'{{"name":"thread_sort_index","pid":{HARDWARE_PID},"tid":2,"ph":"M","args":{{"sort_index":2}}}}]'
    )


def test_names_modes_and_ids_of_calls(tmp_path: Path) -> None:
    events = [event for event in json.loads(text(tmp_path, timeline(api=calls()))) if event["ph"] == "X"]
    assert [(event["name"], *(event["args"][key] for key in ("Mode", "id", "item_id"))) for event in events] == [
        ("Node@launch", "launch", "0", "aclnnAdd_Add"),
        ("Runtime@KernelLaunchWithHandleV2", "KernelLaunchWithHandleV2", "0", "0"),
        ("AscendCL@aclrtMemcpyAsync", "ACL_RTS", "aclrtMemcpyAsync", "0"),
        ("Communication@hcom_allReduce_", "hcom_allReduce_", "0", "hcom_allReduce_"),
        ("Node@launch", "launch", "0", "never_ran"),
    ]


def test_every_arrow_has_both_ends(tmp_path: Path) -> None:
    data = timeline(api=calls(), tasks=tasks(), communication_ops=collectives())
    flows = [event for event in json.loads(text(tmp_path, data)) if event.get("cat") == "HostToDevice"]
    starts = {event["id"]: float(event["ts"]) for event in flows if event["ph"] == "s"}
    ends = {event["id"]: float(event["ts"]) for event in flows if event["ph"] == "f"}
    assert set(starts) == set(ends) == {str(number << 32) for number in (1, 3, 4)}
    assert all(starts[identity] <= ends[identity] for identity in starts)
    assert all(event["name"] == f"HostToDevice{event['id']}" for event in flows)


def test_copies_tell_size_bandwidth_and_direction(tmp_path: Path) -> None:
    events = json.loads(text(tmp_path, timeline(tasks=tasks())))
    copy = next(event for event in events if event["name"] == "MEMCPY_ASYNC")
    assert list(copy["args"])[-3:] == ["size(B)", "bandwidth(GB/s)", "operation"]
    assert copy["args"]["size(B)"] == 4096
    assert copy["args"]["bandwidth(GB/s)"] == pytest.approx(4096 / 5020)
    assert copy["args"]["operation"] == "host to device"
    assert [event["name"] for event in events if event["ph"] == "X"][2:] == ["EVENT_RECORD", 'lost "host"']


def test_a_copy_that_took_no_time_has_no_bandwidth(tmp_path: Path) -> None:
    instant = tasks().filter(pl.col("task_id") == 2).with_columns(pl.lit(0, pl.Int64).alias("duration_ns"))
    event = json.loads(text(tmp_path, timeline(tasks=instant)))[0]
    assert event["args"]["bandwidth(GB/s)"] == "N/A"


def test_collectives(tmp_path: Path) -> None:
    data = timeline(communication_ops=pl.concat([collectives(), collectives().with_columns(group=pl.lit(""))]))
    events = json.loads(text(tmp_path, data))
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert names == {0: "Group g1 Communication", 1: "Communication"}
    assert [event["tid"] for event in events if event["ph"] == "X"] == [0, 1]
    first = next(event for event in events if event["ph"] == "X")
    assert first["pid"] == (PID << 10) | (16 << 5) | DEVICE
    assert first["args"] == {
        "rank_size": 0,
        "connection_id": 4,
        "model id": 4294967295,
        "data_type": "FP16",
        "alg_type": "N/A",
        "count": 10,
        "relay": "N/A",
        "retry": "N/A",
    }


def test_level0_loses_the_calls_but_not_their_arrows(tmp_path: Path) -> None:
    generic = tasks().with_columns(pl.col("kernel_name").replace('lost "host"', "GEMM"))
    events = json.loads(text(tmp_path, timeline(api=calls(), tasks=generic), pruned=True))
    shown = [event["name"] for event in events if event["ph"] == "X"]
    assert shown == ["aclnnAdd_Add", "MEMCPY_ASYNC", "EVENT_RECORD"]
    cann = [event["name"] for event in events if event["pid"] == CANN_PID]
    assert cann[:4] == ["process_labels", "process_sort_index", "thread_name", "thread_sort_index"]
    assert set(cann[4:]) == {"HostToDevice4294967296", "HostToDevice12884901888"}


def test_prefixes_that_level0_drops() -> None:
    names = ["GE@x", "Gelu", "Node@launch", "Communication@a", "Communication", "ModelAdd", "Hcclx", "hccl"]
    kept = pl.DataFrame({"name": names}).filter(kept_at_level0(pl.col("name")))["name"].to_list()
    assert kept == ["Gelu", "Communication", "hccl"]


def test_spaced_style_is_that_of_the_standard_encoder(tmp_path: Path) -> None:
    data = timeline(api=calls(), tasks=tasks(), communication_ops=collectives())
    write_trace(tmp_path / "t.json", timeline_blocks(data, SPACED), SPACED)
    found = (tmp_path / "t.json").read_text(encoding="utf-8")
    assert found == json.dumps(json.loads(found), ensure_ascii=False)


def test_nothing_recorded_nothing_written(tmp_path: Path) -> None:
    assert not write_trace(tmp_path / "t.json", timeline_blocks(timeline(), COMPACT), COMPACT)
