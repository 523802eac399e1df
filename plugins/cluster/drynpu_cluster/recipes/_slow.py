"""Recipes that find what is slow: ranks that come late, links, frequencies, experts (downstream_consumers.md 1.4)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from drynpu_cluster.recipes._dixon import CRITICAL, MOST_VALUES, RANGES
from drynpu_cluster.recipes._recipe import Recipe, Tables
from drynpu_cluster.recipes._statistics import described
from drynpu_cluster.recipes._sums import NUMBER, TEXT

SIGMAS = 3
"""From how many standard deviations on a value stands out."""
TOP_GROUPS = 20
EXPERTS = "exp"
"""What scripts call the groups of expert parallelism."""
FULL_MHZ, FREE_MHZ = 1800, 800
"""Frequencies of AI cores that are at work, and of those that have been idle for long."""

_MESSAGES = "send|receive"
_WIDTHS = {
    **dict.fromkeys(("INT8", "UINT8"), 1),
    **dict.fromkeys(("INT16", "UINT16", "FP16", "BFP16"), 2),
    **dict.fromkeys(("INT32", "UINT32", "FP32"), 4),
    **dict.fromkeys(("INT64", "UINT64", "FP64"), 8),
    "INT128": 16,
}
_NAMES = """JOIN STRING_IDS AS groups ON groups.id = op.groupName JOIN STRING_IDS AS names ON names.id = op.opName"""
_ARRIVALS = f"""SELECT groups.value, names.value, op.startNs, op.endNs - op.startNs FROM COMMUNICATION_OP AS op {_NAMES}
JOIN CANN_API ON CANN_API.connectionId = op.connectionId"""
_SIZES = f"""SELECT groups.value, op.endNs - op.startNs, names.value, types.value, data.name, op.count
FROM COMMUNICATION_OP AS op {_NAMES} JOIN ENUM_HCCL_DATA_TYPE AS data ON data.id = op.dataType
JOIN STRING_IDS AS types ON types.id = op.opType"""
_PRODUCTS = """SELECT shapes.value, count(*) FROM COMPUTE_TASK_INFO AS info
JOIN TASK ON TASK.globalTaskId = info.globalTaskId JOIN STRING_IDS AS types ON types.id = info.opType
LEFT JOIN STRING_IDS AS shapes ON shapes.id = info.inputShapes WHERE types.value = 'GroupedMatmul' GROUP BY 1"""


def outlier(values: Sequence[float]) -> list[int]:
    """
    Return the places of values that are too short to be chance: of ranks for which the others waited.

    Up to a hundred values Dixon's test decides, at 99.5 %, about the shortest; above, three standard deviations do.
    """
    if len(values) <= MOST_VALUES:
        return _by_dixon(values)
    mean, deviation = float(np.mean(values)), float(np.std(values))
    places = [place for place, value in enumerate(values) if value < mean - SIGMAS * deviation]
    shortest = values.index(min(values))
    if max(values) > mean + SIGMAS * deviation and shortest not in places:
        places.append(shortest)
    return places


def _by_dixon(values: Sequence[float]) -> list[int]:
    count, ordered = len(values), sorted(values)
    if len(set(ordered)) <= 3:
        return []
    low, high = next((low, high) for most, low, high in RANGES if count <= most)
    span = ordered[-high] - ordered[0]
    ratio = (ordered[low] - ordered[0]) / span if span else 0
    return [values.index(ordered[0])] if ratio > CRITICAL[count - 3] else []


def _slow_ranks(tables: Tables) -> Mapping[str, pl.DataFrame]:
    rows = tables["arrivals"].filter(~pl.col("OpName").str.contains(_MESSAGES))
    counts = rows.group_by("GroupName", "OpName").len()
    # Where ranks recorded different operators of a group, its operators cannot be laid side by side.
    whole = counts.group_by("GroupName").agg(pl.col("len").n_unique().alias("kinds")).filter(pl.col("kinds") == 1)
    kept = rows.join(whole, on="GroupName", how="semi", maintain_order="left")
    votes: Counter[int] = Counter()
    rows_by_operator = []
    for (group, name), calls in kept.group_by(["GroupName", "OpName"], maintain_order=True):
        times = [duration / 1000 for duration in calls["Duration"].to_list()]
        places = outlier(times)
        if not places:
            continue
        slow = [calls["rank"][place] for place in places]
        votes.update(slow)
        series = pl.Series(times)
        values = (series.mean(), series.std(), min(times), *(series.quantile(q, "linear") for q in (0.25, 0.5, 0.75)))
        first = min(calls["startNs"][place] for place in places)
        ranks = ",".join(map(str, slow))
        rows_by_operator.append((ranks, name, group, first, len(times), *values, max(times), sum(times)))
    if not rows_by_operator:
        return {}
    numbers = ("MeanNs", "StdNs", "MinNs", "Q1Ns", "MedianNs", "Q3Ns", "MaxNs", "SumNs")
    schema = {"SlowRank": TEXT, "OpName": TEXT, "GroupName": TEXT, "Timestamp": NUMBER, "Count": NUMBER}
    operators = pl.DataFrame(rows_by_operator, schema=schema | dict.fromkeys(numbers, pl.Float64()), orient="row")
    affected = pl.DataFrame(list(votes.items()), schema={"rankId": NUMBER, "slowAffectCount": NUMBER}, orient="row")
    return {"SlowRank": affected, "SlowOpStats": operators.sort("Timestamp", maintain_order=True)}


def _slow_links(tables: Tables) -> Mapping[str, pl.DataFrame]:
    rows = tables["sizes"]
    key = ["groupName", "opName"]
    message = pl.col("opName").str.contains(_MESSAGES)
    width = pl.col("dataType").replace_strict(_WIDTHS, default=None, return_dtype=pl.Int64)
    full = rows.with_columns(
        (pl.col("count") * width).alias("dataSize"),
        pl.when(message).then(0).otherwise(pl.col("communicationTime").min().over(key)).alias("transmitTime"),
        pl.when(message).then(0).otherwise(pl.len().over(key)).cast(pl.Int64).alias("relatedRanks"),
    )
    kinds = ["opType", "dataSize", "relatedRanks"]
    times = pl.col("transmitTime")
    far = ((times - times.mean()).abs() > SIGMAS * times.std(ddof=0)).any()
    slow = full.drop_nulls("dataSize").filter(far.over(kinds))
    if slow.is_empty():
        return {}
    statistics = described(slow.with_columns(pl.lit(1).alias("count")), kinds, "transmitTime")
    ends = slow.group_by(kinds).agg(
        pl.col("rank").get(times.arg_max()).alias("maxRank"), pl.col("rank").get(times.arg_min()).alias("minRank")
    )
    mean, deviation = pl.col("MeanNs"), pl.col("StdNs")
    largest = pl.max_horizontal((pl.col("MaxNs") - mean).abs(), (pl.col("MinNs") - mean).abs())
    sums = statistics.join(ends, on=kinds, how="left", maintain_order="left").select(
        pl.format("{}{}_{}", "opType", "relatedRanks", "dataSize").alias("opTypeRelatedRanksDataSize"),
        *(name for name in statistics.columns if name not in kinds),
        (largest / deviation).alias("offsetRatio"),
        "maxRank",
        "minRank",
    )
    order = ["rank", "groupName", "communicationTime", "opName", "opType", "dataType", "dataSize"]
    operators = slow.sort(kinds, maintain_order=True).select(*order, "transmitTime", "relatedRanks")
    return {
        "SlowLinkSum": sums.sort("offsetRatio", descending=True, maintain_order=True).head(15),
        "SlowLinkOps": operators.rename({"rank": "rankId"}),
    }


def _frequencies(tables: Tables) -> Mapping[str, pl.DataFrame]:
    free, odd = [], []
    by_rank = tables["frequencies"].group_by("rank").agg(pl.col("freq").unique().sort()).sort("rank")
    for rank, values in by_rank.iter_rows():
        numbers = [int(value) if float(value).is_integer() else value for value in values]
        if set(numbers) == {FULL_MHZ, FREE_MHZ}:
            free.append((rank, str([FREE_MHZ, FULL_MHZ])))
        elif numbers != [FULL_MHZ]:
            odd.append((rank, str(numbers)))
    schema = {"rankId": NUMBER, "aicoreFrequency": TEXT}
    tables_of = {"FreeFrequencyRanks": free, "AbnormalFrequencyRanks": odd}
    return {name: pl.DataFrame(rows, schema=schema, orient="row") for name, rows in tables_of.items() if rows}


def _tokens(shapes: str) -> int | None:
    """Return the tokens of a grouped product: the first dimensions of its inputs, without the last two."""
    parts = [part for part in shapes.strip('"').split(";") if part]
    if len(parts) < 2:
        return None
    firsts = [part.strip().split(",")[0] for part in parts[:-2]]
    return sum(map(int, firsts)) if all(first.isdecimal() for first in firsts) else None


def _experts(tables: Tables) -> Mapping[str, pl.DataFrame]:
    products, said = tables["products"], tables["groups"]
    groups = {}
    for value, rank in said.select("value", "rank").iter_rows():
        named = [info["global_ranks"] for info in json.loads(value).values() if info.get("group_name") == EXPERTS]
        groups[rank] = ",".join(map(str, named[0] if named else ()))
    sums: dict[tuple[int, str], int] = {}
    for shapes, count, rank in products.select("shapes", "count", "rank").iter_rows():
        tokens = _tokens(shapes or "")
        if tokens is not None:
            key = (rank, groups.get(rank, ""))
            sums[key] = sums.get(key, 0) + tokens * count
    schema = {"rank": NUMBER, "epRanks": TEXT, "inputShapesSummary": NUMBER}
    summary = pl.DataFrame([(*key, tokens) for key, tokens in sorted(sums.items())], schema=schema, orient="row")
    spread = pl.col("inputShapesSummary").max() - pl.col("inputShapesSummary").min()
    top = summary.group_by("epRanks").agg(spread.alias("tokensDiff")).sort("epRanks")
    ordered = top.sort("tokensDiff", descending=True, maintain_order=True).head(TOP_GROUPS)
    return {"EPTokensSummary": summary, "TopEPTokensInfo": ordered}


SLOW_RANK = Recipe(
    "slow_rank",
    {
        "arrivals": (
            ("COMMUNICATION_OP", "STRING_IDS", "CANN_API"),
            _ARRIVALS,
            {"GroupName": TEXT, "OpName": TEXT, "startNs": NUMBER, "Duration": NUMBER},
        )
    },
    _slow_ranks,
)
SLOW_LINK = Recipe(
    "slow_link",
    {
        "sizes": (
            ("COMMUNICATION_OP", "STRING_IDS", "ENUM_HCCL_DATA_TYPE"),
            _SIZES,
            {
                "groupName": TEXT,
                "communicationTime": NUMBER,
                **dict.fromkeys(("opName", "opType", "dataType"), TEXT),
                "count": NUMBER,
            },
        )
    },
    _slow_links,
)
FREQ_ANALYSIS = Recipe(
    "freq_analysis",
    {"frequencies": (("AICORE_FREQ",), "SELECT DISTINCT freq FROM AICORE_FREQ", {"freq": pl.Float64()})},
    _frequencies,
)
EP_LOAD_BALANCE = Recipe(
    "ep_load_balance",
    {
        "products": (
            ("COMPUTE_TASK_INFO", "TASK", "STRING_IDS"),
            _PRODUCTS,
            {"shapes": TEXT, "count": NUMBER},
        ),
        "groups": (
            ("META_DATA",),
            "SELECT value FROM META_DATA WHERE name = 'parallel_group_info'",
            {"value": TEXT},
        ),
    },
    _experts,
)
