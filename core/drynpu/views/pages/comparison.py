"""Two runs side by side: what changed, sorted by what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from drynpu.analysis import Comparison, compare_profiles
from drynpu.views.content import EMPTY, Block, Chart, Column, Fact, Facts, Note, Table
from drynpu.views.figures import stacked_bars
from drynpu.views.pages._page import Page
from drynpu.views.runs import Rank, View
from drynpu.views.theme import size_text, time_text
from drynpu.writers._numbers import UNKNOWN

_BARS = {
    "computing": "computing",
    "communication": "communication, not overlapped",
    "free": "free",
}
_TYPES = (
    Column("name", "name", wide=True),
    Column("change", "change (us)", 3),
    Column("first", "this (us)", 3),
    Column("second", "other (us)", 3),
    Column("factor", "factor", 3),
    Column("first_count", "count, this", 1),
    Column("second_count", "count, other", 1),
)


def comparison_blocks(first: Rank, second: Rank) -> list[Block]:
    """Return what changed from the first rank to the second."""
    found = compare_profiles((first.profile, first.summary), (second.profile, second.summary))
    modelled = first.modelled or second.modelled
    span = _span(first, second)
    return [*_facts(found, span, modelled), _bars(found, span, modelled), *_tables(found, span, modelled)]


def _span(first: Rank, second: Rank) -> str:
    """Return what the numbers of the two sides are of."""
    sides = ["a mean step" if rank.step_names else "the whole recording" for rank in (first, second)]
    return sides[0] if sides[0] == sides[1] else f"{sides[0]} of this, {sides[1]} of the other"


def _facts(found: Comparison, span: str, modelled: bool) -> Iterator[Block]:
    rows = [*found.steps.iter_rows(named=True)]
    yield Facts(
        [
            Fact(row["name"].capitalize(), _change(row, time_text), _sides(row, time_text), modelled)
            for row in rows
            if row["first"] or row["second"]
        ],
        span.capitalize(),
    )
    memory = [row for row in found.memory.iter_rows(named=True) if row["change"] is not None]
    if memory:
        facts = [Fact(row["name"].capitalize(), _change(row, size_text), _sides(row, size_text)) for row in memory]
        yield Facts(facts, "Device memory")


def _change(row: dict[str, float | None], text: object) -> str:
    """Return the change with its sign and, where the first side is not 0, in per cent."""
    change, factor = row["change"], row["factor"]
    if change is None or not callable(text):
        return UNKNOWN
    sign = "+" if change >= 0 else "-"
    share = f" ({(factor - 1) * 100:+.1f} %)" if factor is not None else ""
    return f"{sign}{text(abs(change))}{share}"


def _sides(row: dict[str, float | None], text: object) -> str:
    return f"{text(row['first'])} → {text(row['second'])}" if callable(text) else ""


def _bars(found: Comparison, span: str, modelled: bool) -> Block:
    rows = {row["name"]: row for row in found.steps.iter_rows(named=True)}
    parts = {
        key: (name.capitalize(), [(rows[name][side] or 0.0) / 1000 for side in ("first", "second")])
        for key, name in _BARS.items()
    }
    texts = [f"{name} {values[0]:.3f} and {values[1]:.3f} ms" for name, values in parts.values()]
    return Chart(
        "compared-steps",
        "Where the time goes",
        lambda: stacked_bars(["this", "other"], parts, axis_title="ms", unit="ms", horizontal=True, height_px=200),
        f"This and the other run, {span}: {', '.join(texts)}.",
        modelled=modelled,
        height_px=200,
    )


def _tables(found: Comparison, span: str, modelled: bool) -> Iterator[Block]:
    for name, title, frame, is_modelled in (
        ("compared-kernels", "Kernels by type", found.kernels, modelled),
        ("compared-collectives", "Collectives by type", found.collectives, modelled),
        ("compared-operators", "Host operators by name", found.operators, False),
    ):
        if frame.height:
            detail = f"{span}; what changed most stands first"
            yield Table(name, title, frame.filter(pl.col("change").is_not_null()), _TYPES, detail, modelled=is_modelled)


def _build(view: View) -> Sequence[Block]:
    if view.other is None:
        return [Note("Choose the run to compare with above.", EMPTY)]
    same = view.rank.label if view.rank.label in view.other.labels else ""
    return comparison_blocks(view.rank, view.other.rank(same))


PAGE = Page(
    "comparison",
    "Comparison",
    "What changed from this run to another, what costs most first.",
    _build,
    with_other=True,
)
