"""The vendor's cluster analysis as texts: a csv of step times and three JSON files (downstream_consumers.md 1.3)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path

import orjson
import polars as pl

from drynpu.writers.files import new_file
from drynpu.writers.number_text import floats_text
from drynpu.writers.trace_json import json_strings
from drynpu_cluster import _facts as f
from drynpu_cluster._groups import Group, parallel_places, pipeline_stages
from drynpu_cluster._rank import RankRead
from drynpu_cluster._text_rank import add_info, finish_total

STEPS_CSV = "cluster_step_trace_time.csv"
TIMES_JSON = "cluster_communication.json"
MATRIX_JSON = "cluster_communication_matrix.json"
GROUPS_JSON = "communication_group.json"
PLACES = ("DP Index", "PP Index", "TP Index")

_PLACE = ["ranks", "step", "name"]
_NOBODY = "()"
_ROWS_AT_ONCE = 20_000
"""About 40 MB of text, where an operator of a rank has 2 kB."""


def group_pairs(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the distinct ``type``, ``group``, ``rank`` of tables, in order of first use."""
    columns = ["type", "group", "rank"]
    parts = [table.select(columns).unique(maintain_order=True) for table in tables if not table.is_empty()]
    schema = {"type": pl.String, "group": pl.String, "rank": pl.Int64}
    pairs = pl.concat([pl.DataFrame(schema=schema), *parts]).unique(maintain_order=True)
    return pairs.filter(pl.col("type").is_in([f.COLLECTIVE, f.P2P]))


def write_groups(folder: Path, groups: Sequence[Group]) -> Path:
    """Write ``communication_group.json``."""
    document: dict[str, object] = {
        kind: [group.seen for group in groups if group.kind == kind] for kind in (f.COLLECTIVE, f.P2P)
    }
    document["comm_group_parallel_info"] = [
        {
            "type": group.kind,
            "rank_set": group.ranks,
            "group_name": group.key,
            "group_id": group.label,
            "pg_name": group.purpose,
        }
        for group in sorted(groups, key=lambda group: group.kind)
    ]
    return _write(folder / GROUPS_JSON, [orjson.dumps(document)])


def write_steps(folder: Path, steps: pl.DataFrame, reads: Sequence[RankRead], groups: Sequence[Group]) -> Path | None:
    """Write ``cluster_step_trace_time.csv``: ranks, then the largest values of each pipeline stage; nothing without."""
    if steps.is_empty():
        return None
    arguments: Mapping[str, object] = next((read.arguments for read in reads if read.arguments), {})
    places = parallel_places(arguments, steps["rank"].n_unique())
    headers = [name for name in steps.columns if name not in ("rank", "step")]
    ordered = steps.select("step", "rank", *headers)
    rows: list[tuple[object, ...]] = [
        (step, "rank", rank, *values, *(() if places is None else places[rank]))
        for step, rank, *values in ordered.iter_rows()
    ]
    none = ("NA",) * len(PLACES) if places is not None else ()
    rows += [(*row, *none) for row in _stage_rows(ordered, groups)]
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["Step", "Type", "Index", *headers, *(PLACES if places is not None else ())])
    writer.writerows(rows)
    return _write(folder / STEPS_CSV, [text.getvalue().encode()])


def _stage_rows(steps: pl.DataFrame, groups: Sequence[Group]) -> Iterator[tuple[object, ...]]:
    stages = pipeline_stages(groups)
    if not stages:
        return
    place = {rank: stage for stage in stages for rank in stage}
    largest: dict[tuple[str, tuple[int, ...]], list[float]] = {}
    for step, rank, *values in steps.iter_rows():
        key = (step, place.get(rank, ()))
        known = largest.get(key)
        largest[key] = values if known is None else list(map(max, known, values))
    for (step, stage), values in largest.items():
        yield (step, "stage", str(stage), *values)


def write_times(folder: Path, operations: pl.DataFrame, totals: pl.DataFrame, groups: Sequence[Group]) -> Path | None:
    """
    Write ``cluster_communication.json``: ranks of the group -> step -> operator -> rank; nothing without operators.

    *operations* and *totals* cover all ranks, with their ``rank``.
    """
    if operations.is_empty():
        return None
    texts = pl.concat([_placed(operations, groups).select(*_PLACE, "rank", "info"), _summed(totals, groups)])
    said = texts.unique([*_PLACE, "rank"], keep="first", maintain_order=True)
    text = pl.concat_str(pl.lit('"') + pl.col("rank").cast(pl.String) + '":', "info").str.join(",").alias("text")
    return _write(folder / TIMES_JSON, _nested(said, text))


def _placed(rows: pl.DataFrame, groups: Sequence[Group]) -> pl.DataFrame:
    """
    Add ``ranks``, the ranks of the group as the vendor writes them: ``(0, 1)``; ``()`` without a group.

    The text of a thousand ranks has 5 kB, so the column holds numbers of texts, in the order of the texts.
    """
    texts = pl.Enum(sorted({_NOBODY, *(str(group.seen) for group in groups)}))
    known = pl.DataFrame(
        [(group.kind, group.key, str(group.seen)) for group in groups],
        schema={"type": pl.String, "group": pl.String, "ranks": texts},
        orient="row",
    )
    return rows.join(known, on=["type", "group"], how="left", maintain_order="left").with_columns(
        pl.col("ranks").fill_null(_NOBODY)
    )


