"""When what a row of a table sums up lasted longest: the window of the timeline to which the row leads."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from drynpu.analysis.communication import communication_transfers
from drynpu.tables import STEP_PREFIX, Profile, call_name
from drynpu.views.runs import Rank
from drynpu_pages.pages._parts import WINDOW, end_time
from drynpu_pages.whatif import KERNEL_KEY

RANK = "window_rank"
"""Column with the label of the rank in whose timeline the window of a row lies, where rows are of several ranks."""
_START, _END = WINDOW


def longest(rows: pl.DataFrame, keys: Sequence[str], *more: pl.Expr) -> pl.DataFrame:
    """Return for each key the time of its longest row, with *more* sums; *rows* have the columns of `WINDOW`."""
    at = (pl.col(_END) - pl.col(_START)).arg_max()
    return rows.group_by(keys, maintain_order=True).agg(*(pl.col(name).get(at) for name in WINDOW), *more)


def of_kernels(profile: Profile, within_ns: tuple[int, int] | None) -> pl.DataFrame:
    """Return for each distinct kernel that starts inside *within_ns* its longest run, and whether any was HF32."""
    kernels = profile.compact("kernels", *KERNEL_KEY, "hf32", _START, "duration_ns")
    if within_ns is not None:
        kernels = kernels.filter(pl.col(_START).is_between(*within_ns))
    any_hf32 = pl.col("hf32").any().fill_null(value=False)
    return longest(kernels.with_columns(end_time()), KERNEL_KEY, any_hf32).with_columns(
        pl.col(KERNEL_KEY).cast(pl.String)
    )


def of_calls(profile: Profile) -> pl.DataFrame:
    """Return for each level and name of calls of the toolkit, as files show it, the longest call."""
    # The item is shown at one level alone; at others there are as many as operators.
    named = pl.when(pl.col("level").cast(pl.String) == "communication").then(pl.col("item")).alias("item")
    calls = profile.compact("api", "level", "name", "item", *WINDOW).with_columns(named)
    each = longest(calls, ["level", "name", "item"]).with_columns(pl.col("level", "name", "item").cast(pl.String))
    shown = each.with_columns(pl.col("item").fill_null(""))
    return longest(shown.with_columns(call_name()), ["level", "name"])


def of_threads(profile: Profile) -> pl.DataFrame:
    """Return for each thread its longest operator or call of the toolkit."""
    names = profile.compact("host_ops", "name", "tid", *WINDOW)
    steps = names["name"].unique().cast(pl.String)
    marks = steps.filter(steps.str.starts_with(STEP_PREFIX)).to_list()
    operators = names.filter(~pl.col("name").is_in(marks)).select("tid", *WINDOW)
    return longest(pl.concat([operators, profile.compact("api", "tid", *WINDOW)]), ["tid"])


def of_operators(profile: Profile) -> pl.DataFrame:
    """Return for each name of the framework's operators the longest one."""
    rows = longest(profile.compact("host_ops", "name", *WINDOW), ["name"])
    return rows.with_columns(pl.col("name").cast(pl.String))


def of_steps(rank: Rank, steps: Sequence[str]) -> list[tuple[int, int] | None]:
    """Return when each of some steps of a rank was on the device; ``None`` where nobody knows."""
    known = {step: rank.step_range(step) for step in dict.fromkeys(steps)}
    return [known[step] for step in steps]


def of_collectives(rank: Rank) -> tuple[int, int] | None:
    """Return the longest collective of a rank."""
    rows = rank.profile.communication_ops.sort("duration_ns", _START).tail(1)
    return None if rows.is_empty() else rows.select(_START, end_time()).row(0)


def of_links(ranks: Sequence[Rank]) -> pl.DataFrame:
    """Return for each link the longest transfer over it, with the rank that recorded it."""
    parts = [
        communication_transfers(rank.profile).select(
            pl.col("src_rank").alias("source"),
            pl.col("dst_rank").alias("target"),
            "transport",
            _START,
            (pl.col(_START) + pl.col("time_ns")).alias(_END),
            pl.lit(rank.label).alias(RANK),
        )
        for rank in ranks
    ]
    at = (pl.col(_END) - pl.col(_START)).arg_max()
    return longest(pl.concat(parts), ["source", "target", "transport"], pl.col(RANK).get(at))


def with_windows(rows: pl.DataFrame, windows: Sequence[tuple[int, int] | None]) -> pl.DataFrame:
    """Return *rows* with the columns of `WINDOW`, nulls for ``None``."""
    return rows.with_columns(
        pl.Series(name, [None if window is None else window[place] for window in windows], dtype=pl.Int64)
        for place, name in enumerate(WINDOW)
    )
