"""The smaller csv files: statistics, task times, memory, operators, steps."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import polars as pl

from drynpu.analysis import (
    API_STATISTIC,
    MEMORY_RECORD,
    OP_STATISTIC,
    OPERATOR_DETAILS,
    OPERATOR_MEMORY,
    STEP_TRACE,
)
from drynpu.deliverables.tasks.statistics import (
    api_statistic_table,
    op_statistic_table,
    task_time_table,
)
from drynpu.platforms import find_platform
from drynpu.products.toolkit._msprof import README, readme_text
from drynpu.products.torch._tables import (
    memory_record_table,
    operator_details_table,
    operator_memory_table,
    step_trace_table,
)
from drynpu.tables import NO_CONTEXT, NO_MODEL, TASKS, Profile
from drynpu.writers.files import write_csv
from drynpu.writers.number_text import Writer

NS = 1736408883704643212


def text(directory: Path, table: pl.DataFrame, line_end: str = "\n") -> str:
    return write_csv(directory / "t.csv", table, line_end=line_end).read_bytes().decode()


def op_statistic() -> pl.DataFrame:
    rows = [
        (0, "Add", "AI_VECTOR_CORE", 56, 2839.08, 38.4, 50.69785714285714, 62.12, 1.2271),
        (0, "main_kernel", "MIX_AIC", 3, 260794.52, 86808.42, 86931.50666666667, 87139.38, 98.7729),
    ]
    return pl.DataFrame(rows, schema=OP_STATISTIC, orient="row")


def test_op_statistic_of_the_native_writer_rounds_averages_down(tmp_path: Path) -> None:
    assert text(tmp_path, op_statistic_table(op_statistic(), Writer.NATIVE)) == (
        "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\n"
        "0,main_kernel,MIX_AIC,3,260794.52,86808.42,86931.506,87139.38,98.773\n"
        "0,Add,AI_VECTOR_CORE,56,2839.08,38.4,50.697,62.12,1.227\n"
    )


def test_op_statistic_of_the_python_writer(tmp_path: Path) -> None:
    whole = op_statistic().with_columns(pl.lit(60.0).alias("total_us")).head(1)
    line = text(tmp_path, op_statistic_table(whole, Writer.PYTHON)).splitlines()[1]
    assert line == "0,Add,AI_VECTOR_CORE,56,60.0,38.4,50.698,62.12,1.227"


def of_platform(platform: int, device: int) -> Profile:
    """Return a profile of which its device and platform are known."""
    return cast("Profile", SimpleNamespace(device_ids=(device,), platform=find_platform(str(platform))))


def test_calls_of_models_are_no_calls_where_they_are_pairs_of_events(tmp_path: Path) -> None:
    rows = [("model", "ModelExecute", 9.0, 1, 9.0, 9.0, 9.0, 0.0), ("node", "launch", 1.0, 1, 1.0, 1.0, 1.0, 0.0)]
    frame = pl.DataFrame(rows, schema=API_STATISTIC, orient="row")
    for platform, levels in ((0, ["node"]), (2, ["node"]), (1, ["model", "node"])):
        table = api_statistic_table(frame, Writer.PYTHON, of_platform(platform, 0))
        assert table["Level"].sort().to_list() == levels


def test_api_statistic(tmp_path: Path) -> None:
    rows = [
        ("runtime", "CtxGet", 6.47, 19, 0.34052631578947367, 0.25, 0.52, 0.0042),
        ("runtime", "launch", 1.0, 1, 1.0, 1.0, 1.0, 0.0),
        ("node", "launch", 150.0, 2, 75.0, 50.0, 100.0, 625.0),
    ]
    frame = pl.DataFrame(rows, schema=API_STATISTIC, orient="row")
    assert text(tmp_path, api_statistic_table(frame, Writer.NATIVE, of_platform(5, 0))) == (
        "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance\n"
        "host,runtime,CtxGet,6.47,19,0.341,0.25,0.52,0.004\n"
        "host,node,launch,150,2,75,50,100,625\n"
        "host,runtime,launch,1,1,1,1,1,0\n"
    )
    assert text(tmp_path, api_statistic_table(frame, Writer.PYTHON, of_platform(1, 3))).splitlines()[2] == (
        "3,node,launch,150.0,2,75.0,50.0,100.0,625.0"
    )


def test_task_time(tmp_path: Path) -> None:
    common = {"device_id": 0, "batch_id": 0, "context_id": NO_CONTEXT, "model_id": NO_MODEL}
    common |= {"connection_id": -1, "copy_bytes": None, "copy_kind": None, "stream_id": 1756, "task_id": 1}
    rows = [
        {**common, "start_ns": NS + 500, "duration_ns": 0, "kernel_name": "", "kernel_type": "EVENT_RECORD"},
        {**common, "start_ns": NS, "duration_ns": 20, "kernel_name": "k,1", "kernel_type": "AI_CORE"},
    ]
    assert text(tmp_path, task_time_table(pl.DataFrame(rows, schema=TASKS), Writer.NATIVE)) == (
        "Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)\n"
        '0,"k,1",AI_CORE,1756,1,0.020,1736408883704643.212\t,1736408883704643.232\t\n'
        "0,N/A,EVENT_RECORD,1756,1,0.000,1736408883704643.712\t,1736408883704643.712\t\n"
    )


def test_operator_details(tmp_path: Path) -> None:
    rows = [
        (0, "aten::mm", "4,8;8,8;", "a.py(1): f;b.py(2): g", 55.5, 70.0, 4.32, 8.64, 0.0, 4.32),
        (1, 'say "x", y', "", "", -1.5, 5.02, 0.0, 0.0, 0.0, 0.0),
    ]
    frame = pl.DataFrame(rows, schema=OPERATOR_DETAILS, orient="row")
    assert text(tmp_path, operator_details_table(frame), "\r\n") == (
        "Name,Input Shapes,Call Stack,Host Self Duration(us),Host Total Duration(us),Device Self Duration(us),"
        "Device Total Duration(us),Device Self Duration With AICore(us),Device Total Duration With AICore(us)\r\n"
        'aten::mm,"4,8;\r\n8,8;\r\n","a.py(1): f;\r\nb.py(2): g",55.5,70.0,4.32,8.64,0,4.32\r\n'
        '"say ""x"", y",,,-1.5,5.02,0,0,0,0\r\n'
    )


def test_step_trace(tmp_path: Path) -> None:
    rows = [
        (0, "5", 12.06, 0.0, 0.0, 0.0, 1461.38, 1473.44, 0.0, 0.0, 182.5),
        (0, "6", 5.0200000000000005, 0.0, 4.0, 4.0, 0.0, 9.0, 0.0, 0.0, 0.0),
        (1, "", 0.0, 3.0, 0.0, 3.0, 1.0, 4.0, 0.0, 3.0, 1.0),
    ]
    frame = pl.DataFrame(rows, schema=STEP_TRACE, orient="row")
    assert text(tmp_path, step_trace_table(frame), "\r\n") == (
        "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
        "Communication(Not Overlapped and Exclude Receive),Preparing\r\n"
        "0,5,12.06,0,0,0,1461.38,1473.44,0,0,182.5\r\n"
        "0,6,5.02,0,4.0,4.0,0,9.0,0,0,0\r\n"
        "1,,0,3.0,0.0,3.0,1.0,4.0,0,3.0,1.0\r\n"
    )


def test_operator_memory(tmp_path: Path) -> None:
    mib = 1024**2
    rows = [
        (
            "aten::empty_strided",
            512,
            NS,
            None,
            None,
            None,
            None,
            5 * mib,
            6 * mib,
            mib // 2,
            None,
            None,
            None,
            9,
            0,
            "PTA",
        ),
        ("cann::Add", 1, NS, NS + 1500, None, 1500, None, 1, 0, None, 0, 0, None, None, 1, "GE"),
    ]
    frame = pl.DataFrame(rows, schema=OPERATOR_MEMORY, orient="row")
    assert text(tmp_path, operator_memory_table(frame), "\r\n") == (
        "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),Active Duration(us),"
        "Allocation Total Allocated(MB),Allocation Total Reserved(MB),Allocation Total Active(MB),"
        "Release Total Allocated(MB),Release Total Reserved(MB),Release Total Active(MB),Stream Ptr,Device Type\r\n"
        "aten::empty_strided,0.5,1736408883704643.212\t,,,,,5.0,6.0,0.5,,,,9,NPU:0\r\n"
        "cann::Add,0.0009765625,1736408883704643.212\t,1736408883704644.712\t,,1.500\t,,"
        "9.5367431640625e-07,0.0,,0.0,0.0,,,NPU:1\r\n"
    )


def test_memory_record(tmp_path: Path) -> None:
    rows = [("APP", NS, None, 2_212_076_544, None, None, 0), ("PTA", NS, 1024**2, 2 * 1024**2, 0, 897357296, 0)]
    frame = pl.DataFrame(rows, schema=MEMORY_RECORD, orient="row")
    assert text(tmp_path, memory_record_table(frame), "\r\n") == (
        "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type\r\n"
        "APP,1736408883704643.212\t,,2109.6005859375,,,NPU:0\r\n"
        "PTA,1736408883704643.212\t,1.0,2.0,0.0,897357296,NPU:0\r\n"
    )


def test_readme_numbers_the_files_and_admits_what_it_does_not_know() -> None:
    assert readme_text(["op_summary", "msprof", "op_summary", "novel"], README).splitlines() == [
        "Timeline file description:",
        "1.msprof.json:All layers on one time axis: host calls, device tasks, communication, memory, overlap analysis.",
        "",
        "Summary file description:",
        "1.novel.csv:Here is no description about this file: novel, please check in 'Profiling Instructions'!",
        "2.op_summary.csv:One row per kernel and collective: task, time, shapes, counters.",
    ]
