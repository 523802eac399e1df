"""op_summary of the toolkit and kernel_details of torch, which is made from it (cann_msprof.md 4.2)."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from drynpu.platforms import Platform
from drynpu.tables import KERNELS
from drynpu.tables.stored import Stored, with_codes
from drynpu.writers.number_text import (
    UNKNOWN,
    Writer,
    duration_text,
    rounded_text,
    thousandths_text,
    us_text,
    wait_text,
    whole_text,
    whole_words,
)
from drynpu.writers.text_table import TextTable

STARTS = "start_ns"
"""Column of ``op_summary`` that the file does not have: start in ns, to find the step of a row."""

_WHOLE_TASK = 4294967295
_NO_MODEL = "4294967295"
_STARS_COLUMNS = ("Mix Block Num", "Context ID")
"""Neither exists on chips without the STARS scheduler (cann_msprof.md 4.2)."""
_LEFT_OUT = ("WRITE_BACK", "INVALID", "HCCL_AI_CPU", "COMMUNICATION")
_KEPT_COMMUNICATION_SUFFIX = "AivKernel"

_BASE = (
    "Device_id",
    "Model ID",
    "Task ID",
    "Stream ID",
    "Op Name",
    "OP Type",
    "OP State",
    "Task Type",
    "Task Start Time(us)",
    "Task Duration(us)",
    "Task Wait Time(us)",
)
_TENSORS = (
    "Input Shapes",
    "Input Data Types",
    "Input Formats",
    "Output Shapes",
    "Output Data Types",
    "Output Formats",
)
_PLAIN = frozenset(
    {
        *("Device_id", "Model ID", "Task ID", "Stream ID", "Block Num", "Mix Block Num", "HF32 Eligible", "Context ID"),
        *("Task Start Time(us)", "Task Duration(us)", "Task Wait Time(us)"),
        *("Start Time(us)", "Duration(us)", "Wait Time(us)", "Step Id"),
        *("OP State", "Task Type", "Accelerator Core"),
        *(f"{side} {part}" for side in ("Input", "Output") for part in ("Data Types", "Formats")),
    }
)
"""Columns whose cells are numbers or words of the tables, under their names in either file."""
_SHAPES = ("input_shapes", "output_shapes")
_UNUSED = ("device_id", "batch_id", "start_ns", "duration_ns", "connection_id", "node_start_ns", "node_tid")
"""Columns of kernels that no cell is made of, or times, which are there for all rows already."""
_NUMBERS = {
    "model_id": "Model ID",
    "task_id": "Task ID",
    "stream_id": "Stream ID",
    "block_num": "Block Num",
    "mix_block_num": "Mix Block Num",
}
_DETAILS = ("Block Num", "Mix Block Num", "HF32 Eligible", *_TENSORS, "Context ID")

_TORCH_NAMES = {
    "Op Name": "Name",
    "OP Type": "Type",
    "Task Type": "Accelerator Core",
    "Task Start Time(us)": "Start Time(us)",
    "Task Duration(us)": "Duration(us)",
    "Task Wait Time(us)": "Wait Time(us)",
}
_TORCH_LEVEL0 = (
    "Device_id",
    "Op Name",
    "OP Type",
    "Task Type",
    "Task Start Time(us)",
    "Task Duration(us)",
    "Task Wait Time(us)",
    "Block Num",
    "Mix Block Num",
    *_TENSORS,
)


def op_summary(
    kernels: Stored | pl.DataFrame, communication_ops: pl.DataFrame, *, level: str, platform: Platform, writer: Writer
) -> TextTable:
    """
    Return the rows of op_summary as text, with the column ``STARTS`` (Int64) last.

    Kernels and collectives by device, then start; waiting times run over all rows of a device
    (``max(0, start - previous start - previous duration)``). At level0 everything that needs operator information
    is ``N/A`` and there are no counters.
    """
    level0 = level == "level0"
    table = with_codes(kernels).reworded(dict.fromkeys(_SHAPES, _quoted))
    counters = [] if level0 else [name for name in table.schema if name not in KERNELS]
    of_kernels = _kernel_cells(table, counters, writer, level0=level0)
    of_collectives = _collective_cells(level0=level0)
    order = _order(table, communication_ops)
    needed = [name for name in table.schema if name not in _UNUSED]
    first_collective = table.height
    columns: tuple[str, ...] = (*_BASE, *_DETAILS, *counters)
    if not (order["row"] < first_collective).any():
        columns = (*_BASE, "Context ID")
    if not platform.tasks.stars:
        columns = tuple(name for name in columns if name not in _STARS_COLUMNS)

    def make(offset: int, count: int) -> pl.DataFrame:
        part = order.slice(offset, count)
        row = part["row"]
        if communication_ops.is_empty():
            cells = _shown(table.gather_compact(row, *needed), of_kernels)
        else:
            is_kernel = row < first_collective
            cells = _shown(table.gather_compact(row.filter(is_kernel), *needed), of_kernels)
            chosen = communication_ops[row.filter(~is_kernel) - first_collective].select(of_collectives)
            cells = _mixed(cells, chosen, is_kernel)
        shown = cells.hstack([whole_words(part["device_id"]).alias("Device_id"), *part.select(_times(writer))])
        return shown.select(*(_filled(shown, name) for name in columns), STARTS)

    return TextTable((*columns, STARTS), order.height, make, _PLAIN.union(counters))


def _mixed(kernels: pl.DataFrame, collectives: pl.DataFrame, is_kernel: pl.Series) -> pl.DataFrame:
    """Return the cells of kernels and collectives in the order in which they ran."""
    if collectives.is_empty():
        return kernels
    words = [name for name in collectives.columns if name in kernels and kernels[name].dtype == pl.Categorical]
    together = pl.concat(
        [kernels, collectives.with_columns(pl.col(words).cast(pl.Categorical))], how="diagonal_relaxed"
    )
    place = pl.concat([is_kernel.arg_true(), (~is_kernel).arg_true()])
    return together[place.arg_sort()]


def _filled(cells: pl.DataFrame, name: str) -> pl.Expr:
    if not cells[name].null_count():
        return pl.col(name)
    return pl.col(name).fill_null(_word(UNKNOWN) if cells[name].dtype == pl.Categorical else UNKNOWN)


def _shown(kernels: pl.DataFrame, cells: list[pl.Expr]) -> pl.DataFrame:
    """Return kernels as cells, with columns of few texts as categories."""
    numbers = {title: whole_words(kernels[name]).alias(title) for name, title in _NUMBERS.items()}
    whole = bool((kernels["context_id"] == _WHOLE_TASK).all())
    context = whole_text(pl.col("context_id"))
    context = pl.when(pl.col("context_id") == _WHOLE_TASK).then(pl.lit(UNKNOWN)).otherwise(context)
    shown = kernels.select(*cells, (_word(UNKNOWN) if whole else context).alias("Context ID"))
    return shown.with_columns(column for title, column in numbers.items() if title not in shown.columns)


def _word(text: str) -> pl.Expr:
    return pl.lit(text).cast(pl.Categorical)


def _quoted(words: pl.Series) -> pl.Series:
    """Return shapes in quotes of their own, so that spreadsheets take them as text."""
    quoted: pl.Series = '"' + words + '"'
    return quoted


def _order(kernels: Stored, communication_ops: pl.DataFrame) -> pl.DataFrame:
    """Return when each row of the file ran, and its row in the tables: collectives are numbered after kernels."""
    kept = ~pl.col("task_type").is_in(_LEFT_OUT) | (
        (pl.col("task_type") == "COMMUNICATION") & pl.col("name").str.ends_with(_KEPT_COMMUNICATION_SUFFIX)
    )
    times = ("device_id", STARTS, "duration_ns")
    ran = pl.concat(
        part.select(*times, kept.alias("kept")) for part in kernels.slices(*times, "task_type", "name")
    ).with_row_index("row")
    ran = ran.filter("kept").drop("kept") if not ran["kept"].all() else ran.drop("kept")
    collectives = communication_ops.select(times).with_row_index("row", offset=kernels.height)
    ordered = pl.concat([ran, collectives]) if collectives.height else ran
    del ran
    if not _is_ordered(ordered):
        ordered = ordered.sort("device_id", STARTS, maintain_order=True)
    end = pl.col(STARTS) + pl.col("duration_ns")
    before = end.shift(1)
    if ordered.height and ordered["device_id"].min() != ordered["device_id"].max():
        before = before.over("device_id")
    wait = (pl.col(STARTS) - before).clip(lower_bound=0)
    return ordered.with_columns(wait.alias("wait_ns"))


def _is_ordered(rows: pl.DataFrame) -> bool:
    """Return whether rows are in order of device and start already, as rows of one device usually are."""
    device, start = rows["device_id"], rows[STARTS]
    return device.min() == device.max() and start.is_sorted()


def _kernel_cells(kernels: Stored, counters: list[str], writer: Writer, *, level0: bool) -> list[pl.Expr]:
    return [
        _known("name").alias("Op Name"),
        *(_no_operator_info() if level0 else _operator_info()),
        *(_counter(kernels, name, writer) for name in counters),
    ]


def _text(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.String)


def _known(name: str) -> pl.Expr:
    return pl.when(pl.col(name) == "").then(_word(UNKNOWN)).otherwise(name)


def _operator_info() -> list[pl.Expr]:
    tensors: list[pl.Expr] = []
    for side, shown in (("input", "Input"), ("output", "Output")):
        absent = pl.col(f"{side}_dtypes") == ""
        tensors.append(pl.when(absent).then(_word(UNKNOWN)).otherwise(f"{side}_shapes").alias(f"{shown} Shapes"))
        tensors.append(_known(f"{side}_dtypes").alias(f"{shown} Data Types"))
        tensors.append(_known(f"{side}_formats").alias(f"{shown} Formats"))
    return [
        _known("op_type").alias("OP Type"),
        _known("op_state").alias("OP State"),
        _known("task_type").alias("Task Type"),
        pl.when(pl.col("hf32")).then(_word("YES")).otherwise(_word("NO")).alias("HF32 Eligible"),
        *tensors,
    ]


def _no_operator_info() -> list[pl.Expr]:
    unknown = ("OP Type", "OP State", "Task Type", "HF32 Eligible", *_TENSORS)
    blocks = ("Block Num", "Mix Block Num")
    return [*(_word(UNKNOWN).alias(name) for name in unknown), *(_word("0").alias(name) for name in blocks)]


def _counter(kernels: Stored, name: str, writer: Writer) -> pl.Expr:
    """Counters are whole numbers or floats with at most three decimals; the cube utilisation has exactly three."""
    if not kernels.schema[name].is_float():
        return _text(name).alias(name)
    # The tables mark what does not apply to a kernel as NaN.
    value = pl.col(name).fill_nan(None)
    if name == "cube_utilization(%)" and writer is Writer.NATIVE:
        return thousandths_text(value).alias(name)
    return rounded_text(value).alias(name)


def _collective_cells(*, level0: bool) -> list[pl.Expr]:
    """Collectives keep name, type (not at level0), start and duration (cann_msprof.md 8); the rest is ``N/A``."""
    # hcom_allReduce__586_0_1 -> hcom_allReduce_
    named = pl.col("name").str.extract(r"^(.+?_)_\d")
    known = pl.when(pl.col("op_type") != "").then("op_type").otherwise(named).fill_null(UNKNOWN)
    op_type = pl.lit(UNKNOWN) if level0 else known
    return [
        _text("model_id").fill_null(_NO_MODEL).alias("Model ID"),
        pl.col("name").alias("Op Name"),
        op_type.alias("OP Type"),
        pl.lit("COMMUNICATION").alias("Task Type"),
        pl.lit("0").alias("Block Num"),
    ]


def _times(writer: Writer) -> list[pl.Expr]:
    wait = pl.col("wait_ns")
    shown = wait_text(wait.fill_null(0), writer)
    return [
        us_text(pl.col(STARTS), "\t").alias("Task Start Time(us)"),
        # A kernel of which nobody knows how long it took ends as it starts.
        pl.when(pl.col("duration_ns") > 0)
        .then(duration_text(pl.col("duration_ns"), writer))
        .otherwise(pl.lit(UNKNOWN))
        .alias("Task Duration(us)"),
        pl.when(wait.is_null()).then(pl.lit("0")).otherwise(shown).alias("Task Wait Time(us)"),
        pl.col(STARTS),
    ]


def kernel_details(summary: TextTable, steps: Callable[[pl.Series], pl.Series] | None, *, level: str) -> TextTable:
    """
    Return the rows of kernel_details.csv from the rows of ``op_summary`` (torch_npu_profiler.md 4.2).

    *steps* gives the step of each start as text (null: none) when step ranges were found; with ``None`` there is no
    ``Step Id`` column.
    """
    columns = [name for name in summary.columns if name != STARTS]
    if level == "level0":
        columns = [name for name in _TORCH_LEVEL0 if name in columns]
    shown = [pl.col(name).alias(_TORCH_NAMES.get(name, name)) for name in columns]

    def change(part: pl.DataFrame) -> pl.DataFrame:
        details = part.select(shown)
        return details if steps is None else details.insert_column(0, steps(part[STARTS]).alias("Step Id"))

    return summary.map(change)
