from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu._errors import OptionError
from drynpu.options import Action, Schedule

small = st.integers(0, 6)
parameters = st.fixed_dictionaries(
    {
        "wait": small,
        "active": st.integers(1, 6),
        "warmup": small,
        "repeat": st.integers(0, 4),
        "skip_first": small,
        "skip_first_wait": st.sampled_from([0, 1, 2, -1, True, False]),
    }
)


def restated(p: dict[str, Any], total: int) -> list[str]:
    """The rules of the reference laid out as a tape of steps instead of arithmetic on one step."""
    tape = ["NONE"] * p["skip_first"]
    cycle = ["NONE"] * p["wait"] + ["WARMUP"] * p["warmup"] + ["RECORD"] * (p["active"] - 1) + ["RECORD_AND_SAVE"]
    for number in range(p["repeat"] or total + 1):
        tape += cycle[p["wait"] :] if number == 0 and p["skip_first_wait"] != 0 else cycle
    return (tape + ["NONE"] * total)[:total]


@given(parameters, st.integers(0, 60))
def test_actions_follow_the_rules(p: dict[str, Any], total: int) -> None:
    schedule = Schedule(**p)
    assert [schedule.action(step).name for step in range(total)] == restated(p, total)


@given(parameters, st.integers(0, 60))
def test_what_is_said_of_a_run_is_what_happens(p: dict[str, Any], total: int) -> None:
    schedule = Schedule(**p)
    actions = [schedule.action(step) for step in range(total)]
    recorded = [step for step, action in enumerate(actions) if action.records]
    assert schedule.never_records(total) == (not recorded)
    assert not recorded or recorded[0] == schedule.first_recorded_step
    assert schedule.complete_cycles(total) == actions.count(Action.RECORD_AND_SAVE)
    assert not schedule.never_records()


def test_examples_of_the_reference() -> None:
    schedule = Schedule(skip_first=1, wait=2, warmup=1, active=2, repeat=2, skip_first_wait=1)
    assert [schedule.action(step).name for step in range(10)] == [
        "NONE",
        "WARMUP",
        "RECORD",
        "RECORD_AND_SAVE",
        "NONE",
        "NONE",
        "WARMUP",
        "RECORD",
        "RECORD_AND_SAVE",
        "NONE",
    ]
    # The save happens in the step() that follows, so on_trace_ready sees 5 and 9.
    schedule = Schedule(wait=1, active=2, warmup=1, repeat=2, skip_first=1)
    saves = [step + 1 for step in range(12) if schedule.action(step) is Action.RECORD_AND_SAVE]
    assert saves == [5, 9]


def test_negative_step() -> None:
    with pytest.raises(OptionError, match="step: -1 is below 0"):
        Schedule().action(-1)


def test_all_fields_out_of_range_are_named() -> None:
    with pytest.raises(OptionError) as caught:
        Schedule(wait=-1, active=0, warmup="x", repeat=-2, skip_first=-3)  # type: ignore[arg-type]
    assert [line.split(":")[0] for line in caught.value.problems] == [
        "schedule.wait",
        "schedule.active",
        "schedule.warmup",
        "schedule.repeat",
        "schedule.skip_first",
    ]


@given(
    wait=st.integers(0, 5),
    warmup=st.integers(0, 3),
    active=st.integers(1, 4),
    repeat=st.integers(0, 3),
    skip_first=st.integers(0, 4),
    skip_first_wait=st.integers(0, 1),
    step=st.integers(0, 60),
)
def test_idle_until_is_the_next_step_with_an_action(step: int, **numbers: int) -> None:
    schedule = Schedule(**numbers)
    acting = [s for s in range(step, step + 200) if schedule.action(s) is not Action.NONE]
    assert schedule.idle_until(step) == (acting[0] if acting else None)
