"""What a click on a figure stands for."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("dash", reason="the dashboard is an extra")

from drynpu.views.content import PLACE, Control
from drynpu.views.dashboard._app import _control
from drynpu.views.dashboard._callbacks import _clicked


def click(customdata: object) -> list[dict[str, Any]]:
    return [{"prop_id": "x.clickData", "value": None}, {"prop_id": "y.clickData", "value": {"points": [customdata]}}]


def test_a_point_with_a_place_is_a_choice() -> None:
    assert _clicked(click({"customdata": "at=1736408883719208640"})) == {PLACE: "1736408883719208640"}


@pytest.mark.parametrize("point", [{}, {"customdata": "aten::mm"}, {"customdata": "rank=1"}, {"customdata": ["at", 5]}])
def test_other_points_choose_nothing(point: dict[str, Any]) -> None:
    assert _clicked(click(point)) is None


def test_no_click_chooses_nothing() -> None:
    assert _clicked([{"prop_id": "x.clickData", "value": None}]) is None
    assert _clicked([]) is None


def test_the_control_of_a_place_shows_what_was_clicked() -> None:
    control = Control(PLACE, "Position", (("", "Peak"), ("end", "End")))
    shown = json.dumps(_control(control, "17").to_plotly_json(), default=lambda part: part.to_plotly_json())
    assert "Clicked" in shown
    assert "Clicked" not in json.dumps(
        _control(control, "end").to_plotly_json(), default=lambda part: part.to_plotly_json()
    )
