"""Predictions for tables of kernels and of transfers, as ``drynpu predict`` prints them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import polars as pl

from drynpu import ChipError, CommandError, say
from drynpu.kernels import Tuning, estimate
from drynpu.platforms import Chip, known_chips, load_chip
from drynpu_calibration._described import described_kernel
from drynpu_calibration._known_types import KnownTypes
from drynpu_calibration._rows import task_type_of, tensors_of
from drynpu_calibration._transfers import transfer_estimate

KERNEL_COLUMNS: Final = (
    *("op_type", "task_type", "input_shapes", "input_dtypes", "input_formats"),
    *("output_shapes", "output_dtypes", "output_formats", "hf32", "op_state"),
)
"""What is read of a kernel, besides its id and chip: never a measured column, nor the blocks."""
TRANSFER_COLUMNS: Final = ("level", "op", "group_size", "dtype", "bytes", "transport", "transit_bytes", "packets")
RESULT: Final = {
    "predicted_us": pl.Float64,
    "low_us": pl.Float64,
    "high_us": pl.Float64,
    "bound": pl.String,
    "family": pl.String,
    "support": pl.String,
}
_PREFIX: Final = re.compile(r"(?:ascend)?_?(.*)", re.IGNORECASE)
_GENERIC: Final = {"910B": "910B2", "910_93": "910_93", "910C": "910_93", "310P": "310P3", "950": "950PR"}
_MOST_PROBLEMS: Final = 20

Row = Mapping[str, str]
Answer = tuple[float | None, float | None, float | None, str | None, str | None, str | None]
_NO_ANSWER: Final[Answer] = (None, None, None, None, None, None)


def predict_kernels(
    path: Path,
    *,
    chip: str = "",
    tuning: Tuning | None = None,
    chip_files: Iterable[str | Path] = (),
    warn: Callable[[str], object] = say,
) -> pl.DataFrame:
    """
    Return ``id`` and the columns of ``RESULT`` for every kernel of a CSV file.

    They are null for a kernel type of which nothing is known; *warn* gets a sentence about each.

    Parameters
    ----------
    chip:
        Chip of all rows; by default each row names its chip in the column ``chip``.

    Raises
    ------
    CommandError
        The file cannot be read, or rows are malformed: each problem names row and column.
    """
    model = tuning or Tuning()
    known, unknown = KnownTypes.from_calibration(model.calibration), set[str]()

    def answer(row: Row, where: Chip) -> Answer:
        op_type = row["op_type"].strip() or "Unknown"
        inputs = _read(row, "input")
        outputs = _read(row, "output")
        spec = described_kernel(
            op_type,
            task_type_of(row["task_type"]),
            inputs,
            outputs,
            hf32=row["hf32"].strip().upper() in {"YES", "TRUE", "1"},
            static=row["op_state"].strip().lower() == "static",
        )
        if op_type not in known:
            if op_type not in unknown:
                unknown.add(op_type)
                warn(known.nearest(op_type))
            return _NO_ANSWER
        cost = estimate(spec, where, model)
        return cost.us, cost.low_us, cost.high_us, cost.bound, cost.family, cost.support

    return _predicted(path, KERNEL_COLUMNS, ("op_type", "input_shapes"), answer, chip, list(chip_files))


def predict_transfers(path: Path, *, chip: str = "", chip_files: Iterable[str | Path] = ()) -> pl.DataFrame:
    """Return the same for transfers and collectives (columns of the measured tables, the measured ones not read)."""

    def answer(row: Row, where: Chip) -> Answer:
        cost = transfer_estimate(
            where,
            level=row["level"],
            kind=row["op"],
            transport=row["transport"],
            size_bytes=_number(row, "transit_bytes") or _number(row, "bytes") or 0.0,
            packets=packet_sizes(row["packets"]),
            group_size=int(_number(row, "group_size") or 2),
        )
        return cost.us, cost.low_us, cost.high_us, cost.bound, cost.link, cost.support

    return _predicted(path, TRANSFER_COLUMNS, ("transport",), answer, chip, list(chip_files))


class _Malformed(ValueError):
    """A cell that cannot be read: its column, and why."""

    def __init__(self, column: str, why: str) -> None:
        super().__init__(f"column {column!r}: {why}")


def _read(row: Row, side: str) -> tuple:  # type: ignore[type-arg]
    try:
        return tensors_of(row[f"{side}_shapes"], row[f"{side}_dtypes"], row[f"{side}_formats"])
    except ValueError:
        column = f"{side}_shapes"
        raise _Malformed(column, f"{row[column]!r} is no list of dims like '4096,1024;1024'") from None


def _number(row: Row, column: str) -> float | None:
    text = row[column].strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        raise _Malformed(column, f"{text!r} is no number") from None
    if not 0 <= value < float("inf"):
        raise _Malformed(column, f"{text!r} is not possible")
    return value


def packet_sizes(text: str) -> list[tuple[float, int]]:
    """
    Return size in bytes and number of the packets of a transfer.

    >>> packet_sizes("1.5MBx12:1045.5us;2.0MBx2")
    [(1500000.0, 12), (2000000.0, 2)]
    """
    packets = re.findall(r"([\d.]+)\s*([KMG]?)Bx(\d+)", text)
    unit = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}
    return [(float(size) * unit[prefix], int(count)) for size, prefix, count in packets]


def _predicted(
    path: Path,
    columns: tuple[str, ...],
    required: tuple[str, ...],
    answer: Callable[[Row, Chip], Answer],
    chip: str,
    chip_files: list[str | Path],
) -> pl.DataFrame:
    """Return the answers for all rows, each different one computed once."""
    table = _table(path, (*columns, "chip", "id"), required if chip else (*required, "chip"))
    if chip:
        table = table.with_columns(pl.lit(chip).alias("chip"))
    keys = [*columns, "chip"]
    # A million rows are told apart by 64 bits of each, which are compared faster than ten columns of text.
    table = table.with_row_index("row").with_columns(pl.concat_str(keys, separator="\x1f").hash().alias("key"))
    distinct = table.unique("key", keep="first", maintain_order=True)
    chips: dict[str, Chip] = {}
    answers, problems = [], []
    for row in distinct.iter_rows(named=True):
        try:
            name = row["chip"]
            if name not in chips:
                chips[name] = chip_like(name, chip_files)
            answers.append(answer(row, chips[name]))
        except (_Malformed, ChipError) as error:
            problem = f"column 'chip': {error}" if isinstance(error, ChipError) else str(error)
            problems.append(f"{path.name} row {row['row'] + 1}, {problem}")
            answers.append(_NO_ANSWER)
    if problems:
        more = f"\n... and {len(problems) - _MOST_PROBLEMS} more" if len(problems) > _MOST_PROBLEMS else ""
        raise CommandError("\n".join(problems[:_MOST_PROBLEMS]) + more)
    result = pl.DataFrame(answers, schema=RESULT, orient="row")
    known = pl.concat([distinct.select("key"), result], how="horizontal")
    return table.select("id", "key").join(known, on="key", how="left", maintain_order="left").drop("key")


def _table(path: Path, columns: tuple[str, ...], required: tuple[str, ...]) -> pl.DataFrame:
    """Return the text of the columns; those that the file lacks are empty, an id is the row's number."""
    try:
        head = pl.read_csv(path, n_rows=0, infer_schema_length=0).columns
        present = [name for name in columns if name in head]
        missing = [name for name in required if name not in head]
        if missing:
            raise CommandError(f"{path.name}: no column {', '.join(map(repr, missing))}; there are: {', '.join(head)}")
        # All cells are text; a reader of types would stop at the first odd one.
        table = pl.read_csv(
            path, columns=present, schema_overrides=dict.fromkeys(present, pl.String), infer_schema=False
        )
    except (OSError, pl.exceptions.PolarsError) as error:
        raise CommandError(f"{path} cannot be read as CSV: {error}") from error
    table = table.with_columns(pl.lit("").alias(name) for name in columns if name not in present)
    if "id" not in present:
        table = table.with_columns(pl.int_range(1, pl.len() + 1).cast(pl.String).alias("id"))
    return table.with_columns(pl.col(columns).fill_null(""))


def chip_like(name: str, chip_files: Iterable[str | Path] = ()) -> Chip:
    """
    Return the chip called *name*; of a bin that is not described the nearest one, by the start of its name.

    Raises
    ------
    ChipError
        No chip has a name like it.
    """
    files = list(chip_files)
    try:
        return load_chip(name, extra_files=files)
    except ChipError:
        plain = _PREFIX.fullmatch(name.strip())
        wanted = (plain[1] if plain else name).upper()
        for start in sorted(_GENERIC, key=len, reverse=True):
            if wanted.startswith(start):
                nearest = [c for c in known_chips(files) if wanted.startswith(c.name.upper().removeprefix("ASCEND"))]
                return max(nearest, key=lambda c: len(c.name)) if nearest else load_chip(_GENERIC[start], files)
        raise
