"""User metadata of a recording (torch_npu_profiler.md 1.5, 3.4)."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable

from attrs import define, field

from drynpu_torch.profiler._messages import print_warning

# Limits of the vendor (torch_npu_profiler.md 1.5): of a key and of a value, of all metadata, of an id.
_MAX_LENGTH = 4096
_MAX_BYTES = 50 * 1024
_MAX_TRACE_ID = 1024


@define
class Metadata:
    """Key-value pairs of one recording; the vendor clears them, too, whenever a recording is written."""

    values: dict[str, object] = field(factory=dict)

    def add(self, key: object, value: object) -> None:
        """Add a text; bad or oversized input is reported and skipped."""
        if self._accepts(key, value):
            self.values[str(key)] = value

    def add_json(self, key: object, value: object) -> None:
        """Add a JSON document given as text; bad or oversized input is reported and skipped."""
        if not self._accepts(key, value):
            return
        try:
            self.values[str(key)] = json.loads(str(value))
        except ValueError:
            print_warning("The metadata value must be json format string. Skip this metadata")

    def clear(self) -> None:
        """Remove all values."""
        self.values = {}

    def _accepts(self, key: object, value: object) -> bool:
        if not isinstance(key, str) or not isinstance(value, str):
            print_warning("The key and value of metadata must be string. Skip this metadata.")
            return False
        if len(key) > _MAX_LENGTH or len(value) > _MAX_LENGTH:
            print_warning("Invalid input key or value. Skip this metadata.")
            return False
        if sys.getsizeof(self.values) + sys.getsizeof(key) + sys.getsizeof(value) > _MAX_BYTES:
            print_warning("Too many metadata added. Skip this metadata")
            return False
        if key in self.values:
            print_warning(f"{key} is already saved as metadata, override it.")
        return True


def usable_callback(callback: object) -> Callable[[], object] | None:
    """Return *callback* if it can be called; anything else but None is reported."""
    if callback is None or callable(callback):
        return callback
    print_warning("Parameter custom_trace_id_callback is not callable, reset it to default.")
    return None


def trace_id(callback: Callable[[], object] | None) -> str:
    """Return the id of a recording: the callback's if it gives a usable one, else 32 upper-case hex digits."""
    default = uuid.uuid4().hex.upper()
    if callback is None:
        return default
    try:
        value = callback()
    except Exception as error:  # noqa: BLE001 - user code
        print_warning(f"Parameter custom_trace_id_callback raised an exception: {error}, reset it to default.")
        return default
    if isinstance(value, str) and len(value) <= _MAX_TRACE_ID:
        return value
    print_warning("Parameter custom_trace_id_callback should return str(max length: 1024), reset it to default.")
    return default
