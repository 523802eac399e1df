from __future__ import annotations

import enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu.options import NoticeCode, Schedule
from drynpu.options.experimental_config import (
    STEP_MESSAGE,
    normalise_handler,
    normalise_interface,
    normalise_profile,
    normalise_schedule,
)

NO_WARMUP = "Profiler won't be using warmup, this can skew profiler results"


class Side(enum.Enum):
    CPU = 0
    NPU = 1


def interface(**given: Any):
    defaults = {"activities": None, "config_given": True, "config_valid": True}
    values, notices = normalise_interface(
        host_activity=Side.CPU, device_activity=Side.NPU, supported=set(Side), **{**defaults, **given}
    )
    return values, [notice.message for notice in notices]


def test_schedule_is_kept() -> None:
    assert normalise_schedule(1, 2, 1, 2, 1, True) == (
        Schedule(wait=1, active=2, warmup=1, repeat=2, skip_first=1, skip_first_wait=True),
        (),
    )


def test_schedule_messages_in_order() -> None:
    schedule, notices = normalise_schedule("a", 0, -1, 1.5, None, "b")
    assert schedule == Schedule(wait=0, active=1, warmup=0, repeat=0, skip_first=0, skip_first_wait=0)
    assert [notice.message for notice in notices] == [
        "Invalid parameter wait, reset it to 0.",
        "Invalid parameter warmup, reset it to 0.",
        "Invalid parameter active, reset it to 1.",
        "Invalid parameter repeat, reset it to 0.",
        "Invalid parameter skip_first, reset it to 0.",
        "Invalid parameter skip_first_wait, reset it to 0.",
        NO_WARMUP,
    ]


def test_schedule_without_warmup() -> None:
    _, (notice,) = normalise_schedule(0, 1)
    assert notice.message == NO_WARMUP
    assert notice.code is NoticeCode.NO_WARMUP


def test_schedule_takes_truth_values_and_negative_skip_first_wait() -> None:
    schedule, notices = normalise_schedule(False, True, True, skip_first_wait=-3)
    assert notices == ()
    assert (schedule.active, schedule.skip_first_wait) == (True, -3)
    assert STEP_MESSAGE == "Invalid parameter step, which must be not less than 0."


anything = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.lists(st.none())


@given(st.lists(anything, min_size=6, max_size=6))
def test_any_arguments_give_a_schedule(arguments: list[Any]) -> None:
    schedule, notices = normalise_schedule(*arguments)
    names = ("wait", "active", "warmup", "repeat", "skip_first", "skip_first_wait")
    for name, value in zip(names, arguments, strict=True):
        reset = any(f"Invalid parameter {name}," in notice.message for notice in notices)
        assert reset or getattr(schedule, name) == value


def test_interface_defaults() -> None:
    values, messages = interface()
    assert messages == []
    assert values.activities == frozenset(Side)
    assert values.config_accepted
    assert not any((values.record_shapes, values.profile_memory, values.with_stack, values.with_flops))


@pytest.mark.parametrize("activities", [["CPU"], [Side.CPU, "x"], 5, [[]]])
def test_invalid_activities(activities: Any) -> None:
    values, messages = interface(activities=activities)
    assert messages == ["Invalid activities, only CPU and NPU are supported, reset it to default."]
    assert values.activities == frozenset(Side)


@pytest.mark.parametrize("name", ["record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules"])
def test_flags_that_are_no_truth_values(name: str) -> None:
    values, messages = interface(**{name: 1})
    assert messages == [f"Parameter {name} is of boolean type, reset it to False."]
    assert getattr(values, name) is False
    assert getattr(interface(**{name: True})[0], name) is True


def test_configuration_of_another_class() -> None:
    values, messages = interface(config_valid=False)
    assert messages == ["Parameter experimental_config is an instance of _ExperimentalConfig, reset it to default."]
    assert not values.config_accepted
    assert interface(config_given=False, config_valid=False)[1] == []


def test_one_side_only() -> None:
    values, messages = interface(activities=[Side.CPU])
    assert messages == ["Experimental config will not be used while ProfilerActivity.NPU is not set."]
    assert values.activities == {Side.CPU}
    assert interface(activities=[Side.NPU])[1] == []
    assert interface(activities=[Side.NPU], with_gc=True)[1] == [
        "GC detect will not take effect while ProfilerActivity.CPU is not set."
    ]


def test_profile_arguments() -> None:
    values, notices = normalise_profile(schedule=5, on_trace_ready="x", use_cuda=False)
    assert [notice.message for notice in notices] == [
        "schedule is not Callable, set by default.",
        "on_trace_ready is not Callable, set by default.",
        "This is npu environment, use_cuda is invalid",
    ]
    assert (values.schedule, values.on_trace_ready) == (None, None)
    values, notices = normalise_profile(schedule=print, on_trace_ready=repr)
    assert (values.schedule, values.on_trace_ready, notices) == (print, repr, ())
    assert normalise_profile(schedule=0, on_trace_ready="")[1] == ()


def test_handler_arguments() -> None:
    values, notices = normalise_handler("", "w" * 226, 1, None)
    assert [notice.message for notice in notices] == [
        "analyse_flag is not bool, set by default.",
        "async_mode is not bool, set by default.",
        "Invalid parameter worker_name, reset it to default.",
        "Invalid parameter dir_name, reset it to default.",
    ]
    assert (values.dir_name, values.worker_name, values.analyse_flag, values.async_mode) == (None, None, True, False)
    values, notices = normalise_handler("./out", "w" * 225, False, True)
    assert (values.dir_name, values.worker_name, values.analyse_flag, values.async_mode, notices) == (
        "./out",
        "w" * 225,
        False,
        True,
        (),
    )
    assert normalise_handler()[1] == ()
