"""What if: the run simulated again with another chip, faster products or links, or a host that takes no time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl
from attrs import frozen

from drynpu import ChipError
from drynpu.platforms import Chip, known_chips
from drynpu.plugins import Plugins, from_plugins
from drynpu.views.content import ANSWER, EMPTY, WARNING, Block, Chart, Column, Control, Fact, Facts, Note, Table
from drynpu.views.page import Page
from drynpu.views.runs import Rank, View
from drynpu.views.theme import share_text, time_text
from drynpu_pages.figures import stacked_bars
from drynpu_pages.pages._parts import WINDOW
from drynpu_pages.whatif import (
    AS_RECORDED,
    GROUP_NAMES,
    NO_BATCH,
    NO_CALLS,
    Change,
    Outcome,
    Recorded,
    basis_text,
    bound_by,
    cut_text,
    memory_text,
    outcome_text,
    simulate_again,
)

_TIMES = (1.25, 1.5, 2.0, 3.0, 0.5)
"""How many times as fast products or links may be chosen to be."""
_MOST_FOR_ALL = 6_000
"""Entries of the work up to which each change is simulated by itself, so that the page is there in a second."""
_HEIGHT_PX = 220
_NOTHING = "No work of a device was recorded, so there is nothing to simulate again."
_UNKNOWN = "not known to the model"
_NO_CHIP = (
    "The run does not say of which chip it is. Name the chip that it was recorded on: drynpu dashboard --chip 910B2."
)
_UNCHANGED = (
    "Nothing is changed yet: the fields of the dashboard, and drynpu whatif, choose a chip, faster products or links, "
    "or no host gaps."
)


def _chips() -> tuple[Chip, ...]:
    """Return all chips that there are; the bundled ones alone where a chip of a plugin cannot be read."""
    try:
        return known_chips(from_plugins(Plugins.chip_files))
    except ChipError:
        return known_chips()


def _controls(rank: Rank) -> Sequence[Control]:
    if rank.chip is None:
        return ()
    others = [chip.name for chip in _chips() if chip.name != rank.chip.name]
    rates = tuple((f"{times:g}", f"{times:g} times as fast") for times in _TIMES)
    return (
        Control("chip", "Chip", (("", rank.chip.name), *((name, name) for name in others))),
        Control("matmul", "Products", (("", "as recorded"), *rates)),
        Control("link", "Links", (("", "as recorded"), *rates)),
        Control("host", "Host", (("", "as recorded"), ("none", "no gaps"))),
    )


def _change(view: View) -> Change:
    """Return what was chosen; what is no choice counts as none."""
    chips = {chip.name: chip for chip in _chips()}
    rates = {f"{times:g}": times for times in _TIMES}
    return Change(
        chip=chips.get(view.choice("chip", "")),
        matmul=rates.get(view.choice("matmul", ""), 1.0),
        link=rates.get(view.choice("link", ""), 1.0),
        no_host_gaps=view.choice("host", "") == "none",
    )


def recorded_of(rank: Rank, step: str = "") -> Recorded | None:
    """Return a rank's run, ready to be simulated again; ``None`` where its chip or all of its work is not known."""
    chip = rank.chip
    if chip is None:
        return None
    kept: Recorded | None = rank.keep(("whatif", step), lambda: Recorded.of_profile(rank.profile, chip, step))
    return kept


def _build(view: View) -> Sequence[Block]:
    return list(_blocks(view))


def _blocks(view: View) -> Iterator[Block]:
    if not view.rank.profile.table("tasks").height:
        yield Note(_NOTHING, EMPTY)
        return
    if view.rank.chip is None:
        yield Note(_NO_CHIP, EMPTY)
        return
    recorded = recorded_of(view.rank, view.step)
    if recorded is None:
        yield Note(_NOTHING, EMPTY)
        return
    change = _change(view)
    outcome = simulate_again(recorded, change)
    small = len(recorded.recording.work.start) <= _MOST_FOR_ALL
    singles = _one_at_a_time(recorded) if small else None
    yield Note(_unchanged_text(singles) if change.nothing else outcome_text(outcome, change), ANSWER)
    unfit = memory_text(view.rank.summary.peak_allocated_bytes, change.chip)
    if unfit:
        yield Note(unfit, WARNING)
    if not view.rank.profile.table("api").height:
        yield Note(NO_CALLS)
    yield _facts(outcome)
    yield _bars(outcome)
    yield _steps(outcome)
    if singles is not None:
        yield singles
    yield _types(outcome, measured=not view.modelled)
    if cut_text(recorded):
        yield Note(cut_text(recorded))
    yield Note(basis_text(recorded, modelled=view.modelled))
    yield Note(NO_BATCH)


