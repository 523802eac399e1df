"""Every option of npu_device is what the device is given; marks and compiled functions leave what they should."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(scripts: Any, request: pytest.FixtureRequest) -> Any:
    return scripts(request.path.with_name("kept_options.py"), environment={"DRYNPU_QUIET": "1"})


def test_every_option_that_is_set_reaches_the_device(run: Any) -> None:
    assert run.printed("lost") == {}
    assert run.printed("unchanged") == []
    assert run.printed("run")["graph_slice"] == "auto"


def test_what_has_no_effect_is_said_and_kept(run: Any) -> None:
    assert run.printed("infinite") is False
    assert [line for line in run.said if line.startswith("set_device_sat_mode(0) has no effect")]


def test_scopes_mark_their_operators(run: Any) -> None:
    assert run.printed("marks") == [1, True]


def test_a_function_for_the_device_is_recorded_with_the_types_of_the_options(run: Any) -> None:
    (product,) = [row for row in run.prof().rows("op_summary") if row["OP Type"].startswith("MatMul")]
    assert product["Input Data Types"] == "FLOAT16;FLOAT16"
