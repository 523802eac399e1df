"""What ``drynpu run --profile`` asks for, as text and back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu import OptionError
from drynpu.recorder import ProfileCommand

STEPS = st.integers(0, 10**9 - 1)
PATHS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@given(STEPS, STEPS.filter(bool), PATHS)
def test_an_order_survives_the_environment(skip: int, count: int, directory: str) -> None:
    order = ProfileCommand.from_window(f"{skip}:{count}", Path(directory))
    assert (order.skip_steps, order.record_steps) == (skip, count)
    assert ProfileCommand.from_text(order.to_text()) == order


def test_the_whole_run() -> None:
    order = ProfileCommand.from_window("all", Path("x"))
    assert (order.skip_steps, order.record_steps) == (0, None)
    assert ProfileCommand.from_text(order.to_text()) == order


@pytest.mark.parametrize("window", ["", "3", "2:0", "-1:2", "2:3:4", "a:b", "ALL", "2:", "٢:٣", "1" * 11 + ":1"])
def test_anything_else_is_refused_by_value(window: str) -> None:
    with pytest.raises(OptionError, match="--profile-steps") as caught:
        ProfileCommand.from_window(window, Path("x"))
    assert repr(window) in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"skip_steps": 1}', "3"])
def test_a_text_that_is_no_order(text: str) -> None:
    with pytest.raises(OptionError, match="DRYNPU_PROFILE: not an order"):
        ProfileCommand.from_text(text)
