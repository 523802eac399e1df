"""op_summary and kernel_details: columns and cells by level, chip and writer (cann_msprof.md 4.2)."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from drynpu.deliverables.tasks.op_summary import STARTS, kernel_details, op_summary
from drynpu.platforms import find_platform
from drynpu.tables import COMMUNICATION_OPS, KERNELS, NO_CONTEXT, NO_MODEL
from drynpu.writers.files import write_csv
from drynpu.writers.number_text import Writer
from drynpu.writers.text_table import TextTable

BASE_NS = 1736408883704643212
HEADER = (
    "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),Task Duration(us),"
    "Task Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,"
    "Output Shapes,Output Data Types,Output Formats,Context ID"
)
KERNEL_HEADER = (
    "Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),"
    "Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,"
    "Output Shapes,Output Data Types,Output Formats,Context ID"
)
NONE = pl.DataFrame(schema=COMMUNICATION_OPS)


def kernel(number: int, start_ns: int = BASE_NS, **more: object) -> dict[str, object]:
    ids = {"device_id": 0, "model_id": NO_MODEL, "task_id": number, "stream_id": 2, "batch_id": 0}
    names = {"name": "aclnnAdd_AddAiCore_Add", "op_type": "Add", "op_state": "dynamic", "task_type": "AI_VECTOR_CORE"}
    work = {"start_ns": start_ns, "duration_ns": 53_741, "block_num": 32, "mix_block_num": 0, "hf32": False}
    inputs = {"input_shapes": "4,8;8,8", "input_dtypes": "DT_BF16;FLOAT", "input_formats": "ND;ND"}
    outputs = {"output_shapes": "4,8", "output_dtypes": "FLOAT", "output_formats": "ND"}
    links = {"context_id": NO_CONTEXT, "connection_id": 1, "node_start_ns": 1, "node_tid": 7}
    return ids | names | work | inputs | outputs | links | more


def table(*rows: dict[str, object]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=KERNELS)


def collective(start_ns: int) -> pl.DataFrame:
    row = {"device_id": 0, "name": "hcom_allReduce__586_0_1", "group": "g", "start_ns": start_ns, "duration_ns": 2000}
    more = {"connection_id": 4, "dtype": "FP16", "count": 10, "algorithm": "RING", "rank_size": 2}
    return pl.DataFrame([row | more], schema=COMMUNICATION_OPS)


def summary(
    kernels: pl.DataFrame,
    collectives: pl.DataFrame = NONE,
    *,
    level: str = "level1",
    platform: str = "5",
    writer: Writer = Writer.NATIVE,
) -> TextTable:
    return op_summary(kernels, collectives, level=level, platform=find_platform(platform), writer=writer)


def lines(directory: Path, table: TextTable) -> list[str]:
    path = write_csv(directory / "t.csv", table.drop(STARTS) if STARTS in table.columns else table, line_end="\n")
    return path.read_text(encoding="utf-8").splitlines()


def test_rows_byte_by_byte(tmp_path: Path) -> None:
    kernels = table(
        kernel(2, BASE_NS + 100_000, hf32=True, input_shapes=";;", input_dtypes="INT64;INT64;INT64"),
        kernel(1),
        kernel(3, BASE_NS + 150_000, context_id=4, input_dtypes="", op_state=""),
    )
    assert lines(tmp_path, summary(kernels)) == [
        HEADER,
        (
            "0,4294967295,1,2,aclnnAdd_AddAiCore_Add,Add,dynamic,AI_VECTOR_CORE,1736408883704643.212\t,53.741,0,32,0,NO,"
            '"""4,8;8,8""",DT_BF16;FLOAT,ND;ND,"""4,8""",FLOAT,ND,N/A'
        ),
        (
            "0,4294967295,2,2,aclnnAdd_AddAiCore_Add,Add,dynamic,AI_VECTOR_CORE,1736408883704743.212\t,53.741,46.259000,32,"
            '0,YES,""";;""",INT64;INT64;INT64,ND;ND,"""4,8""",FLOAT,ND,N/A'
        ),
        (
            "0,4294967295,3,2,aclnnAdd_AddAiCore_Add,Add,N/A,AI_VECTOR_CORE,1736408883704793.212\t,53.741,0.000000,32,0,NO,"
            'N/A,N/A,ND;ND,"""4,8""",FLOAT,ND,4'
        ),
    ]


def test_the_python_writer_prints_floats(tmp_path: Path) -> None:
    kernels = table(kernel(1, duration_ns=60_000), kernel(2, BASE_NS + 1_000_000))
    rows = [line.split(",")[9:11] for line in lines(tmp_path, summary(kernels, writer=Writer.PYTHON))[1:]]
    assert rows == [["60.0", "0"], ["53.741", "940.0"]]


def test_counters_follow_on_the_right(tmp_path: Path) -> None:
    kernels = table(kernel(1), kernel(2, BASE_NS + 1_000_000)).with_columns(
        pl.Series("aicore_time(us)", [0.0, 2.7779]),
        pl.Series("aic_total_cycles", [0, 100_000]),
        pl.Series("memory_bound", [float("nan"), 0.5]),
        pl.Series("cube_utilization(%)", [None, 3.8582]),
    )
    found = lines(tmp_path, summary(kernels))
    assert found[0] == f"{HEADER},aicore_time(us),aic_total_cycles,memory_bound,cube_utilization(%)"
    assert [line.split(",")[-4:] for line in found[1:]] == [
        ["0.0", "0", "N/A", "N/A"],
        ["2.778", "100000", "0.5", "3.858"],
    ]


def test_chips_without_stars_have_fewer_columns(tmp_path: Path) -> None:
    header = lines(tmp_path, summary(table(kernel(1)), platform="1", writer=Writer.PYTHON))[0]
    assert header == HEADER.replace("Mix Block Num,", "").replace(",Context ID", "")


def test_level0_knows_name_and_times_only(tmp_path: Path) -> None:
    kernels = table(kernel(1)).with_columns(pl.Series("aicore_time(us)", [1.0]))
    assert lines(tmp_path, summary(kernels, level="level0")) == [
        HEADER,
        (
            "0,4294967295,1,2,aclnnAdd_AddAiCore_Add,N/A,N/A,N/A,1736408883704643.212\t,53.741,0,0,"
            "0,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A"
        ),
    ]


def test_collectives_are_rows_between_the_kernels(tmp_path: Path) -> None:
    kernels = table(kernel(1), kernel(2, BASE_NS + 1_000_000))
    found = lines(tmp_path, summary(kernels, collective(BASE_NS + 500_000)))
    assert found[2] == (
        "0,4294967295,N/A,N/A,hcom_allReduce__586_0_1,hcom_allReduce_,N/A,COMMUNICATION,1736408883705143.212\t,2.000,"
        "446.259000,0,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A"
    )
    assert found[3].split(",")[10] == "498.000000"


def test_only_collectives_stop_early(tmp_path: Path) -> None:
    assert lines(tmp_path, summary(table(), collective(BASE_NS))) == [
        ",".join([*HEADER.split(",")[:11], "Context ID"]),
        (
            "0,4294967295,N/A,N/A,hcom_allReduce__586_0_1,hcom_allReduce_,N/A,COMMUNICATION,1736408883704643.212\t,2.000,0,"
            "N/A"
        ),
    ]


def test_each_device_begins_with_wait_zero() -> None:
    kernels = table(kernel(1, device_id=1), kernel(2, BASE_NS + 10_000_000), kernel(3, BASE_NS + 1, device_id=1))
    assert summary(kernels).frame().select("Device_id", "Task ID", "Task Wait Time(us)").rows() == [
        ("0", "2", "0"),
        ("1", "1", "0"),
        ("1", "3", "0.000000"),
    ]


def test_rows_that_are_not_kernels_are_left_out() -> None:
    kinds = ["WRITE_BACK", "INVALID", "HCCL_AI_CPU", "COMMUNICATION", "AI_CPU"]
    kernels = table(
        *(kernel(number, task_type=kind) for number, kind in enumerate(kinds)),
        kernel(9, task_type="COMMUNICATION", name="allReduceAivKernel"),
    )
    assert summary(kernels).frame()["Task ID"].to_list() == ["4", "9"]


@pytest.mark.parametrize("steps", [None, pl.Series(["5", None], dtype=pl.String)])
def test_kernel_details_at_level1(tmp_path: Path, steps: pl.Series | None) -> None:
    frame = summary(table(kernel(1), kernel(2, BASE_NS + 1_000_000)))
    step_of = None if steps is None else (lambda starts: steps.head(starts.len()))
    path = write_csv(tmp_path / "k.csv", kernel_details(frame, step_of, level="level1"), line_end="\r\n")
    found = path.read_bytes().decode().split("\r\n")
    if steps is None:
        assert found[0] == KERNEL_HEADER
    else:
        assert found[0] == f"Step Id,{KERNEL_HEADER}"
        assert [line.split(",")[:2] for line in found[1:3]] == [["5", "0"], ["", "0"]]


def test_kernel_details_at_level0(tmp_path: Path) -> None:
    frame = kernel_details(summary(table(kernel(1)), level="level0"), None, level="level0")
    assert lines(tmp_path, frame) == [
        (
            "Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Num,Mix Block Num,"
            "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats"
        ),
        "0,aclnnAdd_AddAiCore_Add,N/A,N/A,1736408883704643.212\t,53.741,0,0,0,N/A,N/A,N/A,N/A,N/A,N/A",
    ]
