"""What the communication files of ranks state, for ranks whose transfers were not read: links, and times of waiting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson
import polars as pl

from drynpu.analysis import CLUSTER_LINKS
from drynpu.layouts import communication_files as names
from drynpu.layouts.result_files import COMMUNICATION_FILE, COMMUNICATION_MATRIX_FILE
from drynpu.tables import Profile

_LOCAL = "LOCAL"
_SAMPLES = ("-top", "-middle", "-bottom")
"""Ends of names of single operators, which the sum of their kind contains."""

_KEY = ["step", "group"]
_MATRIX = pl.Schema(
    {
        "rank": pl.Int64,
        "step": pl.String,
        "group": pl.String,
        "from": pl.Int64,
        "to": pl.Int64,
        "transport": pl.String,
        "size_bytes": pl.Float64,
        "time_us": pl.Float64,
    }
)


def stated_waits(profile: Profile) -> tuple[float, float] | None:
    """Return the time in us that a rank waited, and that its transfers took; None where no file states it."""
    times = [entry[names.TIME_INFO] for _, _, entry in _entries(profile, COMMUNICATION_FILE)]
    if not times:
        return None
    waits, transits = (sum(float(time.get(title, 0)) * 1000 for time in times) for title in (names.WAIT, names.TRANSIT))
    return waits, transits


def stated_links(profiles: Sequence[Profile]) -> pl.DataFrame:
    """
    Return table `CLUSTER_LINKS` of the matrices of ranks, without numbers of transfers, which they do not state.

    Files number the ranks within a group. The number of a rank itself follows from the link to itself that it has.
    Links to ranks that no file is of are left out.
    """
    rows = [row for profile in profiles for row in _matrix_rows(profile)]
    table = pl.DataFrame(rows, schema=_MATRIX, orient="row")
    itself = table.filter(pl.col("from") == pl.col("to")).group_by(*_KEY, "from").agg(pl.col("rank").first())
    for end, rank in (("from", "source"), ("to", "target")):
        table = table.join(itself.select(*_KEY, pl.col("from").alias(end), pl.col("rank").alias(rank)), on=[*_KEY, end])
    between = table.filter((pl.col("source") != pl.col("target")) & (pl.col("transport") != _LOCAL))
    sums = between.group_by("source", "target", "transport").agg(pl.col("size_bytes", "time_us").sum())
    rate = pl.when(pl.col("time_us") > 0).then(pl.col("size_bytes") / pl.col("time_us") / 1000)
    return (
        sums.with_columns(pl.col("size_bytes").round(), rate.alias("gb_s"), pl.lit(None).alias("count"))
        .sort("source", "target", "transport")
        .select(pl.col(name).cast(dtype) for name, dtype in CLUSTER_LINKS.items())
    )


def _matrix_rows(profile: Profile) -> Iterator[tuple[object, ...]]:
    for step, name, links in _entries(profile, COMMUNICATION_MATRIX_FILE):
        if any(sample in name for sample in _SAMPLES):
            continue
        for link, entry in links.items():
            source, _, receiver = link.partition("-")
            ends = (int(source), int(receiver.partition("-")[0]))
            moved = (str(entry[names.TRANSPORT]), entry[names.SIZE] * 1e6, entry[names.TRANSIT] * 1e3)
            yield (profile.rank_id, step, name.rpartition("@")[2], *ends, *moved)


def _entries(profile: Profile, file_name: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield step, name and content of each entry of a file beside the results; nothing where it cannot be read."""
    for folder in {file.parent for file in profile.result_files}:
        try:
            document = orjson.loads((folder / file_name).read_bytes())
            yield from [
                (step, name, entry)
                for step, kinds in document.items()
                for operators in kinds.values()
                for name, entry in operators.items()
                if not name.startswith(names.TOTAL)
            ]
        except (OSError, ValueError, AttributeError):
            continue
