"""What a click on a figure stands for."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("dash", reason="the dashboard is an extra")

from drynpu.views.content import PLACE, Control
from drynpu_pages.dashboard._app import _control
from drynpu_pages.dashboard._changes import clicked_query


def test_a_point_with_a_place_is_a_choice() -> None:
    assert clicked_query("at=1736408883719208640", "?rank=1&at=5") == "?rank=1&at=1736408883719208640"
    assert clicked_query("at=7", None) == "?at=7"


@pytest.mark.parametrize("text", ["", "aten::mm", "rank=1", "at"])
def test_other_points_choose_nothing(text: str) -> None:
    assert clicked_query(text, "?rank=2") == "?rank=2"
    assert clicked_query(text, None) is None


def test_the_control_of_a_place_shows_what_was_clicked() -> None:
    control = Control(PLACE, "Position", (("", "Peak"), ("end", "End")))
    shown = json.dumps(_control(control, "17").to_plotly_json(), default=lambda part: part.to_plotly_json())
    assert "Clicked" in shown
    assert "Clicked" not in json.dumps(
        _control(control, "end").to_plotly_json(), default=lambda part: part.to_plotly_json()
    )
