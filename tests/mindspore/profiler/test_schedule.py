"""``schedule``: actions by an independent model, bad values, texts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

CHECKS = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def played_back(wait: int, warmup: int, active: int, repeat: int, skip_first: int, steps: int) -> list[str]:
    """Write the steps out one after the other, as a person would with a pencil."""
    cycle = ["NONE"] * wait + ["WARM_UP"] * warmup + ["RECORD"] * (active - 1) + ["RECORD_AND_SAVE"]
    cycles = repeat or steps // len(cycle) + 1
    written = ["NONE"] * skip_first + cycle * cycles + ["NONE"] * steps
    return written[:steps]


@CHECKS
@given(
    wait=st.integers(0, 4),
    warmup=st.integers(0, 4),
    active=st.integers(1, 4),
    repeat=st.integers(0, 4),
    skip_first=st.integers(0, 6),
)
def test_actions_follow_the_written_out_cycles(
    bench: Any, wait: int, warmup: int, active: int, repeat: int, skip_first: int
) -> None:
    made = bench.surface.schedule(wait=wait, warmup=warmup, active=active, repeat=repeat, skip_first=skip_first)
    assert [made(step).name for step in range(80)] == played_back(wait, warmup, active, repeat, skip_first, 80)


def test_the_numbers_are_shown_in_the_vendors_order(bench: Any) -> None:
    made = bench.surface.schedule(skip_first=5, repeat=4, warmup=3, active=2, wait=1)
    assert list(made.to_dict().items()) == [
        ("wait", 1),
        ("active", 2),
        ("warmup", 3),
        ("repeat", 4),
        ("skip_first", 5),
    ]
    assert repr(made) == "Schedule(wait=1, active=2, warmup=3, repeat=4, skip_first=5)"


def test_bad_numbers_are_replaced_and_named(bench: Any) -> None:
    made = bench.surface.schedule(wait=True, active=0, warmup=-1, repeat="2", skip_first=None)
    assert made.to_dict() == {"wait": 0, "active": 1, "warmup": 0, "repeat": 0, "skip_first": 0}
    assert bench.texts() == [
        ("warning", "Parameter 'wait' should be of type int, but got bool. reset to int 0."),
        ("warning", "Parameter 'warmup' should be of type int, but got int. reset to int 0."),
        ("warning", "Parameter 'active' should be of type int, but got int. reset to int 1."),
        ("warning", "Parameter 'repeat' should be of type int, but got str. reset to int 0."),
        ("warning", "Parameter 'skip_first' should be of type int, but got NoneType. reset to int 0."),
        ("warning", "Profiler won't be using warmup, this can skew profiler results"),
    ]


def test_negative_steps_are_an_error(bench: Any) -> None:
    with pytest.raises(ValueError, match=r"^Invalid parameter step, which must be not less than 0\.$"):
        bench.surface.schedule(wait=1, active=1)(-1)


def test_wait_and_active_are_keywords_and_required(bench: Any) -> None:
    with pytest.raises(TypeError):
        bench.surface.schedule(1, 1)
    with pytest.raises(TypeError):
        bench.surface.schedule(wait=1)
