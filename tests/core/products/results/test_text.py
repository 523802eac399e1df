"""csv files in the words of three toolkits: units, tabs, what a row leaves out, what is damaged."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from drynpu import DrynpuError
from drynpu.analysis import summarise
from drynpu.products import load_profile
from drynpu.products.results._spellings import us_to_ns

OUTPUT = "ASCEND_PROFILER_OUTPUT"
CANN_7 = """\
Step Id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),\
Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,\
Output Formats,Context ID,aicore_time(us),aic_total_cycles,aiv_time(us)
12,4294967295,7,2,Conv2D1,Conv2D,dynamic,AI_CORE,1736408883704643.212\t,53.741,0,32,0,YES,\"\"\"32,3;8\"\"\",FLOAT;FLOAT,\
NCHW;ND,\"\"\"32,1\"\"\",FLOAT,NCHW,N/A,50.5,2910056,0.0
12,4294967295,8,2,Fill,Fill,dynamic,AI_CPU,1736408883705000.000\t,6.5,303.047,8,0,NO,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A
13,N/A,N/A,N/A,hcom_allReduce__586_0_1,hcom_allReduce_,N/A,HCCL,1736408883706000.250\t,2281.105,993.75,0,N/A,N/A,N/A,N/A,\
N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A
"""
CANN_9 = """\
Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),Task Duration(us),\
Task Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,\
Output Data Types,Output Formats,Context ID,aicore_time(us)
3,4294967295,0,1756,main_kernel,main_kernel,dynamic,MIX_AIC,1780676244313289.000\t,87139.380,0,256,512,NO,N/A,N/A,N/A,N/A,\
N/A,N/A,0,12.716
"""
LEVEL_0 = """\
Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim
50,trans_TransData_0,N/A,N/A,1736405443881410.320\t,50.621,0,0
50,Conv2D1,N/A,N/A,1736405443881566.663\t,6.28,105.722,0
"""


def write(folder: Path, **files: str) -> Path:
    (folder / OUTPUT).mkdir(parents=True)
    for name, text in files.items():
        (folder / OUTPUT / f"{name}.csv").write_text(text)
    return folder


def test_microseconds_of_any_form_are_whole_nanoseconds() -> None:
    texts = ["1736408883704643.212", "53.7410625", "0", "2e-05", "-0.5", "1.", "7.0005", "N/A", "", "9" * 30]
    found = pl.DataFrame({"text": texts}).select(us_to_ns(pl.col("text"))).to_series().to_list()
    assert found == [1736408883704643212, 53741, 0, 0, -500, 1000, 7000, None, None, None]


def test_kernel_details_of_cann_7(tmp_path: Path) -> None:
    profile = load_profile(write(tmp_path / "host_1_20250109074803000_ascend_pt", kernel_details=CANN_7))
    first, second = profile.kernels.rows(named=True)
    assert (first["start_ns"], first["duration_ns"]) == (1736408883704643212, 53741)
    assert (first["task_id"], first["stream_id"], first["block_num"], first["hf32"]) == (7, 2, 32, True)
    assert (first["input_shapes"], first["input_formats"], first["context_id"]) == ("32,3;8", "NCHW;ND", 4294967295)
    assert (first["aicore_time(us)"], first["aic_total_cycles"]) == (50.5, 2910056)
    assert (second["input_shapes"], second["aicore_time(us)"], second["aic_total_cycles"]) == ("", None, None)
    (collective,) = profile.communication_ops.rows(named=True)
    assert (collective["name"], collective["op_type"]) == ("hcom_allReduce__586_0_1", "hcom_allReduce_")
    assert (collective["start_ns"], collective["duration_ns"]) == (1736408883706000250, 2281105)
    assert profile.platform.split  # because its counters are
    summary = summarise(profile)
    assert summary.steps["step"].to_list() == ["12", "13"]
    assert summary.steps["communication_us"].to_list() == [0.0, 2281.105]
    assert summary.missing == (
        *("operators of the framework", "calls of the toolkit", "tasks of collectives"),
        *("memory of operators", "memory over time"),
    )


def test_op_summary_of_cann_9(tmp_path: Path) -> None:
    """Of several exports the last one counts, its slices in order."""
    folder = tmp_path / "PROF_000001_20260605161727000_ABC" / "mindstudio_profiler_output"
    folder.mkdir(parents=True)
    (folder / "op_summary_20260605161736.csv").write_text("Op Name\nold\n")
    for part, name in ((10, "third"), (2, "second"), (0, "first")):
        text = CANN_9.replace("main_kernel,main", f"{name},main")
        (folder / f"op_summary_slice_{part}_20260605161737.csv").write_text("\ufeff" + text)
    profile = load_profile(folder.parent)
    assert profile.kernels["name"].to_list() == ["first", "second", "third"]
    row = profile.kernels.row(0, named=True)
    assert (row["device_id"], row["context_id"], row["block_num"], row["mix_block_num"]) == (3, 0, 256, 512)
    assert (row["start_ns"], row["duration_ns"], row["aicore_time(us)"]) == (1780676244313289000, 87139380, 12.716)
    assert profile.device_ids == (3,)


def test_level_0_knows_no_types(tmp_path: Path) -> None:
    folder = write(tmp_path / "a_ascend_pt", kernel_details=LEVEL_0)
    profile = load_profile(folder / OUTPUT / "kernel_details.csv")
    assert (profile.level, profile.kernels["op_type"].to_list()) == ("level0", ["", ""])
    assert profile.kernels["task_id"].to_list() == [-1, -1]
    assert [kernel.op_type for kernel in summarise(profile).kernels] == ["trans_TransData", "Conv2D"], "by name"
    assert "shapes of kernels" in (summarise(profile).missing or ())


def test_memory_in_kb_and_mb_and_the_device_that_only_it_names(tmp_path: Path) -> None:
    operator = (
        "Name,Size(KB),Allocation Time(us),Release Time(us),Duration(us),Allocation Total Allocated(MB),Device Type\n"
    )
    record = "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Device Type\n"
    folder = write(
        tmp_path / "a_ascend_pt",
        kernel_details=CANN_7,
        operator_memory=operator
        + "aten::empty,0.5,10.250\t,12.000\t,1.75,2.0,NPU:5\ncann::Add,64.0,11.000\t,,,,NPU:5\n",
        memory_record=record
        + "APP,9.000\t,,2109.6015625,NPU:5\nPTA,10.250\t,3.5,8.0,NPU:5\nPTA+GE,10.250\t,9.5,9.0,NPU:5\n",
    )
    profile = load_profile(folder)
    rows = (profile.results or {})["operator_memory"].rows(named=True)
    assert [(row["size_bytes"], row["component"]) for row in rows] == [(512, "PTA"), (65536, "GE")]
    assert (rows[0]["allocation_ns"], rows[0]["duration_ns"], rows[1]["release_ns"]) == (10250, 1750, None)
    assert rows[0]["allocation_total_allocated_bytes"] == 2 * 1024**2
    assert profile.device_ids == (5,)
    summary = summarise(profile)
    assert (summary.peak_allocated_bytes, summary.peak_reserved_bytes) == (int(3.5 * 1024**2), 8 * 1024**2)


def test_a_table_under_another_name_is_recognised_by_its_titles(tmp_path: Path) -> None:
    (tmp_path / "rank3.csv").write_text(CANN_9)
    assert load_profile(tmp_path / "rank3.csv").kernels.height == 1
    (tmp_path / "prices.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DrynpuError, match="is no result file"):
        load_profile(tmp_path / "prices.csv")


def test_a_file_that_no_table_is_for_is_kept_as_it_is(tmp_path: Path) -> None:
    folder = write(tmp_path / "a_ascend_pt", kernel_details=CANN_7, l2_cache="Stream Id,Hit Rate\n2,N/A\n")
    profile = load_profile(folder)
    assert (profile.results or {})["l2_cache.csv"].rows() == [("2", "N/A")]
    assert profile.notes == ("no view shows l2_cache.csv; Profile.results has them as they are",)


@pytest.mark.parametrize(
    ("damaged", "note"),
    [
        ("", "kernel_details.csv could not be read and was left out"),
        ("Name,Type\nConv2D1,Conv2D\n", r"kernel_details.csv has no column Start Time\(us\), Duration\(us\)"),
    ],
)
def test_a_damaged_file_is_named_and_the_rest_is_shown(tmp_path: Path, damaged: str, note: str) -> None:
    steps = "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,Preparing\n"
    folder = write(
        tmp_path / "a_ascend_pt", kernel_details=damaged, step_trace_time=steps + "7,1.5,2.25,0,2.25,3,6,0,1\n"
    )
    profile = load_profile(folder)
    assert summarise(profile).steps.select("step", "computing_us", "free_us").row(0) == ("7", 1.5, 3.0)
    (found,) = profile.notes
    assert re.match(note, found)
    (folder / OUTPUT / "step_trace_time.csv").unlink()
    with pytest.raises(DrynpuError, match="no result could be read"):
        load_profile(folder)
