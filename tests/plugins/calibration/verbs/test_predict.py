"""``drynpu predict``."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from drynpu.kernels import TaskType, TensorDesc, cost
from drynpu.platforms import load_chip
from drynpu_calibration import described_kernel

HEAD = (
    "id,chip,op_type,task_type,input_shapes,input_dtypes,input_formats,output_shapes,output_dtypes,output_formats,hf32"
)
MATMUL = 'm,Ascend910B4,MatMulV3,AI_CORE,"4096,2048;1024,2048",DT_BF16;DT_BF16,ND;ND,"4096,1024",DT_BF16,ND,NO'
SCALAR = "s,Ascend910B2,Add,AI_VECTOR_CORE,;,FLOAT;FLOAT,ND;ND,,FLOAT,ND,NO"
ODD = 'o,Ascend910_9392,SomebodysKernel,,"7,0,3;5",FLOAT8_E4M3;DT_UNDEFINED,FRACTAL_NZ,,,,'


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., Path]:
    def write(*rows: str, head: str = HEAD) -> Path:
        path = tmp_path / "kernels.csv"
        path.write_text("\n".join((head, *rows)) + "\n")
        return path

    return write


def test_rows_come_back_in_order_with_the_time_of_the_model(drynpu: Callable[..., Any], table) -> None:
    ended = drynpu("predict", str(table(MATMUL, SCALAR, ODD, MATMUL.replace("m,", "again,", 1))))
    assert ended.code == 0
    assert ended.err.count("\n") == 1  # the type of which nothing is known
    found = pl.read_csv(io.StringIO(ended.out), null_values="N/A")
    assert found.columns == ["id", "predicted_us", "low_us", "high_us", "bound", "family", "support"]
    assert found["id"].to_list() == ["m", "s", "o", "again"]
    operands = TensorDesc((4096, 2048), "DT_BF16"), TensorDesc((1024, 2048), "DT_BF16")
    spec = described_kernel("MatMulV3", TaskType.AI_CORE, operands, [TensorDesc((4096, 1024), "DT_BF16")])
    assert spec.cube_flops == 2 * 4096 * 2048 * 1024
    us = cost(spec, load_chip("Ascend910B4")).duration_ns / 1000
    assert found["predicted_us"].to_list()[::3] == [pytest.approx(us, abs=0.001)] * 2
    assert (found["low_us"] < found["predicted_us"]).all()
    assert (found["high_us"] > found["predicted_us"]).all()
    assert found["family"].to_list() == ["matmul", "elementwise", None, "matmul"]
    assert found["support"].to_list() == ["seen", "seen", None, "seen"]
    assert found["bound"][1] == "launch"


@pytest.mark.parametrize(
    ("op_type", "nearest"),
    [("SomebodysKernel", ""), ("NoSuchOp", ""), ("Mulx", "Mul'"), ("LogicalAndd", "LogicalAnd'")],
)
def test_a_type_of_which_nothing_is_known_has_no_time(
    drynpu: Callable[..., Any], table, op_type: str, nearest: str
) -> None:
    rows = [ODD.replace("SomebodysKernel", op_type), SCALAR, ODD.replace("SomebodysKernel", op_type)]
    ended = drynpu("predict", str(table(*rows)))
    assert ended.out.splitlines()[1] == "o" + ",N/A" * 6
    assert "N/A" not in ended.out.splitlines()[2]
    assert ended.err.count(f"'{op_type}' has no time: no rule, family or measured kernel has this type.") == 1
    assert f"The nearest known type is '{nearest}" in ended.err
    assert [row["predicted_us"] for row in json.loads(drynpu("predict", str(table(*rows)), "--json").out)][::2] == [
        None
    ] * 2
    assert "N/A" in drynpu("predict", str(table(*rows)), "--explain").out


@pytest.mark.parametrize(
    "op_type",
    ["LogicalAnd", "GreaterEqual", "Rsqrt", "MulD", "AddV2", "FusionOp_Mul_Neg", "ForeachAddList", "FlashAttentionNew"],
)
def test_types_of_rules_families_and_variants_have_one(drynpu: Callable[..., Any], table, op_type: str) -> None:
    ended = drynpu("predict", str(table(SCALAR.replace("Add", op_type))))
    assert (ended.code, ended.err) == (0, "")
    assert "N/A" not in ended.out


def test_the_chip_of_the_command_line_wins(drynpu: Callable[..., Any], table) -> None:
    path = table(MATMUL)
    slow, fast = (
        pl.read_csv(io.StringIO(drynpu("predict", str(path), "--chip", chip).out))["predicted_us"][0]
        for chip in ("Ascend310P3", "Ascend910B1")
    )
    assert slow > 2 * fast


def test_measured_columns_are_not_read(drynpu: Callable[..., Any], table) -> None:
    plain = drynpu("predict", str(table(MATMUL))).out
    assert drynpu("predict", str(table(MATMUL + ",1,0.001", head=HEAD + ",block_dim,duration_us"))).out == plain


def test_a_malformed_row_is_named_with_its_column(drynpu: Callable[..., Any], table) -> None:
    ended = drynpu("predict", str(table(SCALAR, MATMUL.replace("4096,2048;", "4096,twelve;"))))
    assert ended.code != 0
    assert "row 2, column 'input_shapes'" in ended.err
    ended = drynpu("predict", str(table(SCALAR.replace("Ascend910B2", "Ascend7"))))
    assert "row 1, column 'chip'" in ended.err
    assert "unknown chip 'Ascend7'" in ended.err
    ended = drynpu("predict", str(table("x", head="name")))
    assert "no column 'op_type', 'input_shapes', 'chip'" in ended.err


def test_few_columns_are_enough(drynpu: Callable[..., Any], table) -> None:
    ended = drynpu("predict", str(table('Mul,"64,128;64,128"', head="op_type,input_shapes")), "--chip", "910B3")
    assert (ended.code, ended.out.splitlines()[1].split(",")[0]) == (0, "1")


def test_transfers(drynpu: Callable[..., Any], table) -> None:
    head = "id,chip,level,op,transport,transit_bytes,packets,transit_time_us"
    rows = (
        "a,Ascend910B4,op_transport,hcom_batchSendRecv_,HCCS,8388608,8.388608MBx1:401.7us,0.001",
        "b,Ascend910B4,task,Memcpy,HCCS,64,,",
        "c,Ascend910,op_link,AllReduce,SDMA:local,1024,,",
    )
    found = pl.read_csv(io.StringIO(drynpu("predict", "--hccl", str(table(*rows, head=head))).out))
    assert found["id"].to_list() == ["a", "b", "c"]
    # 28 GB/s at 0.7 and 2.4 us, measured 401.7 us; the latency alone; measured 0.865 us.
    assert found["predicted_us"].to_list() == pytest.approx([2.4 + 8388608 / 19600, 2.403, 0.864], abs=0.002)
    assert found["bound"].to_list() == ["bandwidth", "latency", "latency"]


def test_a_summary_by_family(drynpu: Callable[..., Any], table) -> None:
    ended = drynpu("predict", str(table(MATMUL, SCALAR)), "--explain")
    assert ended.code == 0
    assert "matmul" in ended.out
    assert "2 kernels" in ended.out


def test_a_calibration_that_cannot_be_used(drynpu: Callable[..., Any], table, tmp_path: Path) -> None:
    wrong = tmp_path / "mine.yaml"
    wrong.write_text("generation: split\n")
    ended = drynpu("predict", str(table(MATMUL)), "--calibration", str(wrong))
    assert ended.code != 0
    assert "mine.yaml" in ended.err


def test_json(drynpu: Callable[..., Any], table: Callable[..., Path], tmp_path: Path) -> None:
    path = table(MATMUL)
    ended = drynpu("predict", path, "--json")
    (row,) = json.loads(ended.out)
    (text,) = pl.read_csv(io.StringIO(drynpu("predict", path).out)).to_dicts()
    assert row["id"] == "m"
    assert row["predicted_us"] == pytest.approx(text["predicted_us"], abs=5e-4)
    assert drynpu("predict", path, "--json", "-o", tmp_path / "out.json").out == ""
    assert json.loads((tmp_path / "out.json").read_bytes()) == [row]
