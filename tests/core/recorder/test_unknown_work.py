"""Kernels of which nobody knows what they work on: they are shown, have no time, and are counted."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from drynpu.analysis import op_statistic, summarise
from drynpu.kernels import KernelPlan, KernelSpec, Signature, TaskType
from drynpu.platforms import load_chip
from drynpu.products import export_msprof, load_profile
from drynpu.recorder import Outcome

Write = Callable[..., Outcome]
CHIPS = ("910A", "310P3", "910B2", "Ascend950PR")


def unknown_kernel(name: str, engine: TaskType) -> KernelPlan:
    return KernelPlan(kernels=(KernelSpec(name=name, op_type=name, task_type=engine, known=False),))


@pytest.fixture(params=CHIPS)
def outcome(request: pytest.FixtureRequest, tools: Any, write: Write) -> Outcome:
    def plan(signature: Signature) -> KernelPlan:
        if signature.name == "product":
            return unknown_kernel("MatMulV2", TaskType.AI_CORE)
        if signature.name == "layers":
            return unknown_kernel("DynamicRNN", TaskType.MIX_AIC)
        found: KernelPlan = tools.plan(signature)
        return found

    rows = [("product", 0), ("add", 50_000), ("product", 100_000), ("layers", 150_000), ("mm", 200_000)]
    table = tools.operators([tools.Row(name, start, start + 20_000) for name, start in rows])
    return write(table, chip=load_chip(request.param), plan=plan)


def summary_rows(directory: Path) -> dict[str, list[dict[str, str]]]:
    (path,) = directory.rglob("op_summary_*.csv")
    found: dict[str, list[dict[str, str]]] = {}
    for row in csv.DictReader(path.read_text().splitlines()):
        found.setdefault(row["OP Type"], []).append(row)
    return found


def test_they_have_a_row_and_no_time(outcome: Outcome, tools: Any) -> None:
    profile = tools.read(outcome)
    kernels = profile.kernels.sort("start_ns")
    unknown = kernels["op_type"].is_in(["MatMulV2", "DynamicRNN"]) & (kernels["duration_ns"] == 0)
    assert unknown.to_list() == [True, False, True, True, False]
    export_msprof(profile)
    rows = summary_rows(outcome.directory)
    products = rows["MatMulV2"]
    assert [row["Task Duration(us)"] == "N/A" for row in products] == [True, True, False]
    assert {row["Task Type"] for row in products} == {"AI_CORE"}
    assert {row["Input Shapes"] for row in products[:2]} == {"N/A"}
    counters = [name for name in products[0] if name.endswith(("_time(us)", "_cycles", "_ratio"))]
    assert len(counters) > 5
    assert {products[0][name] for name in counters} == {"N/A"}
    assert "N/A" not in {rows["Add"][0][name] for name in counters}
    # Read again without raw data they are the same.
    again = load_profile(next(outcome.directory.rglob("op_summary_*.csv")))
    assert (again.kernels["duration_ns"] == 0).sum() == 3


def test_they_have_no_share_in_totals_and_are_counted(outcome: Outcome, tools: Any) -> None:
    assert outcome.unknown == {"MatMulV2": 2, "DynamicRNN": 1}
    assert outcome.unmapped == {}
    assert outcome.describe()["unknown_kernels"] == {"MatMulV2": 2, "DynamicRNN": 1}
    profile = tools.read(outcome)
    counts = dict(op_statistic(profile).select("op_type", "count").iter_rows())
    assert counts == {"Add": 1, "MatMulV2": 1}
    summary = summarise(profile)
    assert summary.unknown == {"MatMulV2": 2, "DynamicRNN": 1}
    shares = {kernel.op_type: (kernel.count, kernel.total_us) for kernel in summary.kernels}
    assert shares["DynamicRNN"] == (1, None)
    assert shares["MatMulV2"][0] == 3
    assert summary.kernel_us == pytest.approx(sum(total or 0 for _, total in shares.values()))
    busy = profile.kernels.filter(pl.col("duration_ns") > 0)["duration_ns"].sum() / 1000
    assert summary.kernel_us == busy
