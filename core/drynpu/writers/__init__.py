"""Tables become files: csv text, trace events as JSON, SQLite databases; each file whole or not there at all."""

from __future__ import annotations

from drynpu.writers._files import new_file

__all__ = [
    "new_file",
]
