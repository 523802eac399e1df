"""Two runs side by side: what changed, sorted by what it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import polars as pl

from drynpu.analysis import Comparison, changed_options, compare_profiles, objections, refusal_text, run_facts
from drynpu.views.content import WARNING, Block, Column, Fact, Facts, Note, Table
from drynpu.views.runs import Rank
from drynpu.views.theme import size_text, time_text
from drynpu.writers.number_text import UNKNOWN

_PARTS = {
    "computing": "computing",
    "communication": "communication, not overlapped",
    "free": "free",
}
SIDES = ("baseline", "this run")
"""What the two runs are called where nobody has better names."""
StepParts: TypeAlias = Mapping[str, tuple[str, Sequence[float]]]
"""Part of a step -> its name, and its time on the first and on the second side, ms."""


def _note(_: StepParts, sentence: str) -> Block:
    return Note(sentence)


def comparison_blocks(
    first: Rank,
    second: Rank,
    sides: tuple[str, str] = SIDES,
    steps: Callable[[StepParts, str], Block] = _note,
    *,
    force: bool = True,
) -> list[Block]:
    """
    Return what changed from the first rank to the second.

    Parameters
    ----------
    sides:
        What the two ranks are called.
    steps:
        Makes the block of where the time goes: from the parts of a mean step, and the sentence that says the same.
    force:
        Whether runs that cannot be compared are compared all the same.
    """
    pair = [(rank.profile, rank.summary) for rank in (first, second)]
    reasons = refusal_text(*pair)
    if reasons:
        advice = "the differences below mean nothing" if force else "drynpu compare --force compares them all the same"
        head = [*_head((first, second), sides), Note(f"Careful: {reasons}; {advice}.", WARNING)]
        if not force:
            return head
    else:
        head = [*_head((first, second), sides)]
    comparison = compare_profiles(*pair)
    modelled = first.modelled or second.modelled
    span = _span(first, second, sides)
    blocks = [*head, *_facts(comparison, span, modelled), _steps(comparison, span, sides, steps)]
    return [*blocks, *_tables(comparison, span, modelled, _columns(sides))]


def _head(ranks: tuple[Rank, Rank], sides: tuple[str, str]) -> Iterator[Block]:
    """Yield what the two runs are, what was recorded differently, and what speaks against comparing them."""
    pair = [(rank.profile, rank.summary) for rank in ranks]
    facts = [
        Fact(side.capitalize(), _place(rank), ", ".join(f"{name} {text}" for name, text in run_facts(each).items()))
        for side, rank, each in zip(sides, ranks, pair, strict=True)
    ]
    changed = changed_options(pair[0], pair[1])
    yield Facts(facts, "Runs")
    if changed:
        rows = [(name, *values) for name, values in changed.items()]
        frame = pl.DataFrame(rows, schema=["name", *sides], orient="row")
        columns = [Column("name", "option", wide=True), *(Column(side, side) for side in sides)]
        yield Table("changed-options", "Changed options", frame, columns)
    for sentence in objections(pair[0], pair[1]):
        yield Note(f"Careful: {sentence}", WARNING)


def _place(rank: Rank) -> str:
    """Return the last two parts of the path, which tell most runs apart."""
    return "/".join(rank.path.parts[-2:])


def _columns(sides: tuple[str, str]) -> list[Column]:
    return [
        Column("name", "name", wide=True),
        Column("change", "change (us)", 3),
        *(Column(name, f"{side} (us)", 3) for name, side in zip(("first", "second"), sides, strict=True)),
        Column("factor", "factor", 3),
        Column("counts", f"count, {sides[0]} → {sides[1]}"),
    ]


def _span(first: Rank, second: Rank, sides: tuple[str, str]) -> str:
    """Return what the numbers of the two sides are of."""
    spans = ["a mean step" if rank.step_names else "the whole recording" for rank in (first, second)]
    return spans[0] if spans[0] == spans[1] else f"{spans[0]} of {sides[0]}, {spans[1]} of {sides[1]}"


def _facts(comparison: Comparison, span: str, modelled: bool) -> Iterator[Block]:
    rows = [*comparison.steps.iter_rows(named=True)]
    yield Facts(
        [
            Fact(row["name"].capitalize(), _change(row, time_text), _sides(row, time_text), modelled)
            for row in rows
            if row["first"] or row["second"]
        ],
        span.capitalize(),
    )
    memory = [row for row in comparison.memory.iter_rows(named=True) if row["change"] is not None]
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


def _steps(comparison: Comparison, span: str, sides: tuple[str, str], make: Callable[[StepParts, str], Block]) -> Block:
    rows = {row["name"]: row for row in comparison.steps.iter_rows(named=True)}
    parts = {
        key: (name.capitalize(), [(rows[name][side] or 0.0) / 1000 for side in ("first", "second")])
        for key, name in _PARTS.items()
    }
    texts = [f"{name} {values[0]:.3f} and {values[1]:.3f} ms" for name, values in parts.values()]
    return make(parts, f"{sides[0].capitalize()} and {sides[1]}, {span}: {', '.join(texts)}.")


def _tables(comparison: Comparison, span: str, modelled: bool, columns: Sequence[Column]) -> Iterator[Block]:
    for name, title, frame, is_modelled in (
        ("compared-kernels", "Kernels by type", comparison.kernels, modelled),
        ("compared-collectives", "Collectives by type", comparison.collectives, modelled),
        ("compared-operators", "Host operators by name", comparison.operators, False),
    ):
        if frame.height:
            detail = f"{span}; what changed most stands first"
            means = frame.select(pl.col("first_count", "second_count").round(2)).rows()
            counts = [f"{one:g} → {other:g}" for one, other in means]
            rows = frame.with_columns(pl.Series("counts", counts, dtype=pl.String)).filter(
                pl.col("change").is_not_null()
            )
            yield Table(name, title, rows, columns, detail, modelled=is_modelled)
