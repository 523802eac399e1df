"""What is alive at the position: by operator, by what it is for, by module, block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import polars as pl

from drynpu.views.content import EMPTY, Block, Chart, Column, Note, Row, Table
from drynpu.views.runs import View
from drynpu.views.theme import share_text, size_text, time_text
from drynpu_pages.figures import bars, donut
from drynpu_pages.pages._parts import WINDOW
from drynpu_pages.pages.memory._curve import unit_of
from drynpu_pages.pages.memory._selected import Selected
from drynpu_pages.pages.memory._tensors import with_tensors

BEFORE = "before the recording"
"""What is in use and has no block: it was allocated before the profiler recorded, as parameters mostly are."""
UNKNOWN_CATEGORY, NO_MODULE = "other", "no module"
OPERATOR = pl.col("name").str.replace(r"^.*/", "").str.replace(r"-op\d+$", "")
"""Operators of one type: operators of MindSpore's graphs have their cell and a number in their name."""
_MOST = 9
_LONGEST = 27
"""Characters of a module that a bar shows; the end of a path says more than its begin."""
_LIVE_COLUMNS = (
    Column("order", "order"),
    Column("name", "operator", wide=True),
    Column("size_kib", "size (KiB)", 2),
    Column("shape", "shape"),
    Column("dtype", "data type"),
    Column("layout", "format"),
    Column("category", "category"),
    Column("module", "module", wide=True),
    Column("component", "component"),
    Column("start_ms", "allocated at (ms)", 3),
    Column("life_ms", "life (ms)", 3),
    Column("released", "released"),
)
_ORDER = "order counts the allocations of the component; the shape is of the kernel's output that has this size"
RULES = (
    "told from the life of each block: allocated in forward and alive when backward begins is an activation (inputs "
    "included), allocated in backward and alive after it a gradient, by the optimizer and alive after it its state"
)


def breakdown(selected: Selected, view: View) -> Iterator[Block]:
    """Yield what is alive at the position."""
    live = selected.live
    total = selected.total("allocated_bytes", selected.at_ns)
    if selected.blocks.is_empty() or (live.is_empty() and not total):
        yield Note("No single allocation of this component was recorded, so what it is for is not known.", EMPTY)
        return
    rest = max((total or 0) - int(live["size_bytes"].sum()), 0)
    if live.height:
        yield Note(_explained(live, rest, selected))
    where = "at the peak" if selected.at_peak else "at the position"
    yield Row(
        [
            _shares("live-operators", f"By operator, {where}", _by(live, OPERATOR, rest, "N/A"), view),
            *_categories(live, rest, where, view),
        ]
    )
    yield from _modules(live, rest, where, view)
    yield _table(live, where, selected, view)


def _by(live: pl.DataFrame, column: str | pl.Expr, rest: int, unknown: str) -> dict[str, int]:
    """Return the bytes by the texts of a column, the most first, then what has no block."""
    text = pl.col(column) if isinstance(column, str) else column
    name = pl.when(text == "").then(pl.lit(unknown)).otherwise(text).alias("key")
    sums = live.group_by(name).agg(pl.col("size_bytes").sum()).sort("size_bytes", "key", descending=[True, False])
    bytes_by_key: dict[str, int] = dict(sums.iter_rows())
    if rest:
        bytes_by_key[BEFORE] = rest
    return bytes_by_key


