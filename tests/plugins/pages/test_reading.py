"""What the dashboard says of what it reads."""

from __future__ import annotations

import pytest

from drynpu import CommandError, at_stage
from drynpu_pages.reading import Readings


def test_the_stage_is_told_while_a_run_is_read_and_no_longer() -> None:
    readings = Readings()
    with readings.of_run("a"):
        at_stage("Reading ranks", 1, 4)
        assert readings.text("a") == "Reading ranks: 1 of 4, 25%, 0 s, about 0 s left"
        assert readings.text("b") == ""
    assert readings.text("a") == ""


def test_a_reader_ends_it_at_the_next_stage() -> None:
    readings = Readings()

    def read() -> None:
        with readings.of_run("a"):
            at_stage("Reading tasks")
            readings.cancel("a")
            at_stage("Summing up")

    with pytest.raises(CommandError, match="Reading was cancelled"):
        read()
    with readings.of_run("a"):
        at_stage("Reading tasks")
