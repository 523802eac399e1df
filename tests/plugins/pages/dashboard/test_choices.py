"""What a choice makes of the address."""

from __future__ import annotations

import pytest

pytest.importorskip("dash", reason="the dashboard is an extra")

from drynpu_pages.dashboard._changes import chosen_query


def test_a_choice_is_added_and_the_default_taken_away() -> None:
    assert chosen_query("where", "host", "?rank=1") == "?rank=1&where=host"
    assert chosen_query("where", "", "?rank=1&where=host") == "?rank=1"
    assert chosen_query("rank", "", "?rank=1&step=3&where=host") == "?step=3&where=host"
    assert chosen_query("step", "4", None) == "?step=4"


def test_another_step_has_a_window_of_its_own_and_another_rank_the_same() -> None:
    look = "?rank=0&step=3&from=5&to=9&event=7&find=matmul"
    assert chosen_query("rank", "1", look) == "?rank=1&step=3&from=5&to=9&find=matmul"
    assert chosen_query("step", "4", look) == "?rank=0&step=4&find=matmul"
