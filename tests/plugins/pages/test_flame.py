"""The tree of a flame graph: what is launched stands in its operator, and sums go up to the root."""

from __future__ import annotations

from itertools import starmap

import polars as pl
import pytest

from drynpu.views.runs import View
from drynpu_pages.figures.flame import _fitting, draw_flame
from drynpu_pages.flame import HOST, SEPARATOR, _nested, _tree, flame_tree


def test_kernels_stand_in_their_operators_and_nothing_is_lost(view: View) -> None:
    tree = flame_tree(view.rank.profile)
    roots = tree.filter(pl.col("parent") == "")
    assert set(roots["name"]) == {"aten::add", "odd::thing"}
    assert roots["total_us"].sum() == pytest.approx(view.rank.summary.kernel_us)
    kernels = tree.filter(pl.col("kind") == "kernel")
    assert kernels["calls"].sum() == view.rank.summary.kernel_count
    assert set(kernels["parent"]) == {"aten::add", "odd::thing"}
    assert (tree["end_ns"] > tree["start_ns"]).all()


def test_a_step_has_its_share_and_steps_are_no_operators(view: View) -> None:
    steps = [flame_tree(view.rank.profile, step=step)["self_us"].sum() for step in ("0", "1")]
    assert all(steps)
    assert sum(steps) == pytest.approx(view.rank.summary.kernel_us)


def test_operators_have_the_time_that_they_took_on_the_host(view: View) -> None:
    tree = flame_tree(view.rank.profile, HOST)
    ops = view.rank.profile.host_ops.filter(~pl.col("name").str.starts_with("ProfilerStep"))
    assert tree["self_us"].sum() == pytest.approx((ops["end_ns"] - ops["start_ns"]).sum() / 1000)


def test_modules_stand_in_each_other() -> None:
    calls = pl.DataFrame(
        {"name": ["Net_0", "Block_0", "Linear_0", "Block_1"], "start_ns": [10, 20, 30, 60], "end_ns": [90, 50, 40, 80]}
    )
    assert [path.split(SEPARATOR) for path, _ in _nested(calls)] == [
        ["Net_0"],
        ["Net_0", "Block_0"],
        ["Net_0", "Block_0", "Linear_0"],
        ["Net_0", "Block_1"],
    ]


def test_sums_go_up_to_the_root() -> None:
    times = pl.DataFrame(
        {
            "path": [SEPARATOR.join(path) for path in (["Net_0", "add"], ["Net_0", "add", "Add"], ["Net_0", "mul"])],
            "calls": [2, 2, 1],
            "us": [1.0, 5.0, 4.0],
            "start_ns": [0, 10, 30],
            "end_ns": [5, 20, 70],
            "kind": ["operator", "kernel", "operator"],
        }
    )
    rows = {row["name"]: row for row in _tree(times).iter_rows(named=True)}
    assert {name: (row["self_us"], row["total_us"]) for name, row in rows.items()} == {
        "Net_0": (0.0, 10.0), "add": (1.0, 6.0), "Add": (5.0, 5.0), "mul": (4.0, 4.0),
    }  # fmt: skip
    assert (rows["Net_0"]["kind"], rows["Net_0"]["calls"]) == ("module", None)
    assert (rows["Net_0"]["start_ns"], rows["Net_0"]["end_ns"]) == (30, 70)
    assert rows["Add"]["parent"] == SEPARATOR.join(["Net_0", "add"])


def test_all_places_stand_in_one_and_names_are_not_cut(view: View) -> None:
    pytest.importorskip("plotly", reason="figures are an extra")
    tree = flame_tree(view.rank.profile)
    (trace,) = draw_flame(tree, 400).data
    assert trace.text[0] == f"all: {view.rank.summary.kernel_us:.2f} us"
    assert trace.values[0] == pytest.approx(view.rank.summary.kernel_us)
    assert trace.parents[0] == ""
    assert {parent for parent in trace.parents[1:] if parent not in trace.ids[1:]} == {trace.ids[0]}
    longest = "autograd::engine::evaluate_function: AddmmBackward0"
    widths = (900, 400, 120, 40)
    assert list(starmap(_fitting, ((longest, width) for width in widths))) == [
        longest,
        "AddmmBackward0",
        "AddmmBackward0",
        "",
    ]
    assert _fitting("aten::mm", 30) == "mm"
