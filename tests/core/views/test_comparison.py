"""What changed between two ranks, as blocks."""

from __future__ import annotations

from drynpu.views.comparison import SIDES, comparison_blocks
from drynpu.views.content import Facts, Note, Table, find_block
from drynpu.views.runs import View


def test_sides_have_the_names_that_the_reader_knows_them_by(view: View) -> None:
    for sides in (SIDES, ("before", "after")):
        blocks = comparison_blocks(view.rank, view.rank, sides)
        columns = [column.heading for column in find_block(blocks, "compared-kernels", Table).columns]
        assert columns[2:4] == [f"{side} (us)" for side in sides]
        (note,) = [block for block in blocks if isinstance(block, Note)]
        assert note.text.startswith(f"{sides[0].capitalize()} and {sides[1]}, a mean step: Computing ")


def test_the_steps_are_shown_as_the_caller_makes_them(view: View) -> None:
    shown: dict[str, object] = {}

    def make(parts: object, sentence: str) -> Note:
        shown["parts"] = parts
        return Note(f"made of: {sentence}")

    blocks = comparison_blocks(view.rank, view.rank, steps=make)
    assert [block.text[:8] for block in blocks if isinstance(block, Note)] == ["made of:"]
    steps = view.rank.steps
    mean = (steps["computing_us"].mean() or 0.0) / 1000
    assert shown["parts"]["computing"] == ("Computing", [mean, mean])


def test_the_runs_and_how_often_each_ran_a_kernel_are_shown(view: View) -> None:
    blocks = comparison_blocks(view.rank, view.rank)
    runs = next(block for block in blocks if isinstance(block, Facts))
    assert [fact.label for fact in runs.facts] == ["Baseline", "This run"]
    assert all(view.rank.path.name in fact.text for fact in runs.facts)
    assert all("chip Ascend" in fact.detail for fact in runs.facts)
    kernels = find_block(blocks, "compared-kernels", Table)
    assert all(text.count(" → ") == 1 for text in kernels.frame["counts"])
    assert kernels.columns[5].name == "counts"
