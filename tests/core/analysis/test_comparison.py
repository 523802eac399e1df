"""Two profiles side by side, against sums done by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from attrs import evolve

from drynpu.analysis import Summary, compare_profiles, summarise
from drynpu.products import load_profile
from drynpu.tables import Profile


@pytest.fixture
def plain(profile: Callable[[Path], Path], tmp_path: Path) -> tuple[Profile, Summary]:
    loaded = load_profile(profile(tmp_path / "host_77_20250109074803000_ascend_pt"))
    return loaded, summarise(loaded)


def test_a_profile_does_not_differ_from_itself(plain: tuple[Profile, Summary]) -> None:
    found = compare_profiles(plain, plain)
    for table in (found.steps, found.kernels, found.operators, found.collectives, found.memory):
        assert set(table["change"].drop_nulls()) <= {0.0}
        assert set(table["factor"].drop_nulls()) <= {1.0}
    assert found.kernels.height == 2


def test_changes_are_of_a_mean_step_and_the_largest_stands_first(plain: tuple[Profile, Summary]) -> None:
    profile, summary = plain
    doubled = pl.when(pl.col("op_type") == "Add").then(pl.col("duration_ns") * 3).otherwise("duration_ns")
    kernels = profile.kernels.with_columns(doubled.alias("duration_ns"))
    one_step = summary.steps.head(1)
    found = compare_profiles(plain, (evolve(profile, kernels=kernels), evolve(summary, steps=one_step)))
    add = profile.kernels.filter(pl.col("op_type") == "Add")["duration_ns"].sum() / 1000
    row = found.kernels.row(0, named=True)
    assert (row["name"], row["first"], row["second"]) == ("Add", pytest.approx(add / 2), pytest.approx(3 * add))
    assert (row["first_count"], row["second_count"], row["factor"]) == (2.0, 4.0, pytest.approx(6.0))
    parts = ("computing_us", "communication_not_overlapped_us", "free_us")
    step = found.steps.filter(pl.col("name") == "step").row(0, named=True)
    assert step["first"] == pytest.approx(sum(summary.steps[part].mean() for part in parts))
    assert step["second"] == pytest.approx(sum(one_step[part][0] for part in parts))


def test_a_type_that_a_side_lacks_has_no_factor(plain: tuple[Profile, Summary]) -> None:
    profile, summary = plain
    without = evolve(profile, kernels=profile.kernels.filter(pl.col("op_type") != "Add"))
    found = compare_profiles((without, summary), plain).kernels
    row = found.filter(pl.col("name") == "Add").row(0, named=True)
    assert (row["first"], row["factor"]) == (0.0, None)
    assert row["change"] == row["second"] > 0


def test_unknown_memory_stays_unknown(plain: tuple[Profile, Summary]) -> None:
    profile, summary = plain
    known = evolve(summary, peak_allocated_bytes=3, peak_reserved_bytes=None)
    found = compare_profiles((profile, known), (profile, evolve(known, peak_allocated_bytes=5)))
    assert found.memory["change"].to_list() == [2.0, None]
