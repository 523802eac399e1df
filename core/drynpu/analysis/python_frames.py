"""Python frames from the tracer's calls and returns, all threads at once (torch_npu_profiler.md 3.7, 4.1)."""

from __future__ import annotations

import polars as pl

from drynpu.layouts.framework_torch import MODULE_MARK

# Tags of the tracer: returns from Python and from C functions (torch_npu_profiler.md 3.7).
_RETURN_TAGS = (1, 3)
_KEY = ["tid", "level"]


def python_frames(calls: pl.DataFrame) -> pl.DataFrame:
    """
    Return one row per frame: id, parent_id, name, module_id, pid, tid, start_ns, end_ns; in order of return.

    A return with no open call is left out; a call that never returns ends with its thread's last event. Ids count
    the events of a thread from 0; the parent of an outermost frame is 0. A module call, recorded as
    ``<class>######<object>``, becomes ``nn.Module: <class>_<n>``, objects of a class numbered as they appear.
    """
    events = _levels(calls)
    opened = events.filter(pl.col("is_call"))
    closed = events.filter(~pl.col("is_call")).select(*_KEY, "id", pl.col("time_ns").alias("end_ns"))
    # Calls and returns of one thread and level take turns, so the next return on the level is the call's own.
    closed = closed.with_columns(pl.col("id").alias("return_id"))
    frames = opened.sort("id").join_asof(
        closed.sort("id"), on="id", by=_KEY, strategy="forward", check_sortedness=False
    )
    outer = opened.select("tid", (pl.col("level") + 1).alias("level"), "id", pl.col("id").alias("parent_id"))
    frames = frames.join_asof(outer.sort("id"), on="id", by=_KEY, strategy="backward", check_sortedness=False)
    last = calls.group_by("tid").agg(pl.col("time_ns").max().alias("last_ns"), pl.len().alias("events"))
    never = pl.col("events").cast(pl.Int64) + pl.col("level").max() - pl.col("level")
    return (
        _named(frames.join(last, on="tid", how="left"))
        .with_columns(pl.col("return_id").fill_null(never))
        .sort("tid", "return_id")
        .select(
            "id",
            pl.col("parent_id").fill_null(0),
            "name",
            "module_id",
            "pid",
            "tid",
            pl.col("time_ns").alias("start_ns"),
            pl.col("end_ns").fill_null(pl.col("last_ns")),
        )
    )


def _levels(calls: pl.DataFrame) -> pl.DataFrame:
    """Events of each thread in time order with the stack level that they open or close; stray returns left out."""
    is_call = ~pl.col("tag").is_in(_RETURN_TAGS)
    step = pl.when(is_call).then(1).otherwise(-1)
    height = step.cum_sum().over("tid")
    # A return on an empty stack does not lower it: the floor follows the lowest height so far.
    floor = pl.min_horizontal(height.cum_min().over("tid"), 0)
    return (
        calls.sort("tid", "time_ns", maintain_order=True)
        .with_columns(
            is_call.alias("is_call"),
            (height - floor).cast(pl.Int64).alias("level"),
            pl.int_range(pl.len(), dtype=pl.Int64).over("tid").alias("id"),
        )
        .with_columns(pl.col("level").shift(1, fill_value=0).over("tid").alias("before"))
        .with_columns(pl.when("is_call").then("level").otherwise("before").alias("level"))
        .filter(pl.col("level") > 0)
    )


def _named(frames: pl.DataFrame) -> pl.DataFrame:
    """Number the objects of a thread: one keeps the number of its first call, whatever class a later one names."""
    class_name, object_id = (pl.col("name").str.split(MODULE_MARK).list.get(part, null_on_oob=True) for part in (0, 1))
    named = frames.with_columns(class_name.alias("class_name"), object_id.alias("object_id"))
    first = (
        named.filter(pl.col("object_id").is_not_null())
        .sort("tid", "id")
        .unique(["tid", "object_id"], keep="first", maintain_order=True)
    )
    numbers = first.select(
        "tid", "object_id", pl.int_range(pl.len(), dtype=pl.Int64).over("tid", "class_name").alias("module_id")
    )
    shown = pl.concat_str(
        [pl.lit("nn.Module: "), pl.col("class_name"), pl.lit("_"), pl.col("module_id").cast(pl.String)]
    )
    return named.join(numbers, on=["tid", "object_id"], how="left", maintain_order="left").with_columns(
        pl.coalesce(shown, pl.col("name")).alias("name")
    )
