"""Step Trace rows of the layer Ascend Hardware (cann_msprof.md 4.5, 5; Ascend/msprof step_trace_assembler)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from drynpu.analysis import iteration_trace
from drynpu.tables import NO_MODEL, Profile
from drynpu.writers import layers
from drynpu.writers.number_text import Writer, decimal_text, us_text
from drynpu.writers.trace_json import Events, JsonStyle, Value, constant

Block = Events | Sequence[str]

_FIRST_TID = 70_000


def step_trace_blocks(profile: Profile, style: JsonStyle, writer: Writer) -> Iterator[Block]:
    """Yield the Step Trace rows of the layer Ascend Hardware (cann_msprof.md 4.5, 5)."""
    trace = _with_threads(profile, iteration_trace(profile), writer)
    if trace.is_empty():
        return
    pid = layers.layer_pids(profile.pid, layers.ASCEND_HARDWARE)
    yield Events(trace, _iteration(pid))
    marked = trace.filter(pl.col("forward_ns").is_not_null() & pl.col("backward_ns").is_not_null())
    yield Events(marked, _forward_backward(pid))
    yield Events(marked, _refresh(pid, writer))
    yield from _augmentation(marked, pid, writer)
    yield from _metadata(profile, trace, style)
    yield Events(_with_threads(profile, _reduces(profile, writer), writer), _reduce(pid, style, writer))
    yield Events(_with_threads(profile, profile.frame("get_nexts"), writer), _get_next(pid))


def _with_threads(profile: Profile, rows: pl.DataFrame, writer: Writer) -> pl.DataFrame:
    """
    Add the thread of each row (``tid``) and its place in the order of threads (``sort_index``).

    The native writer adds the model id as a signed number; the Python writer numbers models from the process id on
    (cann_msprof.md 7.6).
    """
    signed = pl.when(pl.col("model_id") == NO_MODEL).then(pl.lit(-1)).otherwise("model_id")
    if writer is Writer.NATIVE:
        return rows.with_columns((signed + _FIRST_TID).alias("tid"), (signed + _FIRST_TID).alias("sort_index"))
    models = sorted(set(profile.frame("iterations")["model_id"].to_list()))
    place = pl.col("model_id").replace_strict(models, list(range(len(models))), return_dtype=pl.Int64, default=0)
    return rows.with_columns(
        (place + _FIRST_TID + profile.pid).alias("tid"), (pl.col("model_id") + _FIRST_TID).alias("sort_index")
    )


def _metadata(profile: Profile, trace: pl.DataFrame, style: JsonStyle) -> Iterator[Block]:
    for device_id in trace["device_id"].unique().sort().to_list():
        models = trace.filter(pl.col("device_id") == device_id).select("model_id", "tid", "sort_index").unique()
        threads = [
            layers.Thread(tid, f"Step Trace(Model ID:{model})", sort_index)
            for model, tid, sort_index in models.sort("model_id").iter_rows()
        ]
        yield layers.metadata_events(profile.pid, layers.ASCEND_HARDWARE, device_id, threads, style)


def _quoted(ns: str) -> pl.Expr:
    """Return a time as a JSON string in microseconds, ``"N/A"`` where it is missing."""
    return pl.concat_str([pl.lit('"'), us_text(pl.col(ns)).fill_null("N/A"), pl.lit('"')])


def _duration(
    name: Value, pid: Value, start: str, length: pl.Expr, category: str, args: dict[str, Value]
) -> dict[str, Value]:
    return {
        "name": name,
        "pid": pid,
        "tid": pl.col("tid"),
        "ts": _quoted(start),
        "dur": decimal_text(length),
        "ph": '"X"',
        "cat": constant(category),
        "args": args,
    }


def _titled(title: str) -> Value:
    return (f'"{title} ', pl.col("iteration").cast(pl.String), '"')


def _iteration(pid: Value) -> dict[str, Value]:
    args: dict[str, Value] = {
        "Iteration ID": pl.col("iteration"),
        "FP Start": _quoted("forward_ns"),
        "BP End": _quoted("backward_ns"),
        "Iteration End": _quoted("end_ns"),
        "Iteration Time(us)": decimal_text(pl.col("iteration_ns")),
    }
    length = pl.col("iteration_ns")
    return _duration(_titled("Iteration"), pid, "start_ns", length, "Iteration Time", args)


def _forward_backward(pid: Value) -> dict[str, Value]:
    args: dict[str, Value] = {
        "Iteration ID": pl.col("iteration"),
        "FP Start": _quoted("forward_ns"),
        "BP End": _quoted("backward_ns"),
        "FP_BP Time(us)": decimal_text(pl.col("forward_backward_ns")),
    }
    length = pl.col("forward_backward_ns")
    return _duration(_titled("FP_BP Time"), pid, "forward_ns", length, "FP_BP Time", args)


def _refresh(pid: Value, writer: Writer) -> dict[str, Value]:
    shown = decimal_text(pl.col("refresh_ns"))
    if writer is Writer.PYTHON:  # to it a length of 0 is none
        shown = pl.when(pl.col("refresh_ns") == 0).then(pl.lit('"N/A"')).otherwise(shown)
    args: dict[str, Value] = {
        "Iteration ID": pl.col("iteration"),
        "BP End": _quoted("backward_ns"),
        "Iteration End": _quoted("end_ns"),
        "Iteration Refresh(us)": shown,
    }
    length = pl.col("refresh_ns")
    return _duration(_titled("Iteration Refresh"), pid, "backward_ns", length, "Iteration Refresh", args)


def _augmentation(marked: pl.DataFrame, pid: Value, writer: Writer) -> Iterator[Block]:
    """
    Yield the arrow between iterations: its end at this forward start, its beginning for the next iteration.

    It begins half the waiting time after the backward end (native), or in the middle of the refresh (Python writer).
    """
    waited = pl.col("augmentation_ns").fill_null(0)
    half = (waited if writer is Writer.NATIVE else pl.col("refresh_ns")) // 2
    rows = marked.with_columns(
        (pl.col("iteration") - 1).alias("before"),
        (pl.col("backward_ns") + half).alias("from_ns"),
        waited.alias("waited"),
    )
    for name, phase, time, args in (
        ("before", "t", "forward_ns", {"Iteration ID": pl.col("iteration")}),
        ("iteration", "s", "from_ns", {"Data_aug Bound(us)": decimal_text(pl.col("waited"))}),
    ):
        members: dict[str, Value] = {
            "name": ('"Data_aug Bound ', pl.col(name).cast(pl.String), '"'),
            "pid": pid,
            "tid": pl.col("tid"),
            "ph": constant(phase),
            "cat": '"Data_aug Bound"',
            "id": ('"Data_aug Bound ', _text(pid), "_", pl.col("tid").cast(pl.String), '"'),
            "ts": _quoted(time),
            "args": args,
        }
        yield Events(rows, members)


def _text(value: Value) -> pl.Expr:
    if not isinstance(value, pl.Expr):
        raise TypeError(f"{value!r} is no expression")
    return value.cast(pl.String)


def _reduces(profile: Profile, writer: Writer) -> pl.DataFrame:
    """Number all-reduces: over all of them (native), or within each iteration (Python writer)."""
    number = pl.int_range(pl.len(), dtype=pl.Int64)
    per_iteration = number.over("device_id", "model_id", "iteration")
    rows = profile.frame("reduces")
    return rows.with_columns((number if writer is Writer.NATIVE else per_iteration).alias("place"))


def _reduce(pid: Value, style: JsonStyle, writer: Writer) -> dict[str, Value]:
    """Describe an all-reduce; the native writer shows its times in whole nanoseconds, the end first."""
    place = pl.col("place").cast(pl.String)
    native = writer is Writer.NATIVE

    def member(side: str, ns: str) -> tuple[str | pl.Expr, ...]:
        time = pl.col(ns).cast(pl.String) if native else us_text(pl.col(ns))
        return f'{style.comma}"Reduce {side} ', place, f'"{style.colon}"', time, '"'

    first, second = member("Start", "start_ns"), member("End", "end_ns")
    iteration = ('{"Iteration ID"', style.colon, pl.col("iteration").cast(pl.String))
    name = ('"Reduce_', pl.col("iteration").cast(pl.String), "_", place, '"')
    both = (*second, *first) if native else (*first, *second)
    length = pl.col("end_ns") - pl.col("start_ns")
    return {**_duration(name, pid, "start_ns", length, "Reduce", {}), "args": (*iteration, *both, "}")}


def _get_next(pid: Value) -> dict[str, Value]:
    length = pl.col("end_ns") - pl.col("start_ns")
    args: dict[str, Value] = {
        "GetNext Start": _quoted("start_ns"),
        "GetNext End": _quoted("end_ns"),
        "GetNext Time(us)": decimal_text(length),
    }
    return _duration('"GetNext"', pid, "start_ns", length, "GetNext Time", args)
