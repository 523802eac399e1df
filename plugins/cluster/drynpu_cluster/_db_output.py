"""The vendor's cluster analysis as a database, ``cluster_analysis.db`` (downstream_consumers.md 1.4)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from drynpu.arrays import F64
from drynpu.writers.db import Table, db_table
from drynpu_cluster import _facts as f
from drynpu_cluster._db_rank import COUNT_COLUMNS, RATE_COLUMNS, STEP_COLUMNS, TIME_COLUMNS
from drynpu_cluster._groups import Group, parallel_places, pipeline_stages, rank_lists
from drynpu_cluster._rank import RankRead

DATABASE = "cluster_analysis.db"

_TIMES = ("elapse_time", "transit_time", "wait_time", "synchronization_time", "idle_time")
_P2P_WORDS = "send|receive|recv"

TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        db_table("CommunicationGroupMapping", "type rank_set group_name group_id pg_name", others="T"),
        db_table(
            "ClusterCommunicationTime",
            """step:T rank_id:I hccl_op_name:T group_name:T start_timestamp elapsed_time transit_time wait_time
            synchronization_time idle_time synchronization_time_ratio wait_time_ratio""",
            others="R",
        ),
        db_table(
            "ClusterCommunicationBandwidth",
            """step:T rank_id:I hccl_op_name:T group_name:T band_type:T transit_size transit_time bandwidth
            large_packet_ratio:N package_size count:N total_duration""",
            others="R",
        ),
        db_table(
            "ClusterCommunicationMatrix",
            """step:T hccl_op_name:T group_name:T src_rank dst_rank transport_type:T op_name:T transit_size transit_time
            bandwidth""",
            others="R",
        ),
        db_table("HostInfo", "hostUid hostName", others="T"),
        db_table("RankDeviceMap", "rankId:I deviceId:I hostUid profilePath", others="T"),
        db_table(
            "ClusterStepTraceTime",
            f'step:T type:T "index":T {" ".join(STEP_COLUMNS)} dp_index:I pp_index:I tp_index:I',
            others="N",
        ),
        db_table("ClusterBaseInfo", "key value", others="T"),
    )
}


def is_p2p(name: pl.Expr) -> pl.Expr:
    """Return whether operators are messages between two ranks, by their names."""
    return name.str.to_lowercase().str.contains(_P2P_WORDS)


def kind_of(name: pl.Expr) -> pl.Expr:
    """Return ``p2p`` or ``collective`` for names of operators."""
    return pl.when(is_p2p(name)).then(pl.lit(f.P2P)).otherwise(pl.lit(f.COLLECTIVE))


def _ranks(ranks: Sequence[int]) -> str:
    return f"({','.join(map(str, ranks))})"


def group_rows(groups: Sequence[Group]) -> pl.DataFrame:
    """Return the rows of ``CommunicationGroupMapping``."""
    rows = [(group.kind, _ranks(group.ranks), group.key, group.label, group.purpose) for group in groups]
    return pl.DataFrame(
        rows, schema=dict.fromkeys(TABLES["CommunicationGroupMapping"].columns, pl.String), orient="row"
    )


def _share(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """Return a share, 0 of nothing, rounded as numpy rounds."""
    share = pl.when(whole == 0).then(0.0).otherwise(part / whole)
    return share.map_batches(_rounded, return_dtype=pl.Float64)


def _rounded(values: pl.Series) -> pl.Series:
    numbers: F64 = np.round(values.to_numpy(), 4)
    return pl.Series(values.name, numbers)


def time_rows(operations: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of ``ClusterCommunicationTime``: operators, then their sum by step, rank and group."""
    key = ["step", "rank", "group_name"]
    sums = operations.group_by(key).agg(pl.col(_TIMES).sum()).sort(key)
    transit = pl.col("transit_time")
    totals = sums.with_columns(
        pl.lit(f.TOTAL).alias("hccl_op_name"),
        pl.lit(0.0).alias("start_timestamp"),
        _share(pl.col("synchronization_time"), transit + pl.col("synchronization_time")).alias(
            "synchronization_time_ratio"
        ),
        _share(pl.col("wait_time"), transit + pl.col("wait_time")).alias("wait_time_ratio"),
    )
    plain = operations.with_columns(
        pl.lit(0.0).alias("synchronization_time_ratio"), pl.lit(0.0).alias("wait_time_ratio")
    )
    columns = ["step", "rank", "hccl_op_name", "group_name", *TIME_COLUMNS]
    columns += ["synchronization_time_ratio", "wait_time_ratio"]
    rows = pl.concat([plain.select(columns), totals.select(columns)])
    return rows.rename({"rank": "rank_id", "elapse_time": "elapsed_time"})


