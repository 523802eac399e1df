"""What ``drynpu run --profile`` and ``drynpu msprof`` ask for, as text and back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu import OptionError
from drynpu.options import Level, ProfilingRequest, Switches
from drynpu.recorder import CollectionCommand, CollectionReport, ProfileCommand

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


def test_an_order_reaches_the_application_and_comes_back(tmp_path: Path) -> None:
    order = CollectionCommand(
        request=ProfilingRequest(level=Level.L2, switches=Switches(l2_cache=True)),
        directory=tmp_path / "out",
        journal=tmp_path / "journal",
        launched_ns=7,
        control=tmp_path / "socket",
    )
    same = CollectionCommand.from_text(order.to_text())
    assert same == order
    reports = [CollectionReport(path=tmp_path / "PROF_1"), CollectionReport(notes=("not written", 'a "quoted" one'))]
    assert order.reports() == []
    for report in reports:
        same.report(report)
    assert order.reports() == reports


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"request": {"level": "l9"}, "directory": "", "journal": ""}'])
def test_an_order_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(OptionError):
        CollectionCommand.from_text(text)
