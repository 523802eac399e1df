"""Control characters of names and files never reach a terminal."""

from __future__ import annotations

import pytest

from drynpu import OptionError, OutputError, say
from drynpu._printable import printable

RED = "\x1b[31mred\x07\x9b2J"
SHOWN = "\\x1b[31mred\\x07\\x9b2J"


def test_control_characters_are_spelled_out() -> None:
    assert printable(f"a\tb\n{RED}\x7f\r é 图") == f"a\tb\n{SHOWN}\\x7f\\x0d é 图"


def test_errors_and_lines_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert str(OutputError(f"Cannot read {RED}.")) == f"Cannot read {SHOWN}."
    assert str(OptionError([RED, "two"])) == f"{SHOWN}\ntwo"
    say(RED)
    assert capsys.readouterr().err == f"[drynpu] {SHOWN}\n"
