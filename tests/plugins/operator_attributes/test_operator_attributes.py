"""``op_attr`` and ``record_op_args`` of a user's script: the database, and the files beside the result."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

SCRIPT = """
import sys, torch, torch_npu
from torch_npu.profiler import _ExperimentalConfig, ProfilerLevel, profile, tensorboard_trace_handler

x, weight = torch.randn(32, 64).npu(), torch.randn(64, 128).npu()
stacks = torch.randn(3, 4, 5).npu(), torch.randn(3, 5, 6).npu()
config = _ExperimentalConfig(
    profiler_level=ProfilerLevel.Level1, op_attr=True, record_op_args=True, export_type=["text", "db"]
)
with profile(on_trace_ready=tensorboard_trace_handler("result"), experimental_config=config):
    y = torch.nn.functional.layer_norm(x @ weight, (128,), eps=1e-3)
    (torch.softmax(y, 1) + 1).sum(0, keepdim=True)
    torch.log_softmax(y, -1).mean(1).half()
    stacks[0] @ stacks[1]
    torch.nn.functional.gelu(y)
"""
QUERY = """
select (select value from STRING_IDS where id = opType), (select value from STRING_IDS where id = attrInfo)
from COMPUTE_TASK_INFO
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("attributes")
    (path / "script.py").write_text(SCRIPT, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DRYNPU_", "ASCEND_"))}
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=path, env={**kept, "KINETO_LOG_LEVEL": "99"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "files will be missing" not in done.stdout + done.stderr
    return path


def documents(folder: Path, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    (place,) = (path for path in folder.glob("result/*_ascend_pt_op_args/*") if path.name.strip("0123456789") == kind)
    for file in place.iterdir():
        yield file.name, json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("kernel", "attributes"),
    [
        ("MatMulV2", "attr_0:0|attr_1:0|attr_2:0"),
        ("BatchMatMulV2", "attr_0:0|attr_1:0|attr_2:0"),
        ("LayerNormV3", "attr_0:1|attr_1:1|attr_2:0.001000"),
        ("SoftmaxV2", "attr_0:1|attr_1:0"),
        ("ReduceSum", "attr_0:1|attr_1:1"),
        ("LogSoftmaxV2", "attr_0:-1"),
        ("ReduceMean", "attr_0:0|attr_1:1"),
        ("Cast", "attr_0:1"),
        ("Gelu", "N/A"),
    ],
)
def test_attributes_stand_in_the_database(folder: Path, kernel: str, attributes: str) -> None:
    (database,) = folder.glob("result/*_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler*.db")
    with closing(sqlite3.connect(database)) as connection:
        assert {text for op_type, text in connection.execute(QUERY) if op_type == kernel} == {attributes}


def test_a_file_describes_each_operator_and_shape(folder: Path) -> None:
    every = dict(documents(folder, "_debug"))
    (name,) = (name for name in every if name.startswith("MatMulV2_float_ND_32_64_"))
    product = every[name]
    assert [tensor and tensor["shape"] for tensor in product["inputs"]] == [[32, 64], [64, 128], None, None]
    assert product["outputs"][0]["name"] == "y"
    assert [each["name"] for each in product["attrs"]] == ["transpose_x1", "transpose_x2", "offset_x"]


def test_the_folders_hold_the_operators_that_the_vendors_tools_take(folder: Path) -> None:
    tuned = {document["op_type"] for _, document in documents(folder, "")}
    compiled = {document["op_type"] for _, document in documents(folder, "_opcompile")}
    every = {document["op_type"] for _, document in documents(folder, "_debug")}
    assert {"MatMulV2", "BatchMatMulV2", "SoftmaxV2", "LayerNormV3", "Gelu"} == tuned
    assert every - compiled == {"ReduceSum"}
