"""The time of modules, operators and kernels as a tree: what a flame graph shows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from drynpu import at_stage
from drynpu.analysis import link_operators, module_calls, modules_at, step_ranges
from drynpu.arrays import I64
from drynpu.tables import STEP_PREFIX, Profile
from drynpu.tables.intervals import innermost

FLAME = pl.Schema(
    {
        "path": pl.String,  # names from the root, joined by SEPARATOR
        "parent": pl.String,  # path of what it is part of, "" of the root
        "name": pl.String,
        "kind": pl.String,  # module, operator, kernel
        "calls": pl.Int64,  # null where only what stands below took time
        "self_us": pl.Float64,
        "total_us": pl.Float64,
        "start_ns": pl.Int64,  # of the longest call, on the host
        "end_ns": pl.Int64,
    }
)
"""One row per place in the tree, what stands above another before it."""

SEPARATOR = "\x1f"
DEVICE, HOST = "device", "host"
"""What time is shown: of the kernels that were launched, or of the operators themselves on the host."""
UNLINKED = "launched by no operator"
_SELF = pl.Schema(
    {"path": pl.String, "kind": pl.String, "calls": pl.Int64, "us": pl.Float64}
    | dict.fromkeys(("start_ns", "end_ns"), pl.Int64)
)


def flame_tree(profile: Profile, weight: str = DEVICE, step: str = "") -> pl.DataFrame:
    """
    Return table :data:`FLAME` of a profile.

    An operator stands in the operator that called it, the outermost in the modules that were open when it began
    (in backward propagation: of its forward operator), modules in each other. With *weight* `DEVICE` kernels stand by
    type in the operator that launched them, with `HOST` operators have the time that they took themselves.

    Parameters
    ----------
    weight:
        `DEVICE` or `HOST`.
    step:
        Only operators that began in this step on the host; all for ``""``.
    """
    tree: pl.DataFrame = profile.keep(f"flame {weight} {step}", lambda: _tree(_weighed(profile, weight, step)))
    return tree


def _weighed(profile: Profile, weight: str, step: str) -> pl.DataFrame:
    """Return the time of each path without what stands below it."""
    at_stage("Nesting operators in modules")
    operators = link_operators(profile).operators.frame().select("op_id", "name", "start_ns", "end_ns")
    if operators.is_empty():
        return _scoped(profile) if weight == DEVICE else pl.DataFrame(schema=_SELF)
    is_step = operators["name"].str.starts_with(STEP_PREFIX)
    parents = link_operators(profile).op_parent
    # Steps are not part of the program: their operators stand side by side.
    parents = np.where((parents >= 0) & is_step.to_numpy()[parents], -1, parents)
    length = (operators["end_ns"] - operators["start_ns"]).to_numpy()
    below = np.zeros(len(length), np.int64)
    np.add.at(below, parents[parents >= 0], length[parents >= 0])
    own_us = pl.Series("us", np.maximum(length - below, 0) / 1000)
    rows = operators.with_columns(_paths(profile, operators, parents).alias("path"), own_us).filter(~is_step)
    within = _host_range(profile, step)
    if within is not None:
        rows = rows.filter(pl.col("start_ns").is_between(*within))
    if weight == HOST:
        return _summed(rows, "operator")
    return _by_kernel(profile, rows, whole=within is None)


def _by_kernel(profile: Profile, rows: pl.DataFrame, *, whole: bool) -> pl.DataFrame:
    """Return the time of kernels, copies and collectives by type, in the operators that launched them."""
    keys = ("device_id", "start_ns")
    types = profile.compact("kernels", *keys, "op_type", "name").with_columns(pl.col("op_type", "name").cast(pl.String))
    work = link_operators(profile).kernel_op.join(types.unique(keys), on=keys, how="left")
    # At level0 kernels have no types, only names; copies and collectives have neither.
    known = [pl.when(pl.col(name) != "").then(name) for name in ("op_type", "name")]
    kind = pl.coalesce(*known, "task_type")
    ran = work.select(
        "op_id",
        kind.alias("type"),
        (pl.col("duration_ns") / 1000).alias("us"),
        pl.col("start_ns").alias("ran_ns"),
        (pl.col("start_ns") + pl.col("duration_ns")).alias("ran_until_ns"),
    )
    placed = ran.join(rows.drop("us"), on="op_id", how="left" if whole else "inner")
    path = pl.concat_str(pl.col("path").fill_null(UNLINKED), pl.lit(SEPARATOR), "type")
    timed = placed.with_columns(
        path.alias("path"),
        pl.min_horizontal("start_ns", "ran_ns").alias("start_ns"),
        pl.max_horizontal("end_ns", "ran_until_ns").alias("end_ns"),
    )
    return _summed(timed, "kernel")


def _scoped(profile: Profile) -> pl.DataFrame:
    """Return kernels by the scopes in their names, where no operators of a framework were recorded."""
    kernels = profile.compact("kernels", "name", "op_type", "start_ns", "duration_ns")
    kernels = kernels.with_columns(pl.col("name", "op_type").cast(pl.String))
    scopes = pl.col("name").str.split("/")
    path = pl.concat_list(scopes.list.head(scopes.list.len() - 1), pl.col("op_type")).list.join(SEPARATOR)
    ends = (pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns")
    return _summed(kernels.with_columns(path.alias("path"), (pl.col("duration_ns") / 1000).alias("us"), ends), "kernel")


def _summed(rows: pl.DataFrame, kind: str) -> pl.DataFrame:
    longest = pl.col("us").arg_max()
    sums = rows.group_by("path", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("calls"),
        pl.col("us").sum(),
        pl.col("start_ns").get(longest),
        pl.col("end_ns").get(longest),
    )
    return sums.with_columns(pl.lit(kind).alias("kind")).select(_SELF.names())


def _host_range(profile: Profile, step: str) -> tuple[int, int] | None:
    ranges = step_ranges(profile).filter(pl.col("step_id").cast(pl.String) == step) if step else pl.DataFrame()
    row = next(ranges.drop_nulls("host_start_ns").iter_rows(named=True), None) if ranges.height else None
    return None if row is None else (row["host_start_ns"], row["host_end_ns"])


def _paths(profile: Profile, operators: pl.DataFrame, parents: I64) -> pl.Series:
    """Return the path of each operator, level by level: as many steps as operators are deep."""
    outer = _module_paths(profile, operators["start_ns"].to_numpy())
    names = operators["name"]
    path = pl.select(
        pl.when(outer == "").then(names).otherwise(pl.concat_str(outer, pl.lit(SEPARATOR), names)).alias("path")
    ).to_series()
    waiting = np.flatnonzero(parents >= 0)
    known = parents < 0
    while len(waiting):
        now = waiting[known[parents[waiting]]]
        if not len(now):  # an operator cannot be inside itself
            break
        inner = pl.select(pl.concat_str(path.gather(parents[now]), pl.lit(SEPARATOR), names.gather(now))).to_series()
        path = path.scatter(now, inner)
        known[now] = True
        waiting = waiting[~known[waiting]]
    return path


def _module_paths(profile: Profile, time_ns: I64) -> pl.Series:
    """Return the modules around each time, outermost first; ``""`` where modules were not recorded."""
    calls = module_calls(profile)
    names = modules_at(profile, time_ns)
    if calls.is_empty():
        return names
    paths = {name: path for path, name in _nested(calls)}
    nested: pl.Series = names.replace_strict(list(paths), list(paths.values()), default=names, return_dtype=pl.String)
    return nested


def _nested(calls: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield path and name of each module, as it was first called."""
    first = calls.unique("name", keep="first", maintain_order=True).sort("start_ns", maintain_order=True)
    start, end = (first[name].to_numpy() for name in ("start_ns", "end_ns"))
    same = np.zeros(len(start), np.int64)
    # A nanosecond earlier the module itself is not open yet.
    around = innermost(start, end, same, start - 1, same)
    paths: list[str] = []
    for name, outer in zip(first["name"], around.tolist(), strict=True):
        paths.append(f"{paths[outer]}{SEPARATOR}{name}" if 0 <= outer < len(paths) else name)
        yield paths[-1], name


