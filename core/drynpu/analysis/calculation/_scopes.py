"""Operations by scope: the path that leads to a kernel in the network, level by level."""

from __future__ import annotations

import polars as pl

from drynpu.analysis._scopes import KERNEL_PLACE
from drynpu.analysis.calculation._formulas import cube_operations
from drynpu.analysis.calculation._work import KERNEL_KEY, call_of
from drynpu.analysis.launches import mindspore_launches
from drynpu.analysis.links import link_operators
from drynpu.tables import Profile
from drynpu.tables.operators import SHAPE_COLUMNS

SCOPE_FLOPS = pl.Schema({"parent": pl.String, "scope": pl.String, "level": pl.Int64, "flops": pl.Float64})
"""One row per scope; ``scope`` is its whole path, ``parent`` the path of the scope around it, ``""`` at the top."""

_LEVELS = 6
"""Levels that are told apart; what lies deeper counts for the last of them."""


def scope_flops(profile: Profile) -> pl.DataFrame:
    """
    Return table :data:`SCOPE_FLOPS`, by level and path; empty where no name tells a scope.

    The scope of a kernel is what its name has before the last ``/`` (graphs of TensorFlow and MindSpore), or the name
    of its launch (MindSpore kernel by kernel), else the modules of the framework's operator that launched it (recorded
    with ``with_modules``).
    """
    kernels = profile.kernels.select(*KERNEL_KEY, "name", "device_id", "stream_id", "start_ns")
    distinct = kernels.select(KERNEL_KEY).unique()
    flops = [
        cube_operations(kind, call_of(*shapes))
        for kind, *shapes in distinct.select("op_type", *SHAPE_COLUMNS).iter_rows()
    ]
    known = distinct.with_columns(pl.Series("flops", flops, dtype=pl.Float64)).drop_nulls("flops")
    placed = kernels.join(known, on=KERNEL_KEY, how="inner").with_columns(_named().alias("path"))
    if placed.is_empty():
        return pl.DataFrame(schema=SCOPE_FLOPS)
    for look in (_by_launch, _by_module):
        if not placed["path"].list.len().sum():
            placed = look(profile, placed)
    return _levels(placed.filter(pl.col("path").list.len() > 0).select("path", "flops"))


def _named(column: str = "name") -> pl.Expr:
    parts = pl.col(column).str.replace(r"^.*::", "").str.split("/")
    return parts.list.head(parts.list.len() - 1)


def _by_launch(profile: Profile, placed: pl.DataFrame) -> pl.DataFrame:
    """Return *placed* with the scopes of MindSpore's launches as paths."""
    launches = mindspore_launches(profile).select(*KERNEL_PLACE, "launch")
    return (
        placed.drop("path")
        .join(launches, on=KERNEL_PLACE, how="left")
        .with_columns(_named("launch").fill_null([]).alias("path"))
    )


def _by_module(profile: Profile, placed: pl.DataFrame) -> pl.DataFrame:
    """Return *placed* with the modules of the launching operators as paths."""
    modules = profile.host_ops.filter(pl.col("module_hierarchy") != "").select("op_id", "module_hierarchy")
    launched = link_operators(profile).kernel_op.select(*KERNEL_PLACE, "op_id").join(modules, on="op_id", how="inner")
    path = pl.col("module_hierarchy").str.split(".")
    joined = placed.drop("path").join(launched.unique(KERNEL_PLACE), on=KERNEL_PLACE, how="inner")
    return joined.with_columns(path.alias("path"))


def _levels(placed: pl.DataFrame) -> pl.DataFrame:
    levels = [pl.DataFrame(schema=SCOPE_FLOPS)]
    for level in range(_LEVELS):
        deep = placed.filter(pl.col("path").list.len() > level)
        path = pl.col("path").list.head(level + 1).list.join("/")
        rows = deep.group_by(path.alias("scope")).agg(pl.col("flops").sum())
        above = pl.col("scope").str.replace(r"/[^/]*$", "")
        parent = pl.when(pl.col("scope").str.contains("/")).then(above).otherwise(pl.lit(""))
        levels.append(
            rows.with_columns(parent.alias("parent"), pl.lit(level, pl.Int64).alias("level"))
            .sort("scope")
            .select(SCOPE_FLOPS.names())
        )
    return pl.concat(levels)