def _summed(totals: pl.DataFrame, groups: Sequence[Group]) -> pl.DataFrame:
    """Return the sums with ratios; both types of one group with the same ranks have one sum."""
    grouped = (
        _placed(totals, groups).group_by("ranks", "step", "group", "rank", maintain_order=True).agg(pl.col("info"))
    )
    infos = [
        orjson.dumps(finish_total(reduce(_joined, map(orjson.loads, infos)))).decode() for infos in grouped["info"]
    ]
    return grouped.select(
        "ranks",
        "step",
        pl.concat_str(pl.lit(f"{f.TOTAL}@"), "group").alias("name"),
        "rank",
        pl.Series("info", infos, dtype=pl.String),
    )


def _joined(first: dict[str, object], second: dict[str, object]) -> dict[str, object]:
    add_info(first, second)
    return first


def _nested(rows: pl.DataFrame, text: pl.Expr) -> Iterator[bytes]:
    """
    Yield ``{ranks: {step: {name: {text}}}}`` as JSON; *text* joins the rows of a name.

    Some names at a time, because the texts of a thousand ranks take gigabytes.
    """
    before = None
    ordered = rows.sort("ranks", maintain_order=True)
    for (ranks, step), block in ordered.group_by("ranks", "step", maintain_order=True):
        opening = "{" if before is None else "," if ranks == before else "},"
        yield opening.encode() + (b"" if ranks == before else orjson.dumps(ranks) + b":{") + orjson.dumps(step)
        names = block["name"].unique(maintain_order=True)
        at_once = max(len(names) * _ROWS_AT_ONCE // block.height, 1)
        for first in range(0, len(names), at_once):
            some = block.filter(pl.col("name").is_in(names[first : first + at_once].implode()))
            joined = some.group_by("name", maintain_order=True).agg(text)
            for number, (name, part) in enumerate(
                joined.select(json_strings(joined["name"]), "text").iter_rows(), first
            ):
                yield f"{',' if number else ':{'}{name}:{{{part}}}".encode()
        yield b"}"
        before = ranks
    yield b"}}" if before is not None else b"{}"


def link_tables(matrix: pl.DataFrame, groups: Sequence[Group]) -> tuple[pl.DataFrame, pl.DataFrame, tuple[str, ...]]:
    """
    Return the links of all ranks by entry, the links of the sums, and notes about ranks that no file names.

    A rank's number in its group follows from the link to itself that its file has; links to ranks without one are
    left out and counted. Columns ``ranks``, ``step``, ``name``, ``group``, ``source``, ``target`` (ranks of the
    cluster), ``transport``, ``operator``, ``size_mb``, ``time_ms``, ``gb_s``.
    """
    placed = _placed(matrix, groups)
    key = ["ranks", "step", "group"]
    of_itself = placed.filter(pl.col("source") == pl.col("target")).group_by(*key, "source", maintain_order=True)
    numbers = of_itself.agg(pl.col("rank").first(), pl.col("rank").n_unique().alias("claims"))
    values = (
        pl.col("transport").last(),
        pl.col("operator").last(),
        # Added one after the other, as the vendor adds: the last digit depends on it.
        pl.col("time_ms", "size_mb").cum_sum().last(),
    )
    local = placed.group_by(*_PLACE, "group", "source", "target", maintain_order=True).agg(*values)
    mapped = local
    for end in ("source", "target"):
        of_end = numbers.select(*key, pl.col("source").alias(end), pl.col("rank").alias(f"{end}_rank"))
        mapped = mapped.join(of_end, on=[*key, end], how="left", maintain_order="left")
    known = mapped.drop_nulls(["source_rank", "target_rank"])
    notes = []
    if lost := mapped.height - known.height:
        notes.append(f"{lost} links lead to ranks that no directory is of; they were left out of the matrix")
    if doubles := numbers.filter(pl.col("claims") > 1).height:
        notes.append(f"{doubles} numbers within groups belong to several ranks; the first counts")
    links = known.drop("source", "target").rename({"source_rank": "source", "target_rank": "target"})
    kept = links.filter(~pl.col("name").str.contains("middle|top|bottom"))
    sums = kept.group_by(*key, "source", "target", maintain_order=True).agg(*values)
    named = sums.with_columns(pl.concat_str(pl.lit(f"{f.TOTAL}@"), "group").alias("name"))
    return _rated(links), _rated(named), tuple(notes)


def _rated(links: pl.DataFrame) -> pl.DataFrame:
    rates = [f.ratio(size, time) for size, time in links.select("size_mb", "time_ms").iter_rows()]
    return links.with_columns(pl.Series("gb_s", rates, dtype=pl.Float64))


def write_matrix(folder: Path, links: pl.DataFrame, sums: pl.DataFrame) -> Path | None:
    """Write ``cluster_communication_matrix.json``: ranks -> step -> entry -> link; nothing without links."""
    if links.is_empty():
        return None
    rows = pl.concat([links, sums.select(links.columns)])
    # An entry without operators has no name of one.
    shown = rows.with_columns(
        *(json_strings(rows[name].fill_null("")) for name in ("transport", "operator")),
        *(floats_text(rows[name]) for name in ("time_ms", "size_mb", "gb_s")),
    )
    members = {
        f.TRANSPORT: "transport",
        f.TRANSIT: "time_ms",
        f.SIZE: "size_mb",
        f.OPERATOR_NAME: "operator",
        f.RATE: "gb_s",
    }
    parts: list[pl.Expr] = [pl.format('"{}-{}":', pl.col("source"), pl.col("target"))]
    for number, (key, column) in enumerate(members.items()):
        parts += [pl.lit(f'{"," if number else "{"}"{key}":'), pl.col(column)]
    text = pl.concat_str([*parts, pl.lit("}")]).str.join(",").alias("text")
    return _write(folder / MATRIX_JSON, _nested(shown, text))


def _write(path: Path, parts: Iterator[bytes] | Sequence[bytes]) -> Path:
    with new_file(path) as stream:
        for part in parts:
            stream.write(part)
    return path
