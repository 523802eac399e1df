"""Every page says what the files say, and says so where there is nothing."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from attrs import evolve

from drynpu.analysis.calculation import kernel_work
from drynpu.platforms import load_chip
from drynpu.views.content import Chart, Column, Facts, Table, find_block, flat
from drynpu.views.page import Page
from drynpu.views.runs import Run, Selection, View
from drynpu_pages.colours import colour_of
from drynpu_pages.figures.calculation import roofline
from drynpu_pages.pages import PAGES, find_page
from drynpu_pages.pages.calculation import _Peak

OUTPUT = "ASCEND_PROFILER_OUTPUT"


def rows(directory: Path, name: str) -> list[dict[str, str]]:
    with (directory / OUTPUT / name).open(newline="") as file:
        return list(csv.DictReader(file))


def select(view: View, step: str = "", **choices: str) -> View:
    return View(view.run, view.rank, Selection(step, choices))


def selections(page: Page, view: View) -> list[View]:
    """The page with every option of its controls, one at a time, and with a step."""
    found = [view, select(view, step=(view.rank.step_names or [""])[0])]
    return found + [select(view, **{c.name: value}) for c in page.controls(view.rank) for value, _ in c.options]


def check(page: Page, view: View) -> None:
    blocks = flat(page.build(view))
    assert blocks, page.name
    names = [block.name for block in blocks if isinstance(block, (Chart, Table))]
    assert len(set(names)) == len(names)
    for block in blocks:
        if isinstance(block, Chart):
            assert block.draw().data
            assert block.alternative.endswith((".", "…")) or block.alternative
        if isinstance(block, Table):
            assert {column.name for column in block.columns} <= set(block.frame.columns)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_of_what_was_recorded_here(page: Page, view: View) -> None:
    for selected in selections(page, view):
        check(page, selected)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_of_genuine_runs(page: Page, genuine: Run) -> None:
    for selected in selections(page, View(genuine, genuine.rank())):
        check(page, selected)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_of_a_profile_without_a_device_say_what_is_missing(page: Page, tmp_path: Path) -> None:
    file = tmp_path / OUTPUT / "api_statistic.csv"
    file.parent.mkdir()
    heads = "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance"
    file.write_text(f"{heads}\nhost,acl,aclrtMalloc,2.5,1,2.5,2.5,2.5,0\n")
    run = Run.from_path(tmp_path)
    check(page, View(run, run.rank()))


def table(view: View, page: str, name: str) -> Table:
    found: Table = find_block(find_page(page).build(view), name, Table)
    return found


def test_the_step_trace_is_that_of_the_file(view: View, recorded: Path) -> None:
    shown = table(view, "steps", "steps").frame
    expected = rows(recorded, "step_trace_time.csv")
    assert [row["Step"] for row in expected] == shown["step"].to_list()
    for heading, name in (("Computing", "computing_us"), ("Free", "free_us"), ("Stage", "stage_us")):
        assert shown[name].to_list() == pytest.approx([float(row[heading]) for row in expected], abs=1e-3)


def test_a_step_is_shown_alone(view: View, recorded: Path) -> None:
    assert table(select(view, "1"), "steps", "steps").frame["step"].to_list() == ["1"]
    expected = [row for row in rows(recorded, "kernel_details.csv") if row["Step Id"] == "1"]
    shown = table(select(view, "1"), "operators", "kernels").frame
    assert shown.height == len(expected) == 3
    assert shown["duration_us"].sum() == pytest.approx(sum(float(row["Duration(us)"]) for row in expected), abs=1e-6)


def test_types_are_those_of_op_statistic(view: View, recorded: Path) -> None:
    shown = {row["op_type"]: row for row in table(view, "operators", "types").frame.iter_rows(named=True)}
    for row in rows(recorded, "op_statistic.csv"):
        found = shown[row["OP Type"]]
        assert found["count"] == int(row["Count"])
        assert found["total_us"] == pytest.approx(float(row["Total Time(us)"]), abs=1e-3)
        assert found["ratio_pct"] == pytest.approx(float(row["Ratio(%)"]), abs=1e-2)


@pytest.mark.parametrize(
    ("named", "chosen", "name"),
    [("N/A", "910A", "Ascend910A"), ("Ascend910B2", "910A", "Ascend910B2"), ("N/A", "none", None), ("N/A", "", None)],
)
def test_a_chip_that_the_profile_names_comes_before_the_choice(
    view: View, monkeypatch: pytest.MonkeyPatch, named: str, chosen: str, name: str | None
) -> None:
    monkeypatch.setenv("DRYNPU_CHIP", chosen)
    vars(view.rank)["summary"] = evolve(view.rank.summary, chip=named)
    assert (None if view.rank.chip is None else view.rank.chip.name) == name
    assert _Peak.from_rank(view.rank).chip == view.rank.chip


def test_a_type_leads_to_its_kernels(view: View) -> None:
    every = table(view, "operators", "kernels").frame
    offered = next(each for each in find_page("operators").controls(view.rank) if each.name == "type")
    assert {value for value, _ in offered.options} == {"", *every["op_type"].cast(pl.String)}
    for name, count in every["op_type"].cast(pl.String).value_counts().iter_rows():
        shown = table(select(view, type=name), "operators", "kernels").frame
        assert (shown.height, set(shown["op_type"].cast(pl.String))) == (count, {name})


def test_host_operators_are_those_of_operator_details(view: View, recorded: Path) -> None:
    shown = table(select(view, where="host"), "operators", "host").frame
    names = [row["Name"] for row in rows(recorded, "operator_details.csv")]
    assert dict(shown.select("name", "count").iter_rows()) == {name: names.count(name) for name in set(names)}


def fact(blocks: Any, label: str) -> str:
    facts = [each for block in flat(blocks) if isinstance(block, Facts) for each in block.facts]
    return next(each.text for each in facts if each.label == label)


def test_the_overview_says_what_was_simulated(view: View) -> None:
    blocks = find_page("overview").build(view)
    assert fact(blocks, "Kernels") == "6"
    assert fact(blocks, "Chip") == "Ascend910B3"
    assert any("odd::thing x2" in getattr(block, "text", "") for block in blocks)
    assert all(block.modelled for block in flat(blocks) if isinstance(block, Chart))


def test_without_marked_steps_the_recording_is_meant(view: View) -> None:
    rank = view.rank
    rank.__dict__["steps"] = rank.steps.head(1).with_columns(pl.lit("").alias("step"))
    blocks = flat([*find_page("overview").build(view), *find_page("comparison").build(evolve(view, other=view.run))])
    labels = [each.label for block in blocks if isinstance(block, Facts) for each in block.facts]
    assert "Recording" in labels
    assert "Step time" not in labels
    titles = [str(getattr(block, "title", "")) for block in blocks]
    assert titles.count("Where the time goes") == 2
    assert not find_block(blocks, "step-time", Chart).draw().layout.xaxis.title.text
    assert "The whole recording" in titles
    assert not any(
        "a step" in f"{title} {getattr(block, 'detail', '')}" for title, block in zip(titles, blocks, strict=True)
    )


def test_kinds_of_a_roofline_have_colours_of_their_own() -> None:
    """These two share one in the cycle of colours."""
    names = ["MatMulV2", "FlashAttentionScoreGrad"]
    assert colour_of(names[0]) == colour_of(names[1])
    numbers = {"intensity": [40.0, 30.0], "gflops": [7000.0, 2000.0], "total_us": [900.0, 90.0]}
    numbers |= {"start_ns": [5, 90], "end_ns": [9, 99]}
    drawn = roofline(pl.DataFrame({"op_type": names, "input_shapes": ["", ""], **numbers}), None, None)
    assert [trace.name for trace in drawn.data] == names
    assert len({trace.marker.color for trace in drawn.data}) == 2


def test_runs_that_cannot_be_compared_show_why_and_no_difference(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drynpu.analysis._sides.refusals", lambda *_: iter(("one reason", "another")))
    *_, last = find_page("comparison").build(evolve(view, other=view.run))
    assert last.text == (
        "Careful: these runs cannot be compared: one reason; another; "
        "drynpu compare --force compares them all the same."
    )


def test_compared_runs_are_this_one_and_the_baseline(view: View) -> None:
    blocks = flat(find_page("comparison").build(evolve(view, other=view.run)))
    columns = [column.heading for column in find_block(blocks, "compared-kernels", Table).columns]
    assert columns[2:4] == ["baseline (us)", "this run (us)"]
    chart = find_block(blocks, "compared-steps", Chart)
    assert chart.alternative.startswith("Baseline and this run, a mean step: Computing ")


@pytest.mark.parametrize(("counted", "is_modelled"), [(True, True), (False, False)])
def test_operations_are_modelled_where_simulated_counters_count_them(
    view: View, counted: bool, is_modelled: bool
) -> None:
    profile = view.rank.profile
    shapes = {"op_type": "MatMulV2", "input_shapes": "32,48;48,80", "output_shapes": "32,80"}
    kernels = profile.kernels.with_columns(
        *(pl.lit(text).alias(name) for name, text in shapes.items()),
        *([pl.lit(5e6).alias("aic_cube_fops")] if counted else []),
    )
    view.rank.__dict__["profile"] = evolve(profile, kernels=kernels)
    blocks = flat(find_page("calculation").build(view))
    operations = next(each for block in blocks if isinstance(block, Facts) for each in block.facts)
    assert (operations.label, operations.modelled) == ("Operations", is_modelled)
    assert find_block(blocks, "flops-by-type", Chart).modelled == is_modelled
    source = find_block(blocks, "work", Table).frame.filter(pl.col("cube_flops").is_not_null())["source"]
    assert set(source) == {"counters" if counted else "shapes"}


@pytest.mark.parametrize(("dtype", "hf32", "ratio"), [
    ("FLOAT16", False, 1.0), ("FLOAT", False, 0.25), ("FLOAT", True, 0.5), ("INT8", False, 2.0),
])  # fmt: skip
def test_a_share_of_the_peak_is_of_the_peak_of_the_operands_type(
    view: View, dtype: str, hf32: bool, ratio: float
) -> None:
    profile = view.rank.profile
    shapes = {"op_type": "MatMulV2", "input_shapes": "32,48;48,80", "output_shapes": "32,80"}
    texts = shapes | {"input_dtypes": f"{dtype};{dtype}", "output_dtypes": dtype}
    kernels = profile.kernels.with_columns(*(pl.lit(text).alias(name) for name, text in texts.items()),
                                           pl.lit(hf32).alias("hf32"))  # fmt: skip
    view.rank.__dict__["profile"] = evolve(profile, kernels=kernels)
    blocks = flat(find_page("calculation").build(view))
    chip = load_chip(view.rank.summary.chip)
    peak = chip.cube_cores * chip.cube_flop_per_cycle * chip.aic_mhz / 1000 * ratio
    row = find_block(blocks, "work", Table).frame.row(0, named=True)
    assert row["use_pct"] == pytest.approx(row["gflops"] / peak * 100)
    facts = {each.label: each.detail for block in blocks if isinstance(block, Facts) for each in block.facts}
    assert facts["Of peak"].startswith(f"{peak / 1000:.0f} TFLOPS, the rate of the operands' type")


def test_kernels_without_a_formula_are_listed_with_their_share_of_the_time(genuine: Run) -> None:
    view = View(genuine, genuine.rank())
    blocks = flat(find_page("calculation").build(view))
    work, rest = kernel_work(view.rank.profile), find_block(blocks, "uncounted", Table).frame
    counted = work.filter(pl.col("cube_flops").is_not_null())["total_us"].sum()
    assert counted / work["total_us"].sum() * 100 + rest["share_pct"].sum() == pytest.approx(100)
    assert set(rest["op_type"]) == set(work.filter(pl.col("cube_flops").is_null())["op_type"])


@pytest.mark.parametrize("reserved", [5 << 20, None])
def test_reserved_memory_is_modelled_where_it_is_known_and_allocated_memory_is_not(
    view: View, reserved: int | None
) -> None:
    summary = evolve(view.rank.summary, peak_allocated_bytes=3 << 20, peak_reserved_bytes=reserved)
    view.rank.__dict__["summary"] = summary
    facts = [each for block in find_page("overview").build(view) if isinstance(block, Facts) for each in block.facts]
    assert {each.label: each.modelled for each in facts if each.label in ("Peak memory", "Reserved")} == {
        "Peak memory": False,
        "Reserved": reserved is not None,
    }


def test_genuine_runs_are_not_called_modelled(genuine: Run) -> None:
    view = View(genuine, genuine.rank())
    for page in PAGES:
        assert not any(getattr(block, "modelled", False) for block in flat(page.build(view)))


def test_columns_state_their_units() -> None:
    columns = [column for column in vars_of_columns() if column.name.endswith(("_us", "_bytes", "_pct"))]
    assert columns
    for column in columns:
        assert column.heading.endswith(")"), column


def vars_of_columns() -> list[Column]:
    import drynpu_pages.pages as package

    found: list[Column] = []
    for module in vars(package).values():
        for value in vars(module).values() if hasattr(module, "__file__") else ():
            if isinstance(value, tuple):
                found += [each for each in value if isinstance(each, Column)]
    return found