def _few(sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the first few and the sum of the others."""
    names = [name for name in sizes if name != BEFORE]
    kept = {name: sizes[name] for name in names[:_MOST]}
    if len(names) > _MOST:
        kept["Other"] = sum(sizes[name] for name in names[_MOST:])
    return kept | ({BEFORE: sizes[BEFORE]} if BEFORE in sizes else {})


def _shares(name: str, title: str, sizes: Mapping[str, int], view: View, detail: str = "") -> Chart:
    shown = _few(sizes)
    unit, one = unit_of(sum(shown.values()))
    labels, values = list(shown), [size / one for size in shown.values()]
    return Chart(name, title, lambda: donut(labels, values, unit=unit), _sentence(shown), detail, view.modelled)


def _sentence(sizes: Mapping[str, int]) -> str:
    whole = sum(sizes.values()) or 1
    parts = (f"{name} {size_text(size)} ({share_text(size / whole)})" for name, size in list(sizes.items())[:5])
    return ", ".join(parts) + "."


def _categories(live: pl.DataFrame, rest: int, where: str, view: View) -> Iterator[Chart]:
    if (live["category"] != "").any() or (rest and live.is_empty()):
        sizes = _by(live, "category", rest, UNKNOWN_CATEGORY)
        yield _shares("live-categories", f"By category, {where}", sizes, view, RULES)


def _modules(live: pl.DataFrame, rest: int, where: str, view: View) -> Iterator[Block]:
    if not (live["module"] != "").any():
        return
    sizes = _few(_by(live, "module", rest, NO_MODULE))
    unit, one = unit_of(max(sizes.values()))
    labels, values = _ends(sizes), [size / one for size in sizes.values()]
    height = 70 + 24 * len(labels)
    yield Chart(
        "live-modules",
        f"By module, {where}",
        lambda: bars(labels, values, axis_title=f"memory ({unit})", unit=unit, height_px=height),
        _sentence(sizes),
        "the innermost open module; in backward the module of the forward operator",
        view.modelled,
        height,
    )


def _ends(names: Iterable[str]) -> list[str]:
    """Return the ends of names that are long, each with a number where another has the same end."""
    ends: list[str] = []
    for name in names:
        end = name if len(name) <= _LONGEST else "…" + name[1 - _LONGEST :]
        ends.append(f"{end[: _LONGEST - 4]} ({len(ends)})" if end in ends else end)
    return ends


def _table(live: pl.DataFrame, where: str, selected: Selected, view: View) -> Table:
    order = selected.blocks["start_ns"].search_sorted(live["start_ns"], side="right")
    numbered = with_tensors(live, view.rank.profile).with_columns(order.alias("order"))
    rows = numbered.sort("size_bytes", "start_ns", descending=[True, False]).select(
        "order",
        pl.col("name").replace("", "N/A"),
        (pl.col("size_bytes") / 1024).alias("size_kib"),
        *(pl.col(name).replace("", "N/A") for name in ("shape", "dtype", "layout")),
        pl.col("category").replace("", "N/A"),
        pl.col("module").replace("", "N/A"),
        "component",
        ((pl.col("start_ns") - selected.origin_ns) / 1e6).alias("start_ms"),
        ((pl.col("end_ns") - pl.col("start_ns")) / 1e6).alias("life_ms"),
        pl.when(pl.col("end_ns").is_null()).then(pl.lit("never")).otherwise(pl.lit("yes")).alias("released"),
        *WINDOW,
    )
    return Table(
        "live-blocks", f"Blocks alive {where}", rows, _LIVE_COLUMNS, _ORDER, modelled=view.modelled, window=WINDOW
    )  # fmt: skip


def _explained(live: pl.DataFrame, rest: int, selected: Selected) -> str:
    """Return in words what most of the memory at the position is."""
    whole = int(live["size_bytes"].sum()) + rest
    kind = "category" if (live["category"] != "").any() else OPERATOR
    most, size = next(iter(_by(live, kind, 0, UNKNOWN_CATEGORY).items()))
    largest = live.sort("size_bytes", descending=True).row(0, named=True)
    owner = largest["name"] or "an operator without a name"
    since = (selected.at_ns - largest["start_ns"]) / 1000
    named = largest["module"] and largest["module"] not in owner
    module = f" in {largest['module']}" if named else ""
    before = f" {share_text(rest / whole)} was there {BEFORE}." if rest else ""
    head = "At the peak" if selected.at_peak else "At this position"
    return (
        f"{head}, {share_text(size / whole)} of {size_text(whole)} is {most}.{before} The largest block, "
        f"{size_text(largest['size_bytes'])}, was allocated {time_text(since)} earlier by {owner}{module}."
    )
