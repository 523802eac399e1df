"""When a process records: delay, duration, and recordings that are started from outside."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu._errors import OptionError
from drynpu.options import ProfilingRequest, Window, from_mapping, leaf_values, parse_request, to_mapping


def refused(**keywords: Any) -> tuple[str, ...]:
    with pytest.raises(OptionError) as caught:
        Window(**keywords)
    return caught.value.problems


def test_the_default_is_all_of_the_process() -> None:
    assert ProfilingRequest().window == Window(delay_s=None, duration_s=None, interactive=False)
    leaves = leaf_values(ProfilingRequest())
    assert [path for path in leaves if path.startswith("window.")] == [
        "window.delay_s",
        "window.duration_s",
        "window.interactive",
    ]


@pytest.mark.parametrize("name", ["delay_s", "duration_s"])
def test_ranges(name: str) -> None:
    assert getattr(Window(**{name: 1}), name) == 1
    assert getattr(Window(**{name: 4_294_967_295}), name) == 4_294_967_295
    for value in (0, -1, 4_294_967_296):
        (problem,) = refused(**{name: value})
        assert problem.startswith(f"window.{name}: ")
        assert "1" in problem
        assert "4294967295" in problem


def test_recordings_from_outside_have_no_times() -> None:
    assert Window(interactive=True).interactive
    assert refused(interactive=True, delay_s=1, duration_s=2) == (
        "window.delay_s: cannot be combined with window.interactive.",
        "window.duration_s: cannot be combined with window.interactive.",
    )


def test_as_a_document() -> None:
    parsed = parse_request({"window": {"delay_s": 5, "duration_s": 60}})
    assert parsed.request.window == Window(delay_s=5, duration_s=60)
    with pytest.raises(OptionError) as caught:
        from_mapping({"window": {"delay": 5}})
    assert caught.value.problems[0].startswith("window.delay: ")


@given(
    st.builds(
        Window,
        delay_s=st.none() | st.integers(1, 4_294_967_295),
        duration_s=st.none() | st.integers(1, 4_294_967_295),
    )
    | st.just(Window(interactive=True))
)
def test_round_trip(window: Window) -> None:
    request = ProfilingRequest(window=window)
    assert from_mapping(to_mapping(request)) == request
