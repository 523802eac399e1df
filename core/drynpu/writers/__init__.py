"""Tables become files: csv text, trace events as JSON, SQLite databases; each file whole or not there at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu._lazy import lazy_room

if TYPE_CHECKING:
    from drynpu.writers.files import new_file
else:
    __getattr__ = lazy_room(__name__)

__all__ = [
    "new_file",
]