def rate_rows(rates: pl.DataFrame) -> pl.DataFrame:
    """
    Return the rows of ``ClusterCommunicationBandwidth``: operators, then sums by step, rank, group, transport, package.

    Bytes and times of an operator stand in each of its rows, one per size of packages; they count once.
    """
    key = ["group_name", "step", "rank", "transport_type"]
    once = rates.unique([*key, "hccl_op_name"], keep="first", maintain_order=True)
    moved = once.group_by(key).agg(pl.col("transit_size", "transit_time").sum())
    # Rows without a package size belong to transports that moved nothing; they belong to no sum.
    sums = rates.drop_nulls("package_size").group_by([*key, "package_size"]).agg(pl.col(COUNT_COLUMNS).sum())
    totals = (
        sums.join(moved, on=key)
        .sort([*key, "package_size"])
        .with_columns(
            pl.lit(f.TOTAL).alias("hccl_op_name"),
            pl.lit(0.0).alias("large_packet_ratio"),
            _share(pl.col("transit_size"), pl.col("transit_time")).alias("bandwidth"),
        )
    )
    columns = ["step", "rank", "hccl_op_name", "group_name", "transport_type", *RATE_COLUMNS, *COUNT_COLUMNS]
    rows = pl.concat([rates.select(columns), totals.select(columns)])
    return rows.rename({"rank": "rank_id", "transport_type": "band_type"})


