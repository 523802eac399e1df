"""The iterations of kernels by when they start."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from drynpu.analysis import infer_ids
from drynpu.tables import Profile

Record = Callable[..., Profile]
PER_ITERATION = 5


def test_the_iteration_of_a_start(record: Record) -> None:
    profile = record()
    kernels = profile.kernels.select("device_id", "model_id", "start_ns")
    expected = [None, *(number for number in (1, 2, 3) for _ in range(PER_ITERATION))]
    assert infer_ids(profile, kernels).to_list() == expected
    shuffled = kernels.with_columns(pl.Series("number", expected)).sample(fraction=1.0, shuffle=True, seed=3)
    assert infer_ids(profile, shuffled.drop("number")).to_list() == shuffled["number"].to_list()
    between = profile.frame("iterations").select("device_id", "model_id", pl.col("end_ns").alias("start_ns") + 1)
    assert infer_ids(profile, between).to_list() == [None, None, None]
