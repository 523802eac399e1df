"""The flame graph: which module, operator and kernel the time belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from drynpu.views.content import ANSWER, EMPTY, Block, Chart, Column, Control, Note, Table
from drynpu.views.page import Page
from drynpu.views.runs import Rank, View
from drynpu.views.theme import time_text
from drynpu_pages.figures.flame import draw_flame
from drynpu_pages.flame import DEVICE, HOST, SEPARATOR, flame_tree
from drynpu_pages.pages._parts import MOST_ROWS, WINDOW

_WEIGHTS = ((DEVICE, "device time"), (HOST, "host time"))
_HEIGHT_PX = 560
_COLUMNS = (
    Column("name", "place", wide=True),
    Column("within", "within", wide=True),
    Column("kind", "kind"),
    Column("calls", "calls"),
    Column("self_us", "of its own (us)", 3),
    Column("total_us", "with what is below (us)", 3),
    Column("share_pct", "share (%)", 2),
)


def _build(view: View) -> Sequence[Block]:
    return list(_blocks(view))


def _blocks(view: View) -> Iterator[Block]:
    weight = view.choice("weight", DEVICE)
    tree = flame_tree(view.rank.profile, weight, view.step)
    roots = tree.filter(pl.col("parent") == "").sort("total_us", "path", descending=[True, False])
    whole = float(roots["total_us"].sum())
    if not whole:
        yield Note(f"Nothing here has {dict(_WEIGHTS)[weight]}.", EMPTY)
        return
    rows = tree.with_columns(
        pl.col("parent").str.replace_all(SEPARATOR, " > ", literal=True).alias("within"),
        (pl.col("total_us") / whole * 100).alias("share_pct"),
    ).sort("self_us", "path", descending=[True, False])
    first = rows.row(0, named=True)
    where = f" in {first['within']}" if first["within"] else ""
    modelled = view.modelled and weight == DEVICE
    answer = f"{first['name']}{where} takes most by itself: {time_text(first['self_us'])} of {time_text(whole)}."
    yield Note(answer, ANSWER)
    yield Chart(
        "flame",
        "Flame graph",
        lambda: draw_flame(tree, _HEIGHT_PX),
        f"{answer} The widest at the top: {', '.join(roots['name'].head(5))}.",
        detail="the wider, the longer; click a place to see what stands below it, the bar above leads back",
        modelled=modelled,
        height_px=_HEIGHT_PX,
    )
    yield Table(
        "flame-places", "Places", rows.head(MOST_ROWS), _COLUMNS, window=WINDOW,
        detail="what takes most by itself stands first; the window is the longest call", modelled=modelled,
    )  # fmt: skip


def _controls(_: Rank) -> Sequence[Control]:
    return (Control("weight", "Time", _WEIGHTS),)


PAGE = Page(
    "flame",
    "Flame graph",
    "Which module, operator and kernel the time belongs to.",
    _build,
    _controls,
    with_step=True,
)
