"""Recipes that sum durations: calls of the toolkit, kernels, collectives (downstream_consumers.md 1.4)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import polars as pl

from drynpu.deliverables.communication.group_names import name_hash
from drynpu_cluster.recipes._recipe import Recipe, Tables
from drynpu_cluster.recipes._statistics import described, samples

TOP = 15
"""How many of the longest collectives are listed."""

_CALLS = """SELECT ids.value, endNs - startNs, count(*) FROM CANN_API
LEFT JOIN STRING_IDS AS ids ON ids.id = CANN_API.name GROUP BY CANN_API.name, 2"""
_KERNELS = """SELECT names.value, types.value, tasks.value, shapes.value, TASK.endNs - TASK.startNs, count(*)
FROM COMPUTE_TASK_INFO AS info JOIN TASK ON TASK.globalTaskId = info.globalTaskId
LEFT JOIN STRING_IDS AS names ON names.id = info.name LEFT JOIN STRING_IDS AS types ON types.id = info.opType
LEFT JOIN STRING_IDS AS tasks ON tasks.id = info.taskType LEFT JOIN STRING_IDS AS shapes ON shapes.id = info.inputShapes
GROUP BY 1, 2, 3, 4, 5"""
_COLLECTIVES = """SELECT names.value, types.value, groups.value, endNs - startNs, count(*), min(op.rowid)
FROM COMMUNICATION_OP AS op LEFT JOIN STRING_IDS AS names ON names.id = op.opName
LEFT JOIN STRING_IDS AS types ON types.id = op.opType LEFT JOIN STRING_IDS AS groups ON groups.id = op.groupName
GROUP BY 1, 2, 3, 4"""
TEXT, NUMBER = pl.String(), pl.Int64()


def _calls(tables: Tables) -> Mapping[str, pl.DataFrame]:
    rows = []
    calls = tables["calls"]
    for rank in calls["rank"].unique().sort().to_list():
        of_rank = samples(calls.filter(pl.col("rank") == rank), ["name"], "Duration")
        whole = sum(sample.total for _, sample in of_rank)
        ordered = sorted(of_rank, key=lambda named: -named[1].total)
        for (name,), sample in ordered:
            values = (sample.mean, sample.values[0], *(sample.quantile(share) for share in (0.25, 0.5, 0.75)))
            rest = (*values, sample.values[-1], sample.deviation(0) or 0.0)
            ratio = round(sample.total * 100 / whole, 2) if whole else None
            rows.append((name, ratio, sample.total, sample.count, *(_tenths(float(value)) for value in rest), rank))
    names = ("averageNs", "minNs", "Q1Ns", "medNs", "Q3Ns", "maxNs", "stdev")
    schema = {"name": TEXT, "durationRatio": pl.Float64(), "totalTimeNs": pl.Float64(), "totalCount": NUMBER}
    schema |= {**dict.fromkeys(names, pl.Float64()), "rank": NUMBER}
    by_rank = pl.DataFrame(rows, schema=schema, orient="row")
    return {"CannApiSumRank": by_rank, "CannApiSum": _all_calls(by_rank)}


def _tenths(value: float) -> float:
    """Return a number rounded to tenths as SQLite rounds: halves go up."""
    return float(Decimal(value).quantize(Decimal("0.1"), ROUND_HALF_UP))


def _all_calls(by_rank: pl.DataFrame) -> pl.DataFrame:
    """Return calls of all ranks: sums, extremes of quartiles, and the deviation joined from all ranks."""
    total = float(by_rank["totalTimeNs"].sum())
    rows = []
    for (name,), calls in by_rank.group_by(["name"], maintain_order=True):
        counts, means, deviations = (calls[title].to_numpy() for title in ("totalCount", "averageNs", "stdev"))
        count, spent = int(counts.sum()), float(calls["totalTimeNs"].sum())
        mean = spent / count
        squares = float(((counts - 1) * deviations**2).sum() + (counts * (means - mean) ** 2).sum())
        joined = float(np.sqrt(squares / (count - 1))) if count > 1 else 0.0
        least, most = calls["minNs"].to_numpy().min(), calls["maxNs"].to_numpy().max()
        numbers = (
            *(100 * spent / total if total else 0.0, spent, mean, calls["Q1Ns"].to_numpy().min()),
            *(float(np.median(calls["medNs"].to_numpy())), calls["Q3Ns"].to_numpy().max(), least, most),
            deviations[0] if calls.height == 1 else joined,
        )
        ranks = (_ranks(calls, pl.col(column) == value) for column, value in (("minNs", least), ("maxNs", most)))
        rows.append((name, count, *(float(np.round(value, 1)) for value in numbers), *ranks))
    numbers_of = ("timeRatio", "totalTimeNs", "averageNs", "Q1Ns", "medNs", "Q3Ns", "minNs", "maxNs", "stdev")
    schema = {"name": TEXT, "totalCount": NUMBER, **dict.fromkeys(numbers_of, pl.Float64())}
    frame = pl.DataFrame(rows, schema=schema | {"minRank": TEXT, "maxRank": TEXT}, orient="row")
    columns = ["name", "timeRatio", "totalTimeNs", "totalCount", *numbers_of[2:], "minRank", "maxRank"]
    return frame.select(columns).sort("totalTimeNs", descending=True, maintain_order=True)


def _ranks(calls: pl.DataFrame, condition: pl.Expr) -> str:
    return ", ".join(map(str, calls.filter(condition)["rank"].to_list()))


def _kernels(tables: Tables) -> Mapping[str, pl.DataFrame]:
    kernels = tables["kernels"]
    of_type, of_name = ["OpType", "TaskType"], ["OpName", "OpType", "TaskType", "InputShapes"]
    return {
        "ComputeOpAllRankStats": _longest(described(kernels, of_type, "Duration")),
        "ComputeOpPerRankStatsByOpType": _longest(_by_rank(kernels, of_type)),
        "ComputeOpPerRankStatsByOpName": _longest(_by_rank(kernels, of_name)),
    }


def _longest(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.sort("SumNs", descending=True, maintain_order=True)


def _by_rank(frame: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Return the statistics of each rank, whose number stands last."""
    statistics = described(frame, ["rank", *keys], "Duration")
    return statistics.select(pl.exclude("rank"), pl.col("rank").alias("Rank"))