def _unchanged_text(singles: Table | None) -> str:
    """Return what stands on a page without a choice: which of the single changes saves most."""
    if singles is None:
        return _UNCHANGED
    name, after, saved = singles.frame.select("change", "after_us", "saved_us").row(0)
    best = f" Of single changes {name} saves most: then a step takes {time_text(after)}, {time_text(saved)} less."
    return _UNCHANGED + (best if saved > 0 else " No single change below saves anything.")


def _facts(outcome: Outcome) -> Facts:
    between, (bound, share) = outcome.range_us, bound_by(outcome)
    sure = "nobody knows" if between is None else f"{time_text(between[0])} to {time_text(between[1])}"
    return Facts(
        [
            Fact("Before", time_text(outcome.was_us), "mean of the recorded steps"),
            Fact("After", time_text(outcome.mean_us), "mean of a step", modelled=True),
            Fact("Eight of ten", sure, "such steps last so long", modelled=True),
            Fact("Then bound by", bound, f"{share_text(share)} of the critical path", modelled=True),
        ]
    )


def _bars(outcome: Outcome) -> Chart:
    parts = {
        what: (GROUP_NAMES[what], [before / 1000, after / 1000]) for what, before, after in outcome.groups.iter_rows()
    }
    said = ", ".join(f"{name} {after:.3f} ms in place of {before:.3f} ms" for name, (before, after) in parts.values())
    return Chart(
        "whatif-bounds",
        "The critical path of a step before and after",
        lambda: stacked_bars(
            ("before", "after"), parts, axis_title="ms", unit="ms", height_px=_HEIGHT_PX, horizontal=True
        ),
        f"Mean of a step: {said}.",
        modelled=True,
        height_px=_HEIGHT_PX,
    )


def _steps(outcome: Outcome) -> Table:
    columns = (
        Column("step", "step"),
        Column("before_us", "before (us)", 3),
        Column("after_us", "after (us)", 3),
        Column("low_us", "8 of 10 from (us)", 3),
        Column("high_us", "to (us)", 3),
    )
    shown = columns if outcome.steps["step"][0] else columns[1:]
    return Table("whatif-steps", "Steps", outcome.steps, shown, "", modelled=True, window=WINDOW)


def _types(outcome: Outcome, *, measured: bool) -> Table:
    """Return the table of types, where the model's times stand beside the recorded ones."""
    recorded = "measured" if measured else "recorded"
    columns = (
        Column("type", "type", wide=True),
        Column("count", "count"),
        Column("recorded_us", f"{recorded} (us)", 3),
        Column("model_us", "modelled (us)", 3),
        Column("ratio", "ratio", 2),
        Column("after_us", "after (us)", 3),
    )
    rows = outcome.types.with_columns(pl.col("type").replace("", _UNKNOWN))
    detail = "of all that is simulated again; modelled: on the recorded chip, without waits for other ranks; "
    detail += f"the ratio is {recorded} by modelled"
    return Table("whatif-types", "Kernels and collectives by type", rows, columns, detail, modelled=True)


@frozen
class _Single:
    """One change by itself, with what it is called."""

    name: str
    change: Change


def _singles(recorded: Recorded) -> Iterator[_Single]:
    yield _Single("no host gaps", Change(no_host_gaps=True))
    yield _Single("products 1.5 times as fast", Change(matmul=1.5))
    if recorded.coverage.known_collectives:
        yield _Single("links 2 times as fast", Change(link=2.0))
    for chip in _chips():
        if chip.generation == recorded.chip.generation and chip.name != recorded.chip.name:
            yield _Single(chip.name, Change(chip=chip))


def _one_at_a_time(recorded: Recorded) -> Table:
    rows = []
    was = simulate_again(recorded, AS_RECORDED).was_us
    for single in _singles(recorded):
        outcome = simulate_again(recorded, single.change)
        low, high = outcome.range_us or (None, None)
        bound, share = bound_by(outcome)
        rows.append((single.name, outcome.mean_us, was - outcome.mean_us, low, high, bound, 100 * share))
    names = ("change", "after_us", "saved_us", "low_us", "high_us", "bound", "share_pct")
    frame = pl.DataFrame(rows, schema=list(names), orient="row").sort("after_us", maintain_order=True)
    in_ms = [(pl.col(f"{name}_us") / 1000).alias(f"{name}_ms") for name in ("after", "saved", "low", "high")]
    frame = frame.with_columns(in_ms)
    columns = (
        Column("change", "change", wide=True),
        Column("after_ms", "a step (ms)", 3),
        Column("saved_ms", "saves (ms)", 3),
        Column("low_ms", "8 of 10 from (ms)", 3),
        Column("high_ms", "to (ms)", 3),
        Column("bound", "then bound by", wide=True),
        Column("share_pct", "of the path (%)", 1),
    )
    return Table("whatif-singles", "One change at a time", frame, columns, "the shortest step first", modelled=True)


PAGE = Page(
    "whatif",
    "What if",
    "The run simulated again with another chip, faster products or links, or a host that takes no time.",
    _build,
    controls=_controls,
    with_step=True,
)
