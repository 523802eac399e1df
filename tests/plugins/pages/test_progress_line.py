"""What long work says of itself, and what the command line makes of it."""

from __future__ import annotations

import io
import re
import time

import pytest

from drynpu import CommandError, Stage, at_part, at_stage, listening, staged
from drynpu_pages import progress_line as progress
from drynpu_pages.progress_line import progress_text, shown_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stage", "text"), [
    (Stage("Reading tasks"), "Reading tasks, 20 s"),
    (Stage("Reading ranks", 0, 64), "Reading ranks: 0 of 64, 0%, 20 s"),
    (Stage("Reading ranks", 16, 64), "Reading ranks: 16 of 64, 25%, 20 s, about 60 s left"),
])  # fmt: skip
def test_a_stage_says_how_much_is_done_and_left(stage: Stage, text: str) -> None:
    assert progress_text(stage, 20.0) == text


def test_stages_reach_who_listens_with_the_name_of_their_part() -> None:
    heard: list[Stage] = []
    with listening(heard.append):
        assert [*staged("Reading ranks", "ab")] == ["a", "b"]
        with at_part("rank 3"):
            at_stage("Reading tasks")
            at_stage("")
    at_stage("nobody listens")
    assert heard == [
        Stage("Reading ranks", 0, 2),
        Stage("Reading ranks", 1, 2),
        ("rank 3: Reading tasks", 0, 0),
        Stage(""),
    ]


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SILENT_S", 0.0)
    monkeypatch.setattr(progress, "_EVERY_S", 0.01)
    monkeypatch.setattr(progress, "_LINES_EVERY_S", 0.01)
    monkeypatch.setattr(progress, "_width", lambda _: 60)
    monkeypatch.delenv("DRYNPU_PROGRESS", raising=False)


def work(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return what stands on stderr after work that waits until something was said, or for a moment."""
    monkeypatch.setattr("sys.stderr", stream)
    with shown_progress():
        at_stage("Reading ranks", 3, 4)
        end_s = time.monotonic() + (5 if stream.isatty() else 0.1)
        while not stream.getvalue() and time.monotonic() < end_s:
            time.sleep(0.01)
    return stream.getvalue()


@pytest.mark.usefixtures("hurried")
def test_a_terminal_gets_a_line_that_vanishes(monkeypatch: pytest.MonkeyPatch) -> None:
    said = work(Terminal(), monkeypatch)
    assert re.match(r"\rReading ranks: 3 of 4, 75%, 0 s, about 0 s left - Ctrl-C ca", said)
    assert re.search(r"\r +\r$", said)


@pytest.mark.usefixtures("hurried")
def test_a_file_gets_lines_only_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert work(io.StringIO(), monkeypatch) == ""
    monkeypatch.setenv("DRYNPU_PROGRESS", "1")
    assert work(io.StringIO(), monkeypatch).startswith("[drynpu] Reading ranks: 3 of 4, 75%, 0 s")


@pytest.mark.usefixtures("hurried")
def test_an_interruption_is_one_line_with_the_status_of_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())

    def interrupted() -> None:
        with shown_progress():
            at_stage("Reading ranks", 3, 4)
            raise KeyboardInterrupt

    with pytest.raises(CommandError, match="^cancelled during: Reading ranks; what was written is whole$") as caught:
        interrupted()
    assert caught.value.exit_code == 130