def _collectives(tables: Tables) -> Mapping[str, pl.DataFrame]:
    rows = tables["collectives"]
    top = described(rows, ["OpName"], "Duration").sort("MeanNs", descending=True, maintain_order=True).head(TOP)
    ends = (
        rows.sort("rank", maintain_order=True)
        .group_by("OpName")
        .agg(
            pl.col("rank").get(pl.col("Duration").arg_min()).alias("MinRank"),
            pl.col("rank").get(pl.col("Duration").arg_max()).alias("MaxRank"),
        )
    )
    return {
        "HcclAllRankStats": described(rows, ["OpType"], "Duration"),
        "HcclPerRankStats": _by_rank(rows, ["OpType"]),
        "HcclTopOpStats": top.join(ends, on="OpName", how="left", maintain_order="left"),
        "HcclGroupNameMap": _groups(rows),
    }


def _groups(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the groups with the last digits of their hash and their ranks, those first that used it first."""
    first = rows.drop_nulls("GroupName").group_by("GroupName", "rank").agg(pl.col("first").min())
    ranks = first.sort("GroupName", "first", "rank").group_by("GroupName", maintain_order=True)
    joined = ranks.agg(pl.col("rank").cast(pl.String).str.join(";").alias("Ranks"))
    numbers = pl.Series("GroupId", [str(name_hash(name))[-3:] for name in joined["GroupName"]], dtype=pl.String)
    return joined.with_columns(numbers).select("GroupName", "GroupId", "Ranks").sort("GroupId", maintain_order=True)


CANN_API_SUM = Recipe(
    "cann_api_sum",
    {"calls": (("CANN_API", "STRING_IDS"), _CALLS, {"name": TEXT, "Duration": NUMBER, "count": NUMBER})},
    _calls,
)
COMPUTE_OP_SUM = Recipe(
    "compute_op_sum",
    {
        "kernels": (
            ("COMPUTE_TASK_INFO", "TASK", "STRING_IDS"),
            _KERNELS,
            {
                **dict.fromkeys(("OpName", "OpType", "TaskType", "InputShapes"), TEXT),
                **dict.fromkeys(("Duration", "count"), NUMBER),
            },
        )
    },
    _kernels,
)
HCCL_SUM = Recipe(
    "hccl_sum",
    {
        "collectives": (
            ("COMMUNICATION_OP", "STRING_IDS"),
            _COLLECTIVES,
            {
                **dict.fromkeys(("OpName", "OpType", "GroupName"), TEXT),
                **dict.fromkeys(("Duration", "count", "first"), NUMBER),
            },
        )
    },
    _collectives,
)
