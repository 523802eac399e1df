"""A cluster analysis in the terminal: who is slow, steps and waiting by rank, links, groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from drynpu.views.content import EMPTY, WARNING, Block, Column, Fact, Facts, Hint, Note, Table
from drynpu.views.theme import count_text, share_text, size_text, time_text
from drynpu_cluster import ClusterResult, Overview
from drynpu_cluster.recipes import RecipeResult

MATRIX_RANKS = 5
"""Up to how many ranks rates of links are shown as a matrix."""

_RANKS = (
    Column("rank", "rank"),
    Column("step_us", "step (us)", 3),
    Column("difference_percent", "to mean (%)", 2),
    Column("computing_us", "computing (us)", 3),
    Column("free_us", "free (us)", 3),
    Column("wait_us", "waiting (us)", 3),
    Column("communication_us", "communication, not overlapped (us)", 3),
    Column("transit_us", "transit (us)", 3),
)
_LINKS = (
    Column("source", "from"),
    Column("target", "to"),
    Column("transport", "link"),
    Column("gb_s", "rate (GB/s)", 3),
    Column("size_mib", "size (MiB)", 3),
    Column("time_us", "time (us)", 3),
)
_GROUPS = (
    Column("purpose", "group"),
    Column("kind", "kind"),
    Column("count", "ranks"),
    Column("ranks", "which", wide=True),
)


def cluster_blocks(result: ClusterResult) -> Sequence[Block]:
    """Return what a cluster analysis says, the slow ones first."""
    overview = result.overview
    return [
        _facts(overview),
        *_slow(overview),
        *_ranks(overview),
        *_links(overview),
        *_groups(overview),
        *(Note(note, WARNING) for note in result.notes),
    ]


def recipe_blocks(recipe: RecipeResult, name: str) -> Sequence[Block]:
    """Return the tables of a recipe, the most important columns first."""
    blocks: list[Block] = [
        Table(
            table.lower(),
            table,
            rows,
            [Column(title, title, 1 if rows.schema[title].is_float() else None) for title in rows.columns],
        )
        for table, rows in recipe.tables.items()
    ]
    empty = Note(f"{name} found nothing: no rank has the data, or nothing stands out.", EMPTY)
    return [*(blocks or [empty]), *(Note(note, WARNING) for note in recipe.notes)]


def _facts(overview: Overview) -> Facts:
    mean = overview.steps["total_us"].mean()
    by_step = overview.steps.group_by("step").agg((pl.col("total_us").max() - pl.col("total_us").min()).alias("us"))
    spread = by_step["us"].max()
    return Facts(
        [
            Fact("Ranks", count_text(overview.ranks.height), f"read as {overview.form}"),
            Fact("Step time", time_text(mean if isinstance(mean, float) else None), "mean of all ranks"),
            Fact("Largest difference", time_text(spread if isinstance(spread, float) else None), "in one step"),
            Fact("Groups", count_text(len(overview.groups))),
            Fact("Moved", size_text(float(overview.links["size_bytes"].sum())), f"over {overview.links.height} links"),
        ]
    )


def _slow(overview: Overview) -> Iterator[Block]:
    for row in overview.slow_ranks.head(1).iter_rows(named=True):
        waits = overview.ranks.filter(pl.col("rank") == row["rank"])["wait_us"].item()
        others = overview.ranks.filter(pl.col("rank") != row["rank"])["wait_us"].mean()
        evidence = (
            f"computing and free time of {time_text(row['us'])} a step, {share_text(row['share'])} above the mean"
        )
        if waits is not None and isinstance(others, float):
            evidence += f"; it waits {time_text(waits)} in collectives, the others {time_text(others)}"
        yield Hint(f"Rank {row['rank']} is slow", evidence, "Look at its host, its data and its kernels.")
    for row in overview.slow_links.head(1).iter_rows(named=True):
        evidence = (
            f"{row['gb_s']:.2f} GB/s, {share_text(row['share'])} below the mean of {row['transport']} links: "
            f"{size_text(row['size_bytes'])} in {time_text(row['time_us'])}"
        )
        remedy = "Look at the size of its transfers, then at the link itself."
        yield Hint(f"The link {row['source']} → {row['target']} is slow", evidence, remedy)
    if overview.slow_ranks.is_empty() and overview.slow_links.is_empty():
        yield Note("No rank and no link is more than 20 % off the mean of all.")


def _ranks(overview: Overview) -> Iterator[Block]:
    if overview.ranks.is_empty():
        yield Note("No rank has step times.", EMPTY)
        return
    frame = overview.ranks.with_columns((pl.col("difference") * 100).alias("difference_percent"))
    frame = frame.sort("step_us", descending=True, nulls_last=True, maintain_order=True)
    yield Table("ranks", "Ranks, mean of their steps, the longest first", frame, _RANKS)


def _links(overview: Overview) -> Iterator[Block]:
    links = overview.links.with_columns((pl.col("size_bytes") / 1e6).alias("size_mb"))
    if links.is_empty():
        yield Note("No links between ranks were recorded.", EMPTY)
        return
    ends = sorted({*links["source"].to_list(), *links["target"].to_list()})
    if len(ends) <= MATRIX_RANKS:
        rates = links.group_by("source", "target").agg(pl.col("size_mb").sum() / pl.col("time_us").sum() * 1000)
        matrix = rates.rename({"size_mb": "gb_s"}).pivot("target", index="source", values="gb_s").sort("source")
        names = [str(end) for end in ends if str(end) in matrix.columns]
        columns = [Column("source", "from"), *(Column(name, f"to {name}", 2) for name in names)]
        yield Table("matrix", "Rates of links (GB/s)", matrix, columns)
    sized = links.sort("gb_s", maintain_order=True).with_columns((pl.col("size_bytes") / 2**20).alias("size_mib"))
    yield Table("links", "Links, the slowest first", sized, _LINKS)


def _groups(overview: Overview) -> Iterator[Block]:
    if not overview.groups:
        return
    rows = [
        (group.purpose or group.label or group.key, group.kind, len(group.ranks), ", ".join(map(str, group.ranks)))
        for group in overview.groups
    ]
    frame = pl.DataFrame(rows, schema=["purpose", "kind", "count", "ranks"], orient="row")
    yield Table("groups", "Communication groups", frame, _GROUPS)