def matrix_rows(matrix: pl.DataFrame, reads: Sequence[RankRead]) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return the rows of ``ClusterCommunicationMatrix``: entries and links, then their sums; and notes."""
    numbers = _numbers(matrix, reads)
    values = (
        pl.col("transport_type").drop_nulls().first(),
        pl.col("op_name").drop_nulls().first(),
        pl.col("transit_size", "transit_time").sum(),
    )
    key = ["step", "hccl_op_name", "group_name"]
    kind = pl.col("type") == f.P2P
    local = matrix.group_by(kind.alias("p2p"), *key, "src_rank", "dst_rank", maintain_order=True).agg(*values)
    mapped = local
    for end in ("src_rank", "dst_rank"):
        of_end = numbers.rename({"group": "group_name", "local": end, "rank": f"{end}_global"})
        mapped = mapped.join(of_end, on=["group_name", end], how="left", maintain_order="left")
    links = mapped.drop_nulls(["src_rank_global", "dst_rank_global"]).drop("src_rank", "dst_rank", "p2p")
    links = links.rename({"src_rank_global": "src_rank", "dst_rank_global": "dst_rank"})
    summed = links.filter(pl.col("hccl_op_name").str.contains("total"))
    totals = summed.group_by("group_name", "step", "src_rank", "dst_rank", maintain_order=True).agg(*values)
    rate = pl.col("transit_size") / pl.col("transit_time")
    still = pl.col("transit_time") == 0
    columns = list(TABLES["ClusterCommunicationMatrix"].columns)
    rows = pl.concat(
        [
            links.with_columns(pl.when(still).then(0.0).otherwise(rate).alias("bandwidth")).select(columns),
            totals.with_columns(pl.lit(f.TOTAL).alias("hccl_op_name"), rate.fill_nan(None).alias("bandwidth")).select(
                columns
            ),
        ]
    )
    lost = mapped.height - links.height
    note = f"{lost} links lead to ranks that no directory is of; they were left out of the matrix"
    return rows, ((note,) if lost else ())


def _numbers(matrix: pl.DataFrame, reads: Sequence[RankRead]) -> pl.DataFrame:
    """Return ``group``, ``local``, ``rank``: from the metadata, else from the link of a rank to itself."""
    itself = matrix.filter(pl.col("src_rank") == pl.col("dst_rank"))
    seen = itself.select(
        pl.col("group_name").alias("group"), pl.col("src_rank").alias("local"), pl.col("rank").cast(pl.Int64)
    )
    return pl.concat([rank_lists(reads), seen]).unique(["group", "local"], keep="first", maintain_order=True)


def step_rows(steps: pl.DataFrame, reads: Sequence[RankRead], groups: Sequence[Group]) -> pl.DataFrame:
    """Return the rows of ``ClusterStepTraceTime``: ranks, then the largest values of each pipeline stage."""
    # Indexes are numbers of ranks, and "NA" in the rows of stages.
    schema: dict[str, Any] = dict.fromkeys(TABLES["ClusterStepTraceTime"].columns, pl.Float64)
    schema |= dict.fromkeys(("step", "type", '"index"'), pl.String)
    schema |= dict.fromkeys(("dp_index", "pp_index", "tp_index"), pl.Object)
    if steps.is_empty():
        return pl.DataFrame(schema=schema)
    arguments: Mapping[str, object] = next((read.arguments for read in reads if read.arguments), {})
    places = parallel_places(arguments, steps["rank"].n_unique())
    rows: list[tuple[object, ...]] = [
        (step, "rank", str(rank), *values, *((0, 0, 0) if places is None else places[rank]))
        for step, rank, *values in steps.select("step", "rank", *STEP_COLUMNS).iter_rows()
    ]
    none: tuple[object, ...] = (0, 0, 0) if places is None else ("NA", "NA", "NA")
    rows += [(*row, *none) for row in _stage_rows(steps, groups)]
    return pl.DataFrame(rows, schema=schema, orient="row", strict=False)


def _stage_rows(steps: pl.DataFrame, groups: Sequence[Group]) -> Iterator[tuple[object, ...]]:
    stages = pipeline_stages(groups)
    if not stages:
        return
    place = {rank: _ranks(stage) for stage in stages for rank in stage}
    of_rank = pl.col("rank").replace_strict(place, default="()", return_dtype=pl.String).alias("stage_ranks")
    largest = (
        steps.with_columns(of_rank).group_by("step", "stage_ranks", maintain_order=True).agg(pl.col(STEP_COLUMNS).max())
    )
    for step, ranks, *values in largest.iter_rows():
        yield (step, "stage", ranks, *values)


def host_rows(reads: Sequence[RankRead]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows of ``HostInfo`` and ``RankDeviceMap``."""
    hosts = dict(read.host for read in reads if all(read.host))
    devices = sorted(
        (rank, device, read.host[0], str(read.source.path))
        for read in reads
        if all(read.host)
        for rank, device in read.devices
    )
    text = pl.String()
    return (
        pl.DataFrame(list(hosts.items()), schema={"hostUid": text, "hostName": text}, orient="row"),
        pl.DataFrame(
            devices,
            schema={"rankId": pl.Int64(), "deviceId": pl.Int64(), "hostUid": text, "profilePath": text},
            orient="row",
        ),
    )


def base_rows(reads: Sequence[RankRead]) -> pl.DataFrame:
    """Return the row of ``ClusterBaseInfo``: what the first rank that states it says of the job; none otherwise."""
    schema = {"key": pl.String, "value": pl.String}
    arguments: Mapping[str, object] = next((read.arguments for read in reads if read.arguments), {})
    said = {name: value for name, value in arguments.items() if name != "rank"}
    rows = [("distributed_args", json.dumps(said))] if said else []
    return pl.DataFrame(rows, schema=schema, orient="row")


def database_file(folder: Path) -> Path:
    """Return where the database of a cluster analysis lies."""
    return folder / DATABASE
