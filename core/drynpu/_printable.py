"""Texts of files and of the system as a terminal may show them."""

from __future__ import annotations

_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}


def printable(text: str) -> str:
    """Return *text* with control characters spelled out: a name in a profile must not steer the terminal."""
    return text.translate(_CONTROLS)
