"""What is printed into a pipe."""

from __future__ import annotations

import pytest
from rich.padding import Padding

from drynpu.views import plain_console, say_notes


@pytest.mark.parametrize("stderr", [False, True])
def test_lines_in_a_pipe_have_no_spaces_at_their_ends(capsys: pytest.CaptureFixture[str], stderr: bool) -> None:
    plain_console(stderr=stderr).print(Padding("some [words]", (0, 0, 0, 2)))
    printed = capsys.readouterr()
    assert (printed.err if stderr else printed.out) == "  some [words]\n"


def test_notes_are_printed_once_in_a_process_and_not_where_it_is_to_be_quiet(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRYNPU_QUIET", "1")
    say_notes(["nic of test_console is not written"])
    assert capsys.readouterr().err == ""
    monkeypatch.delenv("DRYNPU_QUIET")
    for _ in range(2):
        say_notes(["nic of test_console is not written"])
    assert capsys.readouterr().err == "[drynpu] nic of test_console is not written\n"
