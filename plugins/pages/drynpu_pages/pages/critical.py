"""The critical path: what a step waits for, and what could be saved at most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from drynpu.views.content import ANSWER, EMPTY, Block, Chart, Column, Note, Table
from drynpu.views.page import Page
from drynpu.views.runs import View
from drynpu.views.theme import share_text, time_text
from drynpu_pages.critical import GROUPS, bounds, critical_path, host_shares
from drynpu_pages.figures import stacked_bars
from drynpu_pages.figures.critical import draw_path
from drynpu_pages.pages._parts import MOST_ROWS, WINDOW

_TITLES = {
    "kernels": ("Kernels and copies", "bound", "Make these kernels faster: look at Operators and Calculation."),
    "communication": ("Communication", "bounds", "Send less, less often, or over faster links: look at Cluster."),
    "other ranks": ("Waiting for other ranks", "bounds", "Balance the ranks: Cluster shows which one is late."),
    "host": (
        "Launches and host",
        "bound",
        "Launch less (graphs, fused operators), wait less: look at Host and Flame graph.",
    ),
    "between": ("Gaps between kernels", "bound", "Launch fewer and longer kernels, wait less between streams."),
}
"""Key of `GROUPS` -> what it is called, its verb, what shortens it."""
_TOP = 10
_MOST_STEPS = 200
_HEIGHT_PX = 300
_BOUND = "an upper bound: without it the next longest way through the step remains"
_NOTHING = "No work of a device was recorded, so there is no path through it."


def _columns(what: str, per_step: bool) -> Sequence[Column]:
    return (
        Column("what", what, wide=True),
        Column("us", "saves at most (us a step)" if per_step else "saves at most (us)", 3),
        Column("share_pct", "of the path (%)", 2),
        Column("count", "parts"),
    )


_PART_COLUMNS = (
    Column("step", "step"),
    Column("from_us", "from (us)", 3),
    Column("us", "takes (us)", 3),
    Column("kind", "part"),
    Column("type", "type", wide=True),
    Column("name", "name", wide=True),
    Column("rank", "rank waited for"),
)


def _build(view: View) -> Sequence[Block]:
    return list(_blocks(view))


def _blocks(view: View) -> Iterator[Block]:
    path = critical_path(view.rank.profile)
    path = path.filter(pl.col("step") == view.step) if view.step else path
    if path.is_empty():
        yield Note(_NOTHING, EMPTY)
        return
    steps = path["step"].unique(maintain_order=True).to_list()
    groups = _shown(bounds(path), len(steps))
    yield Note(_answer(path, groups, steps), ANSWER)
    if not view.rank.profile.table("api").height:
        yield Note("No calls of the host were recorded: what gaps between kernels waited for is not known.")
    yield _summary(groups, len(steps), view)
    if len(steps) > 1:
        yield _by_step(path, steps[:_MOST_STEPS], view)
    yield _over_time(path, view)
    yield from _details(path, len(steps), view)
    yield _parts(path, view)


def _shown(table: pl.DataFrame, steps: int) -> pl.DataFrame:
    """Return a table of bounds as it is shown: the mean of a step."""
    return table.with_columns(pl.col("us") / steps, (pl.col("share") * 100).alias("share_pct"))


def _answer(path: pl.DataFrame, groups: pl.DataFrame, steps: Sequence[str]) -> str:
    """Return in a sentence what bounds the steps, and what is saved at most without it."""
    most = groups.row(0, named=True)
    title, bound, _ = _TITLES[most["what"]]
    span = f"step {steps[0]}" if len(steps) == 1 else f"the {len(steps)} steps"
    span = span if any(steps) else "the recording"
    whole = most["us"] / (most["share"] or 1)
    top = ""
    if most["what"] in ("kernels", "communication"):
        first = bounds(path.filter(pl.col("kind").is_in(GROUPS[most["what"]])), "type").row(0, named=True)
        top = f", most of it {first['what']} ({share_text(first['share'] * most['share'])})"
    a_step = " a step" if len(steps) > 1 else ""
    return (
        f"{title} {bound} {span}: {share_text(most['share'])} of the critical path{top}; "
        f"removing all of it saves at most {time_text(most['us'])} of {time_text(whole)}{a_step}."
    )


def _summary(groups: pl.DataFrame, steps: int, view: View) -> Table:
    titles = {group: title for group, (title, _, _) in _TITLES.items()}
    remedies = {group: remedy for group, (_, _, remedy) in _TITLES.items()}
    rows = groups.with_columns(
        pl.col("what").replace_strict(titles, return_dtype=pl.String),
        pl.col("what").replace_strict(remedies, return_dtype=pl.String).alias("remedy"),
    )
    columns = (*_columns("what bounds it", steps > 1), Column("remedy", "what shortens it", wide=True))
    return Table("critical-bounds", "What bounds the path", rows, columns, _BOUND, view.modelled, WINDOW)


def _by_step(path: pl.DataFrame, steps: Sequence[str], view: View) -> Chart:
    times = {step: dict(bounds(part).select("what", "us").iter_rows()) for (step,), part in path.group_by("step")}
    bounded = path.group_by("step").agg(pl.col("start_ns").min(), pl.col("end_ns").max())
    ends = {step: (start, end) for step, start, end in bounded.iter_rows()}
    windows = [ends[step] for step in steps]
    parts = {
        group: (_TITLES[group][0], [times[step].get(group, 0.0) / 1000 for step in steps])
        for group in GROUPS
        if any(group in times[step] for step in steps)
    }
    shares = ", ".join(f"{name} {sum(values) / len(values):.3f} ms" for name, values in parts.values())
    return Chart(
        "critical-steps",
        "The path, step by step",
        lambda: stacked_bars(
            steps, parts, axis_title="ms", unit="ms", label_title="step", height_px=_HEIGHT_PX, windows=windows
        ),
        f"Mean of a step: {shares}.",
        modelled=view.modelled,
        height_px=_HEIGHT_PX,
    )


def _over_time(path: pl.DataFrame, view: View) -> Chart:
    """Return the path of the longest step over time."""
    length = pl.col("end_ns").max() - pl.col("start_ns").min()
    longest = path.group_by("step", maintain_order=True).agg(length.alias("ns")).sort("ns", descending=True)["step"][0]
    chosen = path.filter(pl.col("step") == longest)
    titles = {kind: (group, _TITLES[group][0]) for group, kinds in GROUPS.items() for kind in kinds}
    span = f"step {longest}" if longest else "the recording"
    return Chart(
        "critical-path",
        f"The path of {span} over time",
        lambda: draw_path(chosen, titles, _HEIGHT_PX),
        f"{chosen.height} parts lead from the end of {span} back to its begin.",
        detail="read it from right to left: each part waited for the one before it"
        + ("" if view.step or path["step"].n_unique() == 1 else "; the longest step is shown"),
        modelled=view.modelled,
        height_px=_HEIGHT_PX,
    )


def _details(path: pl.DataFrame, steps: int, view: View) -> Iterator[Table]:
    kinds = (
        ("critical-kernels", "Kernels on the path", "kernel", "type"),
        ("critical-collectives", "Collectives on the path", "collective", "type"),
    )
    whole = (path["end_ns"] - path["start_ns"]).sum() / 1000
    for name, title, kind, by in kinds:
        table = bounds(path.filter(pl.col("kind") == kind), by).with_columns((pl.col("us") / whole).alias("share"))
        yield from _top(name, title, table, steps, view)
    waited = path.filter(pl.col("kind") == "other ranks")
    ranks = waited.with_columns(pl.format("rank {}", "rank").fill_null("a rank that is not known").alias("rank"))
    table = bounds(ranks, "rank").with_columns((pl.col("us") / whole).alias("share"))
    yield from _top("critical-ranks", "Ranks that the path waits for", table, steps, view)
    if view.rank.profile.table("host_ops").height:
        yield from _top("critical-host", "The host on the path", host_shares(view.rank.profile, path), steps, view)


def _top(name: str, title: str, table: pl.DataFrame, steps: int, view: View) -> Iterator[Table]:
    if table.height:
        shown = _shown(table, steps).head(_TOP)
        detail = f"the longest {_TOP} of {table.height}; {_BOUND}" if table.height > _TOP else _BOUND
        yield Table(name, title, shown, _columns("what", steps > 1), detail, view.modelled, WINDOW)


def _parts(path: pl.DataFrame, view: View) -> Table:
    length = pl.col("end_ns") - pl.col("start_ns")
    begin = pl.col("start_ns").min()
    rows = path.with_columns((length / 1000).alias("us"), ((pl.col("start_ns") - begin) / 1000).alias("from_us"))
    shown = rows.sort("us", "start_ns", descending=[True, False]).head(MOST_ROWS)
    detail = "the longest first" + (f", {MOST_ROWS} of {rows.height}" if rows.height > MOST_ROWS else "")
    columns = _PART_COLUMNS if path["step"][0] else _PART_COLUMNS[1:]
    return Table("critical-parts", "Parts of the path", shown, columns, detail, view.modelled, WINDOW)


PAGE = Page(
    "critical",
    "Critical path",
    "What a step waits for from its end back to its begin, and what could be saved at most.",
    _build,
    with_step=True,
)
