"""A rank whose results are texts: ``step_trace_time.csv`` and the two JSON files of communication."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from drynpu.layouts.communication_files import START_TIME
from drynpu.layouts.result_files import COMMUNICATION_FILE, COMMUNICATION_MATRIX_FILE, STEP_TRACE_TIME_FILE
from drynpu.writers.folders import FRAMEWORK_OUTPUT
from drynpu_cluster import _facts as f
from drynpu_cluster._find import RankSource

OPERATIONS = pl.Schema(
    {
        "step": pl.String,
        "type": pl.String,
        "name": pl.String,
        "group": pl.String,
        "elapse_ms": pl.Float64,
        "transit_ms": pl.Float64,
        "wait_ms": pl.Float64,
        "synchronization_ms": pl.Float64,
        "info": pl.String,
    }
)
"""One row per communication operator; ``info`` is what the file says of it, as JSON."""

TOTALS = pl.Schema({"step": pl.String, "type": pl.String, "group": pl.String, "info": pl.String})
"""One row per step, type and group: the sums of the operators, as JSON without ratios."""

MATRIX = pl.Schema(
    {
        "step": pl.String,
        "type": pl.String,
        "name": pl.String,
        "group": pl.String,
        "source": pl.String,
        "target": pl.String,
        "transport": pl.String,
        "size_mb": pl.Float64,
        "time_ms": pl.Float64,
        "operator": pl.String,
    }
)
"""One row per entry and link of the communication matrix; ranks are numbers within the group."""

_MOVED = (f.TRANSIT, f.SIZE, f.SIZES)
_LEFT_OUT = ("Step", "Device_id")
_TIMES = (f.ELAPSE, f.TRANSIT, f.WAIT, f.SYNCHRONIZATION)
_RATIOS = (f.WAIT_RATIO, f.SYNCHRONIZATION_RATIO, START_TIME)

Document = dict[str, Any]


def read_text_rank(source: RankSource) -> Mapping[str, pl.DataFrame]:
    """Return the tables ``steps``, ``operations``, ``totals`` and ``matrix``; without rows where a file is missing."""
    output = source.path / FRAMEWORK_OUTPUT
    operations, totals = _operations(_document(output / COMMUNICATION_FILE))
    return {
        "steps": _steps(output / STEP_TRACE_TIME_FILE),
        "operations": operations,
        "totals": totals,
        "matrix": _matrix(_document(output / COMMUNICATION_MATRIX_FILE)),
    }


def _document(path: Path) -> Document:
    return dict(orjson.loads(path.read_bytes())) if path.is_file() else {}


def _steps(path: Path) -> pl.DataFrame:
    """Return ``step`` and the columns of the file as numbers; what is no number is 0, as the vendor reads it."""
    if not path.is_file():
        return pl.DataFrame()
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in (rows[0] if rows else {}) if name not in _LEFT_OUT]
    values = {name: pl.Series(name, [_number(row[name]) for row in rows], dtype=pl.Float64) for name in names}
    return pl.DataFrame({"step": pl.Series([row.get("Step", "") for row in rows], dtype=pl.String), **values})


def _number(text: str | None) -> float:
    try:
        return float(text or "")
    except ValueError:
        return 0.0


def _entries(document: Document) -> Iterator[tuple[str, str, str, Document]]:
    """Yield step, type, name and content of each operator, sums left out."""
    for step, types in document.items():
        for kind, operators in types.items():
            for name, info in operators.items():
                if not name.startswith("Total"):
                    yield step, kind, name, info


def _operations(document: Document) -> tuple[pl.DataFrame, pl.DataFrame]:
    rows: list[tuple[object, ...]] = []
    sums: dict[tuple[str, str, str], Document] = {}
    for step, kind, name, info in _entries(document):
        group = name.rpartition("@")[2]
        times = info.get(f.TIME_INFO, {})
        rows.append((step, kind, name, group, *map(times.get, _TIMES), orjson.dumps(info).decode()))
        total = sums.setdefault((step, kind, group), {f.TIME_INFO: {}, f.BANDWIDTH_INFO: {}})
        add_info(total, info)
    totals = [(*key, orjson.dumps(total).decode()) for key, total in sums.items()]
    return (
        _frame(rows, OPERATIONS),
        pl.DataFrame(totals, schema=TOTALS, orient="row"),
    )


def add_info(total: Document, info: Document) -> None:
    """Add times, bytes and sizes of packages of an operator, or of another sum, to a sum without ratios."""
    times = total[f.TIME_INFO]
    for key, value in info.get(f.TIME_INFO, {}).items():
        if key in times:
            times[key] += value
        elif key not in _RATIOS:
            times[key] = 0.0 + value
    transports, (transit, amount, sizes) = total[f.BANDWIDTH_INFO], _MOVED
    for transport, moved in info.get(f.BANDWIDTH_INFO, {}).items():
        if transport not in transports:
            transports[transport] = {transit: 0, amount: 0, sizes: {}}
        elif not any(moved.values()):  # of an operator's six transports one or two move anything
            continue
        known = transports[transport]
        if time_ms := moved.get(transit):
            known[transit] += time_ms
        if size := moved.get(amount):
            known[amount] += size
        for package, (count, time_ms) in moved[sizes].items() if moved.get(sizes) else ():
            counted = known[sizes].setdefault(package, [0, 0])
            counted[0] += count
            counted[1] += time_ms


def finish_total(total: Document) -> Document:
    """Return a sum with the ratios of its times and the rates of its transports."""
    times = total[f.TIME_INFO]
    transit = times.get(f.TRANSIT, 0)
    for key, part in ((f.WAIT_RATIO, times.get(f.WAIT, 0)), (f.SYNCHRONIZATION_RATIO, times.get(f.SYNCHRONIZATION, 0))):
        times[key] = f.ratio(part, part + transit)
    for moved in total[f.BANDWIDTH_INFO].values():
        moved[f.RATE] = f.ratio(moved[f.SIZE], moved[f.TRANSIT])
    return total


def _matrix(document: Document) -> pl.DataFrame:
    rows = []
    for step, kind, name, links in _entries(document):
        if kind not in (f.COLLECTIVE, f.P2P):
            continue
        group = name.split("@")[-1]
        for link, moved in links.items():
            source, dash, destination = link.partition("-")
            if not dash:
                break
            rows.append(
                (
                    *(step, kind, name, group, source, destination.split("-")[0], moved.get(f.TRANSPORT)),
                    *(moved.get(f.SIZE, 0), moved.get(f.TRANSIT, 0), moved.get(f.OPERATOR_NAME, "")),
                )
            )
    return _frame(rows, MATRIX)


def _frame(rows: Sequence[tuple[object, ...]], schema: pl.Schema) -> pl.DataFrame:
    """Return a table of rows; by columns, which takes a fifth of the time."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    return pl.DataFrame(
        [
            pl.Series(name, values, dtype, strict=False)
            for (name, dtype), values in zip(schema.items(), columns, strict=True)
        ]
    )
