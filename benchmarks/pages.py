"""
Every page of a run of a million kernels and a million allocations: when it is there, and how long each use takes.

``python benchmarks/pages.py [kernels]``. The run is made in memory: a hundred steps of PyTorch, the kernels of
``timeline.py`` with shapes, and blocks of memory that live for some hundred kernels. A page is built with its figures
as the dashboard builds it, once after loading and again with another step or choice; of tables the rows of a search and
of a sort are asked for. Plotly is imported before, as by the server. The times are printed beside what sorting the
starts of all calls takes on the same machine at the same time: a ratio says more than a time.

``python benchmarks/pages.py --browser [FOLDER]`` opens every page of the newest run below a folder (of the example
train_gpt.py without one) in a headless Chromium, and prints when it is painted, when all is there, and how long a use
takes.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from pages_in_browser import report as report_browser
from ratios import record_ratio
from timeline import BEGIN_NS, NAMES, filled, frames_of, profile_of, timed

from drynpu import tables
from drynpu.platforms import load_chip
from drynpu.tables import Profile
from drynpu.views.content import Block, Chart, Control, Table, flat
from drynpu.views.page import Page
from drynpu.views.runs import Rank, Run, Selection, View
from drynpu_pages.figures import graph_objects
from drynpu_pages.pages import PAGES
from drynpu_pages.tables import Request, search_rows

STEPS, LAUNCH_NS, MOST_ALIVE = 100, 12_000, 1000
PAGE_GOAL_S, USE_GOAL_S = 2.0, 0.2
BROWSER_PAGES: Sequence[str] = ()
"""Names of the pages that are opened in the browser; all without."""
SHAPES = ("64,256;256,512", "128,512;512,128", "8,16,64,64;8,16,64,64", "1024;1024")


def stepped(count: int) -> Profile:
    """Return a profile of *count* kernels in steps, with as many allocations and releases."""
    frames = frames_of(count)
    shape = pl.Series(SHAPES).gather(np.arange(count) % len(SHAPES))
    frames["kernels"] = frames["kernels"].with_columns(
        shape.alias("input_shapes"),
        shape.str.splitn(";", 2).struct.field("field_0").alias("output_shapes"),
        *(pl.lit("FLOAT16;FLOAT16").alias(name) for name in ("input_dtypes",)),
        pl.lit("ND;ND").alias("input_formats"),
        pl.lit("FLOAT16").alias("output_dtypes"),
        pl.lit("ND").alias("output_formats"),
        pl.when(pl.col("op_type") == "Matm").then(pl.lit("MatMulV2")).otherwise("op_type").alias("op_type"),
    )
    frames["host_ops"] = with_steps(frames["host_ops"], count)
    frames["allocations"] = allocations(count)
    return profile_of(**frames)


def with_steps(ops: pl.DataFrame, count: int) -> pl.DataFrame:
    """Return operators with the steps around them, numbered anew in the order of their starts."""
    begins = BEGIN_NS + np.arange(STEPS, dtype=np.int64) * (count // STEPS) * LAUNCH_NS - 1_000
    names = [f"ProfilerStep#{number}" for number in range(STEPS)]
    steps = filled(
        tables.HOST_OPS,
        STEPS,
        name=pl.Series(names),
        start_ns=begins,
        end_ns=begins + (count // STEPS) * LAUNCH_NS - 500,
        tid=np.full(STEPS, 1),
    )
    ordered = pl.concat([steps, ops]).sort("start_ns")
    return ordered.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("op_id"))


def allocations(count: int) -> pl.DataFrame:
    """Return half as many blocks as *count*, each released some hundred operators after it was allocated."""
    random = np.random.default_rng(11)
    blocks = count // 2
    begin = BEGIN_NS + np.arange(blocks, dtype=np.int64) * 2 * LAUNCH_NS + 3_000
    end = begin + random.integers(1, MOST_ALIVE, blocks) * LAUNCH_NS + 7
    size = 512 * random.integers(1, 4096, blocks)
    pointer = 2**40 + np.arange(blocks, dtype=np.int64) * 2**21
    rows = pl.DataFrame(
        {
            "pointer": np.concatenate([pointer, pointer]),
            "time_ns": np.concatenate([begin, end]),
            "size_bytes": np.concatenate([size, -size]),
            "action": np.repeat([0, 1], blocks),
        }
    ).sort("time_ns")
    total = rows["size_bytes"].cum_sum()
    same = pl.Series(np.full(2 * blocks, 1 << 33))
    return filled(
        tables.ALLOCATIONS,
        2 * blocks,
        **{name: rows[name] for name in rows.columns},
        total_allocated_bytes=total,
        total_active_bytes=total,
        total_reserved_bytes=same,
        device_type=np.full(2 * blocks, 20),
        tid=np.full(2 * blocks, 1),
    )


def shown(page: Page, view: View) -> list[Block]:
    """Return the blocks of a page, with its figures drawn."""
    blocks = flat(page.blocks(view))
    for block in blocks:
        if isinstance(block, Chart):
            block.draw().to_json()
    return blocks


def uses(page: Page, view: View) -> Iterator[tuple[str, View]]:
    """Yield what a reader may choose on a page."""
    if page.with_step:
        yield "step 7", View(view.run, view.rank, Selection("7"))
    controls: list[Control] = list(page.controls(view.rank))
    for control in controls:
        for value, text in control.options[1:]:
            yield f"{control.label}: {text}", View(view.run, view.rank, Selection("", {control.name: value}))


def table_uses(blocks: list[Block]) -> Mapping[str, Table]:
    """Return the tables of a page by name."""
    return {block.name: block for block in blocks if isinstance(block, Table) and block.frame.height > 10_000}


def main() -> None:
    if "--browser" in sys.argv:
        folders = [Path(each) for each in sys.argv[1:] if each != "--browser"]
        report_browser(folders[0] if folders else None, BROWSER_PAGES)
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    profile = stepped(count)
    shuffled = np.random.default_rng(1).permutation(profile.api["start_ns"].to_numpy())
    unit, _ = timed(lambda: np.sort(shuffled))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{count} kernels; sorting {len(shuffled)} numbers takes {unit:.3f} s, the unit of the ratios")
    graph_objects()
    rank = Rank(Path(), None)
    rank.__dict__["profile"] = profile
    rank.__dict__["chip"] = load_chip("910B2")
    view = View(Run("benchmark", (rank,)), rank)

    def report(what: str, seconds: float, goal: float) -> None:
        over = "" if seconds <= goal else "  OVER"
        record_ratio(f"{what} / sorting as many numbers as the run has calls", seconds / unit)
        print(f"{what:52s} {seconds * 1000:9.1f} ms {seconds / unit:7.2f} x  goal {goal * 1000:.0f} ms{over}")

    for page in PAGES:
        begin = time.perf_counter()
        blocks = shown(page, view)
        report(f"{page.title}: first", time.perf_counter() - begin, PAGE_GOAL_S)
        for name, other in uses(page, view):
            seconds, _ = timed(lambda page=page, other=other: shown(page, other), 1)
            report(f"{page.title}: {name}, first", seconds, PAGE_GOAL_S)
            seconds, blocks_there = timed(lambda page=page, other=other: shown(page, other))
            report(f"{page.title}: {name}, again", seconds, USE_GOAL_S)
            blocks += blocks_there
        for name, table in table_uses(blocks).items():
            texts = Request(search=NAMES[3][5:], end=100)
            seconds, matching = timed(lambda table=table, texts=texts: search_rows(table, texts))
            report(f"{page.title}: search in {name}, {matching.count} rows", seconds, USE_GOAL_S)
            column = table.columns[-1].name
            order = Request(sort=[(column, True)], end=100)
            seconds, _ = timed(lambda table=table, order=order: search_rows(table, order))
            report(f"{page.title}: sort {name} by {column}", seconds, USE_GOAL_S)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"at most {most:.0f} MB, {before:.0f} MB of them for making the run")


if __name__ == "__main__":
    main()