def _tree(times: pl.DataFrame) -> pl.DataFrame:
    """Return the places of the tree with the sums of all that stands below them."""
    parts = pl.col("path").str.split(SEPARATOR)
    deep = times.with_columns(parts.alias("parts")).with_columns(pl.col("parts").list.len().alias("depth"))
    levels = []
    for depth in range(1, max(deep["depth"], default=0) + 1):
        below = deep.filter(pl.col("depth") >= depth)
        is_own = pl.col("depth") == depth
        longest = (pl.col("end_ns") - pl.col("start_ns")).arg_max()
        levels.append(
            below.group_by(pl.col("parts").list.head(depth).alias("parts"), maintain_order=True).agg(
                pl.when(is_own.any()).then(pl.col("kind").filter(is_own).first()).alias("kind"),
                pl.when(is_own.any()).then(pl.col("calls").filter(is_own).sum()).alias("calls"),
                pl.col("us").filter(is_own).sum().alias("self_us"),
                pl.col("us").sum().alias("total_us"),
                pl.col("start_ns").get(longest),
                pl.col("end_ns").get(longest),
            )
        )
    if not levels:
        return pl.DataFrame(schema=FLAME)
    whole = pl.concat(levels)
    above = pl.col("parts").list.head(pl.col("parts").list.len() - 1).list.join(SEPARATOR)
    name = pl.col("parts").list.last()
    module = name.str.contains(r"^[A-Za-z_]\w*_\d+$")
    return whole.with_columns(
        pl.col("parts").list.join(SEPARATOR).alias("path"),
        above.alias("parent"),
        name.alias("name"),
        pl.col("kind").fill_null(pl.when(module).then(pl.lit("module")).otherwise(pl.lit("operator"))),
    ).select(pl.col(column).cast(dtype) for column, dtype in FLAME.items())
