"""One iteration of a compiled graph alone (cann_msprof.md 5, 6.2)."""

from __future__ import annotations

import polars as pl
from attrs import evolve

from drynpu import CommandError
from drynpu.tables import NO_MODEL, Profile

# Exit codes of the vendor's command (cann_msprof.md 6.2).
_INVALID_PARAMETER, _STEP_TRACE = 1, 9


def select_iteration(profile: Profile, model_id: int, iteration_id: int) -> Profile:
    """
    Return the profile with the kernels, tasks, API calls and key points of one iteration only.

    Device work counts by its model and start; of an explicit step (model id 4294967295) by its start alone. Host calls
    are those inside the ``ModelExecute`` call that launched the iteration, or inside the step. Where all that ran was
    launched when the graph was loaded, that is the call with the number of the iteration.

    Raises
    ------
    CommandError
        There are no iterations, or not this model or iteration; the texts are the vendor's (Ascend/msprof
        msinterface/msprof_export.py), the exit codes in cann_msprof.md 6.2.
    """
    iterations = profile.frame("iterations")
    _check(iterations, model_id, iteration_id)
    chosen = iterations.filter((pl.col("model_id") == model_id) & (pl.col("iteration") == iteration_id))
    spans = chosen.select("device_id", "start_ns", "end_ns")
    work = (profile.tasks, profile.kernels, profile.communication_ops)
    of_model = pl.lit(True) if model_id == NO_MODEL else pl.col("model_id") == model_id
    tasks, kernels, collectives = (_inside(rows, spans).filter(of_model) for rows in work)
    key_points = ("iterations", "reduces", "get_nexts")
    of_iteration = (pl.col("model_id") == model_id) & (pl.col("iteration") == iteration_id)
    return evolve(
        profile,
        tasks=tasks,
        kernels=kernels,
        api=_calls(profile, spans, tasks, model_id, iteration_id),
        communication_ops=collectives,
        group_tables={
            name: table.filter(of_iteration) if name in key_points else table
            for name, table in profile.group_tables.items()
        },
    )


def _check(iterations: pl.DataFrame, model_id: int, iteration_id: int) -> None:
    if iterations.is_empty():
        raise CommandError(
            "Please do not set 'model-id' and 'iteration-id' in single op mode.", exit_code=_INVALID_PARAMETER
        )
    models = sorted(set(iterations["model_id"].to_list()))
    if model_id not in models:
        listed = ", ".join(str(model) for model in models)
        raise CommandError(
            f"The model id {model_id} is invalid. Must select from {{{listed}}}. Please enter a valid model id.",
            exit_code=_INVALID_PARAMETER,
        )
    numbers = iterations.filter(pl.col("model_id") == model_id)["iteration"].to_list()
    if iteration_id not in numbers:
        raise CommandError(
            f"The exported iteration {iteration_id}-{iteration_id} is invalid for model id {model_id}. "
            f"Please enter a valid iteration within {min(numbers)}-{max(numbers)}.",
            exit_code=_STEP_TRACE,
        )


def _inside(rows: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that start inside the span of their device, both ends included."""
    spans = spans.rename({"start_ns": "from_ns", "end_ns": "until_ns"})
    joined = rows.join(spans, on="device_id", how="inner", maintain_order="left")
    return joined.filter(pl.col("start_ns").is_between("from_ns", "until_ns")).select(rows.columns)


def _calls(
    profile: Profile, spans: pl.DataFrame, tasks: pl.DataFrame, model_id: int, iteration_id: int
) -> pl.DataFrame:
    start, end = spans["start_ns"].min(), spans["end_ns"].max()
    if model_id != NO_MODEL:
        launches = profile.api.join(tasks.select("connection_id"), on="connection_id", how="semi")
        if launches.is_empty():
            return launches
        of_model = profile.api.filter((pl.col("level") == "model") & (pl.col("item") == str(model_id)))
        loads = of_model.filter(pl.col("name") == "ModelLoad")
        executions = of_model.filter(pl.col("name") != "ModelLoad").sort("start_ns", maintain_order=True)
        here = launches.filter(~_within(launches, loads))
        if here.is_empty():
            around = executions.slice(iteration_id - 1, 1)
        else:
            first, last = here["start_ns"].min(), here["start_ns"].max()
            around = executions.filter((pl.col("start_ns") <= first) & (pl.col("end_ns") >= last))
        if around.is_empty():
            return around
        start, end = around["start_ns"].max(), around["end_ns"].min()
    return profile.api.filter((pl.col("start_ns") >= start) & (pl.col("end_ns") <= end))


def _within(calls: pl.DataFrame, around: pl.DataFrame) -> pl.Series:
    """Return which calls begin inside one of some others."""
    inside = [pl.col("start_ns").is_between(*bounds) for bounds in around.select("start_ns", "end_ns").iter_rows()]
    return calls.with_columns(pl.any_horizontal(pl.lit(value=False), *inside).alias("inside"))["inside"]
