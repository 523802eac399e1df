"""Floating point operations of calls as ranges of domain ``mfu_flops`` (torch_npu_profiler.md 1.6)."""

from __future__ import annotations

import csv
from collections import Counter
from typing import Any

import pytest
from tests.scripts import FRESH

pytestmark = pytest.mark.slow

SCRIPT = """
import json

import torch
import torch_npu
from torch.nn.functional import linear
from torch_npu import profiler
from torch_npu.profiler._flops_registry import register_npu_flop

originals = (torch.mm, torch.nn.functional.linear, linear)
a, b = torch.ones(4, 8).npu(), torch.ones(8, 16).npu()
batch = torch.ones(3, 4, 8).npu()
layer = torch.nn.Linear(8, 16).npu()


class Own:
    @staticmethod
    def twice(x):
        return torch.mm(x, b) + torch.mm(x, b)


@register_npu_flop("__main__:Own.twice")
def twice_flops(x):
    return 5


@register_npu_flop(op_name="renamed", target="torch:relu")
def relu_flops(x):
    raise ValueError("no formula")


@register_npu_flop("torch:nothing")
def nothing(x):
    return 1


def work():
    torch.mm(a, b)
    torch.addmm(torch.ones(16).npu(), a, mat2=b)
    torch.bmm(batch, torch.ones(3, 8, 16).npu())
    torch.matmul(batch, b)
    torch.matmul(b[:, 0], b[:, 1])
    torch.matmul(b[:, 0], torch.ones(2, 8, 5).npu())
    torch.matmul(batch, b[:, 0])
    layer(batch)
    linear(a, layer.weight)
    Own.twice(a)
    torch.relu(a)
    try:
        torch.mm(a, a)
    except RuntimeError as error:
        print("raised", type(error).__name__)


def record(folder, with_flops=True, **given):
    config = profiler._ExperimentalConfig(
        aic_metrics=profiler.AiCMetrics.AiCoreNone, data_simplification=False, **given
    )
    with profiler.profile(
        on_trace_ready=profiler.tensorboard_trace_handler(folder), with_flops=with_flops, with_stack=folder == "flops",
        experimental_config=config,
    ):
        work()
    assert (torch.mm, torch.nn.functional.linear, linear) == originals


record("flops", mstx=True)
record("filtered", mstx=True, mstx_domain_exclude=["mfu_flops"])
record("no_marks")
record("no_flops", with_flops=False, mstx=True)
"""


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    return scripts(SCRIPT, environment={"DRYNPU_QUIET": "1", **FRESH})


def ranges(output: Any) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = []
    for path in output.prof.glob("mindstudio_profiler_output/msprof_tx_*.csv"):
        with path.open(newline="") as stream:
            rows += [row for row in csv.DictReader(stream) if row["domain"] == "mfu_flops"]
    return rows


def test_every_outer_call_tells_its_operations(run: Any) -> None:
    expected = {
        "mm": [2 * 4 * 8 * 16],
        "addmm": [2 * 4 * 8 * 16],
        "bmm": [2 * 3 * 4 * 8 * 16],
        "matmul": [2 * 3 * 4 * 8 * 16, 2 * 8, 2 * 2 * 8 * 5, 2 * 3 * 4 * 8],
        "linear": [2 * 3 * 4 * 8 * 16, 2 * 4 * 8 * 16],
        "Own.twice": [5],  # the calls inside it are its own
    }
    messages = Counter(f"{flops}-{name}" for name, counts in expected.items() for flops in counts)
    found = Counter(row["message"] for row in ranges(run.output("flops")))
    wrong_call = f"{2 * 4 * 8 * 8}-mm"  # its formula takes it; the call itself raises, and its range ends all the same
    assert found - messages == Counter([wrong_call])
    assert messages - found == Counter()
    assert {row["Device_id"] for row in ranges(run.output("flops"))} == {"host"}
    assert run.stdout.count("raised RuntimeError") == 4
    assert "Failed to calculate FLOPs for renamed" in run.stderr
    assert "Cannot resolve FLOPs target: torch:nothing" in run.stderr


def test_a_range_holds_the_kernels_of_its_call(run: Any, ns: Any) -> None:
    output = run.output("flops")
    (row,) = (row for row in ranges(output) if row["message"].endswith("-bmm"))
    bmm = next(event for event in output.operators() if event["name"] == "aten::bmm")
    assert ns(row["Start_time(us)"]) <= ns(bmm["ts"]) < ns(row["End_time(us)"])
    assert "drynpu" not in bmm["args"]["Call stack"], "the patch is not a frame of the script"


@pytest.mark.parametrize("folder", ["filtered", "no_marks", "no_flops"])
def test_nothing_where_it_was_not_asked_for(run: Any, folder: str) -> None:
    assert ranges(run.output(folder)) == []
    config = run.output(folder).document("profiler_info.json")["config"]
    assert config["common_config"]["with_flops"] == (folder != "no_flops")
