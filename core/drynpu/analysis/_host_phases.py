"""The phases of training steps on the host, where memory is allocated: forward, backward, optimizer."""

from __future__ import annotations

import polars as pl

from drynpu.analysis._kept import once_per_profile
from drynpu.analysis._steps import host_steps
from drynpu.analysis.links import link_operators
from drynpu.tables import Profile

HOST_PHASES = pl.Schema(
    {
        "step": pl.String,
        "start_ns": pl.Int64,
        "forward_ns": pl.Int64,  # start of the first operator that launches a kernel
        "backward_start_ns": pl.Int64,
        "backward_end_ns": pl.Int64,
        "optimizer_start_ns": pl.Int64,
        "optimizer_end_ns": pl.Int64,
        "end_ns": pl.Int64,
    }
)
"""One row per step in host order; null where a step has no such phase."""

BACKWARD_SCOPE = 1
"""Scope of operators that autograd runs (RecordScope::BACKWARD_FUNCTION of PyTorch)."""
AUTOGRAD_NAME = "autograd::engine::evaluate_function"
"""Begins the name of what autograd runs; timelines have the name and no scope."""
_BACKWARD_SCOPE_NAME = r"(^|::)Gradients/"
"""What MindSpore calls operators of backward propagation."""
_OPTIMIZER_NAME = r"^Optimizer\.step#|(^|::)Default/optimizer-"
"""The annotation of PyTorch around a step of an optimizer, and MindSpore's names of its operators."""


@once_per_profile
def host_phases(profile: Profile) -> pl.DataFrame:
    """
    Return table :data:`HOST_PHASES`; empty without steps.

    Backward propagation lasts from the first to the last operator of autograd, or of MindSpore's gradients, that starts
    in the step; the optimizer likewise.
    """
    steps = host_steps(profile)
    if steps.is_empty():
        return pl.DataFrame(schema=HOST_PHASES)
    ops = profile.host_ops.select("op_id", "name", "start_ns", "end_ns", "scope")
    launching = ops.join(_launching(profile), on="op_id", how="semi")
    phases = steps.select(
        pl.col("step_id").cast(pl.String).alias("step"),
        pl.col("host_start_ns").alias("start_ns"),
        pl.col("host_end_ns").alias("end_ns"),
    ).sort("start_ns")
    parts = {
        "forward": launching,
        "backward": ops.filter(is_backward()),
        "optimizer": ops.filter(pl.col("name").str.contains(_OPTIMIZER_NAME)),
    }
    for name, rows in parts.items():
        phases = phases.join(_within(rows, phases, name), on="step", how="left", maintain_order="left")
    return phases.rename({"forward_start_ns": "forward_ns"}).select(
        pl.col(name).cast(dtype) for name, dtype in HOST_PHASES.items()
    )


def is_backward() -> pl.Expr:
    """Return whether an operator is a part of backward propagation; what autograd calls in turn is not."""
    named = pl.col("name").str.starts_with(AUTOGRAD_NAME) | pl.col("name").str.contains(_BACKWARD_SCOPE_NAME)
    return named | (pl.col("scope") == BACKWARD_SCOPE).fill_null(value=False)


def _launching(profile: Profile) -> pl.DataFrame:
    work = link_operators(profile).kernel_op
    return work.filter(pl.col("kind") == "kernel").select("op_id").unique()


def _within(rows: pl.DataFrame, steps: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return for each step the first start and last end of the rows that start in it."""
    limits = steps.select("step", pl.col("start_ns").alias("step_start_ns"), pl.col("end_ns").alias("step_end_ns"))
    placed = rows.sort("start_ns").join_asof(
        limits.sort("step_start_ns"), left_on="start_ns", right_on="step_start_ns", check_sortedness=False
    )
    return (
        placed.filter(pl.col("start_ns") <= pl.col("step_end_ns"))
        .group_by("step")
        .agg(
            pl.col("start_ns").min().alias(f"{name}_start_ns"),
            pl.col("end_ns").max().alias(f"{name}_end_ns"),
        )
    )
