"""The interval of a total: errors of one family add up, errors of several families partly cancel."""

from __future__ import annotations

import math

import polars as pl
import pytest

from drynpu.analysis import step_intervals_us, total_interval_us
from drynpu.kernels import Tuning

SPLIT = "split"


def reach(op_type: str, us: float) -> tuple[float, float]:
    """Return how far below and above the prediction the interval of one kernel reaches."""
    low, high = Tuning().calibration.interval(op_type, SPLIT)
    return us * (1 - low), us * (high - 1)


def test_one_kernel_has_its_own_interval() -> None:
    below, above = reach("MatMulV3", 80.0)
    assert total_interval_us([("MatMulV3", 80.0)], "910B2") == pytest.approx((80 - below, 80 + above))


def test_within_a_family_distances_add_up() -> None:
    parts = [reach("MatMulV3", 80.0), reach("MatMulV2", 10.0)]
    expected = (90 - sum(below for below, _ in parts), 90 + sum(above for _, above in parts))
    assert total_interval_us([("MatMulV3", 80.0), ("MatMulV2", 10.0)], "910B2") == pytest.approx(expected)


def test_between_families_their_squares_add_up() -> None:
    (b1, a1), (b2, a2) = reach("MatMulV3", 30.0), reach("Add", 40.0)
    expected = (70 - math.sqrt(b1**2 + b2**2), 70 + math.sqrt(a1**2 + a2**2))
    assert total_interval_us([("MatMulV3", 30.0), ("Add", 40.0)], "Ascend910B2") == pytest.approx(expected)
    assert b1 + b2 > 70 - expected[0], "two families are surer than one"


def test_what_is_unknown_has_no_interval() -> None:
    assert total_interval_us([("Add", 4.0)], "Ascend999") is None
    assert total_interval_us([], "910B2") == (0.0, 0.0)


def steps(*rows: tuple[float, float, float]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["computing_us", "communication_not_overlapped_us", "free_us"], orient="row")


def test_a_step_is_as_sure_as_its_kernels_and_its_host() -> None:
    """Its kernels may be a tenth less or a fifth more, its free time a third either way; what is certain stays."""
    kernels_alone, host_alone, both = step_intervals_us(
        steps((100.0, 7.0, 0.0), (0.0, 7.0, 30.0), (300.0, 0.0, 120.0)), (360.0, 480.0), 400.0
    )
    assert kernels_alone == pytest.approx((97.0, 127.0))
    assert host_alone == pytest.approx((27.0, 47.0))
    assert both == pytest.approx((420 - 50, 420 + math.hypot(60, 40)))


def test_steps_without_kernels_have_the_hosts_interval() -> None:
    assert step_intervals_us(steps((0.0, 0.0, 3.0)), (0.0, 0.0), 0.0) == (pytest.approx((2.0, 4.0)),)
    assert step_intervals_us(steps(), (0.0, 0.0), 0.0) == ()
