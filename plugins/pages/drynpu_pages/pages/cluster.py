"""The ranks of a run side by side: steps, waiting, links, operations and memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl
from attrs import frozen

from drynpu.analysis import cluster_links, cluster_ranks, cluster_steps, slow_links, slow_ranks
from drynpu.analysis.calculation import kernel_work, work_totals
from drynpu.views.content import EMPTY, Block, Chart, Column, Fact, Facts, Hint, Note, Row, Table
from drynpu.views.page import Page
from drynpu.views.runs import Rank, View
from drynpu.views.theme import count_text, share_text, size_text, time_text
from drynpu.writers.number_text import UNKNOWN
from drynpu_pages.figures import stacked_bars
from drynpu_pages.figures.cluster import link_matrix, rank_blocks
from drynpu_pages.pages._parts import STEP_PARTS, WINDOW
from drynpu_pages.pages._stated_links import stated_links, stated_waits
from drynpu_pages.pages._windows import RANK, of_collectives, of_links, of_steps, with_windows

_STEP_COLUMNS = (
    Column("rank", "rank"),
    Column("step", "step"),
    Column("total_us", "total (us)", 3),
    Column("computing_us", "computing (us)", 3),
    Column("communication_not_overlapped_us", "communication, not overlapped (us)", 3),
    Column("overlapped_us", "overlapped (us)", 3),
    Column("free_us", "free (us)", 3),
)
_RANK_COLUMNS = (
    Column("rank", "rank"),
    Column("collectives", "collectives"),
    Column("communication_us", "communication (us)", 3),
    Column("wait_us", "waiting (us)", 3),
    Column("transit_us", "transit (us)", 3),
    Column("gflops", "operations (GFLOPs)", 3),
    Column("peak_mib", "peak allocated (MiB)", 1),
)
_LINK_COLUMNS = (
    Column("source", "from"),
    Column("target", "to"),
    Column("transport", "link"),
    Column("count", "transfers"),
    Column("size_mib", "size (MiB)", 3),
    Column("time_us", "time (us)", 3),
    Column("gb_s", "rate (GB/s)", 3),
)


_TIMELINE = "each row leads to the timeline of its rank"


@frozen(eq=False)
class _Cluster:
    """The tables of all ranks."""

    steps: pl.DataFrame
    ranks: pl.DataFrame
    links: pl.DataFrame


def _load(view: View) -> _Cluster:
    ranks = view.run.ranks
    profiles = [rank.profile for rank in ranks]
    flops = [work_totals(kernel_work(profile))[0] / 1e9 for profile in profiles]
    stated = [stated_waits(profile) or (None, None) for profile in profiles]
    waits, transits = (pl.Series(values, dtype=pl.Float64) for values in zip(*stated, strict=True))
    links = cluster_links(profiles, between_ranks=True)
    links = links if links.height else stated_links(profiles)
    steps = cluster_steps([(rank.label, rank.summary) for rank in ranks])
    return _Cluster(
        _timed(steps, [window for rank in ranks for window in _windows_of(steps, rank)]),
        _timed(
            cluster_ranks([(rank.label, rank.profile, rank.summary) for rank in ranks]),
            list(map(of_collectives, ranks)),
        ).with_columns(
            pl.Series("gflops", flops, dtype=pl.Float64),
            (pl.col("peak_allocated_bytes") / 2**20).alias("peak_mib"),
            pl.col("wait_us").fill_null(waits),
            pl.col("transit_us").fill_null(transits),
        ),
        links.with_columns((pl.col("size_bytes") / 2**20).alias("size_mib")).join(
            of_links(ranks), on=["source", "target", "transport"], how="left", maintain_order="left"
        ),
    )


def _windows_of(steps: pl.DataFrame, rank: Rank) -> list[tuple[int, int] | None]:
    return of_steps(rank, steps.filter(pl.col("rank") == rank.label)["step"].to_list())


def _timed(rows: pl.DataFrame, windows: Sequence[tuple[int, int] | None]) -> pl.DataFrame:
    """Return rows of ranks with their windows, each in the timeline of its rank."""
    return with_windows(rows, windows).with_columns(pl.col("rank").alias(RANK))


def _build(view: View) -> Sequence[Block]:
    # One table for all ranks, kept by the first.
    cluster: _Cluster = view.run.ranks[0].keep("cluster", lambda: _load(view))
    steps = cluster.steps.filter(pl.col("step") == view.step) if view.step else cluster.steps
    if len(view.run.ranks) == 1 and cluster.links.is_empty():
        return [Note("The run has one rank, and it exchanged nothing: there is no cluster to look at.", EMPTY)]
    return [
        *_facts(cluster, steps, view),
        *_slow(cluster, steps),
        Row([*_rank_charts(cluster, steps, view)]),
        Row([*_heat_maps(cluster, view)]),
        *_tables(cluster, steps, view),
    ]


def _facts(cluster: _Cluster, steps: pl.DataFrame, view: View) -> Iterator[Block]:
    mean = steps["total_us"].mean()
    spread = steps.group_by("step").agg((pl.col("total_us").max() - pl.col("total_us").min()).alias("us"))["us"].max()
    links, collectives = cluster.links, int(cluster.ranks["collectives"].sum())
    known = links.height or not collectives
    moved = size_text(float(links["size_bytes"].sum())) if known else UNKNOWN
    over = f"over {links.height} links" if known else "no file of this run states transfers"
    facts = [
        Fact("Ranks", count_text(len(view.run.ranks))),
        Fact("Step time", time_text(_float(mean)), "mean of all ranks", view.modelled),
        Fact("Largest difference", time_text(_float(spread)), "between ranks in one step", view.modelled),
        Fact("Collectives", count_text(collectives), "of all ranks"),
        Fact("Moved", moved, over),
    ]
    yield Facts(facts)


def _float(value: object) -> float | None:
    return value if isinstance(value, float) else None


def _slow(cluster: _Cluster, steps: pl.DataFrame) -> Iterator[Block]:
    for row in slow_ranks(steps).head(1).iter_rows(named=True):
        evidence = (
            f"computing and free time of {time_text(row['us'])} a step, {share_text(row['share'])} above the mean"
        )
        yield Hint(
            f"Rank {row['rank']} is slow", evidence, "Look at its host, its data and its kernels.", page="cluster"
        )
    for row in slow_links(cluster.links).head(1).iter_rows(named=True):
        evidence = f"{row['gb_s']:.2f} GB/s, {share_text(row['share'])} below the mean of {row['transport']} links"
        remedy = "Look at the size of its transfers, then at the link itself."
        yield Hint(f"The link {row['source']} → {row['target']} is slow", evidence, remedy, page="cluster")


def _rank_charts(cluster: _Cluster, steps: pl.DataFrame, view: View) -> Iterator[Chart | Note]:
    columns = [column for _, column in STEP_PARTS.values()]
    means = steps.group_by("rank", maintain_order=True).agg(pl.col(columns).mean() / 1000)
    labels = means["rank"].to_list()
    if labels:
        parts = {key: (name, means[column].to_list()) for key, (name, column) in STEP_PARTS.items()}
        longest = steps.group_by("rank").agg(pl.col("total_us").mean()).sort("total_us", descending=True).row(0)
        yield Chart(
            "rank-steps",
            "Mean step of each rank",
            lambda: stacked_bars(labels, parts, axis_title="ms", unit="ms", label_title="rank"),
            f"Mean steps of {len(labels)} ranks; the longest is on rank {longest[0]}, {time_text(longest[1])}.",
            modelled=view.modelled,
        )
    waits = cluster.ranks.drop_nulls("wait_us")
    if waits.height:
        names, rest = waits["rank"].to_list(), (waits["communication_us"] - waits["wait_us"]).clip(0)
        times = {
            "communication": ("Transit and the rest", (rest / 1000).to_list()),
            "free": ("Waiting", (waits["wait_us"] / 1000).to_list()),
        }
        shortest = waits.sort("wait_us").row(0, named=True)
        yield Chart(
            "rank-communication",
            "Communication and waiting of each rank",
            lambda: stacked_bars(names, times, axis_title="ms", unit="ms", label_title="rank"),
            f"Rank {shortest['rank']} waits least, {time_text(shortest['wait_us'])}; who waits least comes last.",
            modelled=view.modelled,
        )
    else:
        yield Note("No file states how long ranks waited in collectives; level1 records it.", EMPTY)


def _heat_maps(cluster: _Cluster, view: View) -> Iterator[Chart | Note]:
    links = cluster.links
    if links.height:
        yield Chart(
            "links",
            "Rate of links (GB/s)",
            lambda: link_matrix(links),
            f"Rates of {links.height} links between ranks; the numbers stand in the table below.",
            modelled=view.modelled,
        )
    else:
        yield Note("No file of this run states transfers between ranks.", EMPTY)
    for column, title, name in (
        ("gflops", "Operations (GFLOPs)", "rank-flops"),
        ("peak_mib", "Peak memory (MiB)", "rank-memory"),
    ):
        known = cluster.ranks.drop_nulls(column).filter(pl.col(column) > 0)
        if known.height:
            yield _rank_map(name, title, known["rank"].to_list(), known[column].to_list())


def _rank_map(name: str, title: str, ranks: list[str], values: list[float]) -> Chart:
    most = ranks[values.index(max(values))]
    text = f"{title} of {len(ranks)} ranks; rank {most} has most, {max(values):.3g}."
    return Chart(name, title, lambda: rank_blocks(ranks, values, title), text, height_px=220)


def _tables(cluster: _Cluster, steps: pl.DataFrame, view: View) -> Iterator[Block]:
    modelled = view.modelled
    yield Table("rank-step-table", "Steps of ranks", steps, _STEP_COLUMNS, _TIMELINE, modelled, WINDOW)
    detail = "of the whole recording; the timeline shows the longest collective"
    yield Table("rank-table", "Ranks", cluster.ranks, _RANK_COLUMNS, detail, modelled, WINDOW)
    if cluster.links.height:
        detail = "the timeline shows the longest transfer"
        yield Table("link-table", "Links", cluster.links, _LINK_COLUMNS, detail, modelled, WINDOW)


PAGE = Page(
    "cluster",
    "Cluster",
    "The ranks side by side: who is slow, who waits, and which link.",
    _build,
    with_step=True,
)
