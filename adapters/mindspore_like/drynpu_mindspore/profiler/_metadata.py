"""The metadata that a script adds to a recording by ``add_metadata`` (mindspore_profiler.md 5.5)."""

from __future__ import annotations

import json
import sys
from typing import Any

from attrs import define, field

from drynpu_mindspore.profiler._host import UserLog

_MOST_BYTES = 100 * 1024 * 1024


@define
class Metadata:
    """Metadata by key, kept until they are written."""

    user_log: UserLog
    values: dict[str, Any] = field(factory=dict)

    def add(self, key: Any, value: Any) -> None:
        """Keep a text, or log why it is not accepted."""
        if self._is_acceptable(key, value):
            self.values[key] = value

    def add_json(self, key: Any, value: Any) -> None:
        """Keep the document of a JSON text, or log why it is not accepted."""
        if not self._is_acceptable(key, value):
            return
        try:
            self.values[key] = json.loads(value)
        except ValueError:
            self.user_log.warning("The metadata value must be json format string. Skip this metadata")

    def take(self) -> dict[str, Any]:
        """Return what was added, and forget it."""
        values, self.values = self.values, {}
        return values

    def _is_acceptable(self, key: object, value: object) -> bool:
        if not isinstance(key, str) or not isinstance(value, str):
            self.user_log.warning("The key and value of metadata must be string. Skip this metadata.")
            return False
        # Of what is held already the vendor counts the table without its texts.
        if sys.getsizeof(self.values) + sys.getsizeof(key) + sys.getsizeof(value) >= _MOST_BYTES:
            self.user_log.warning("Too many metadata added. Skip this metadata")
            return False
        if key in self.values:
            self.user_log.warning(f"{key} is already saved as metadata, override it.")
        return True
