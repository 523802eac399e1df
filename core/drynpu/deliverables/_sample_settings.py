"""What sample.json says about the collection, for the readers of records that do not say it themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drynpu._errors import OutputError, RawFormatError
from drynpu.deliverables.load_context import LoadContext
from drynpu.tables._sides import DeviceSide


def sample_settings(context: LoadContext, side: DeviceSide) -> Mapping[str, Any]:
    """Return sample.json of a device, empty if it cannot be read."""
    try:
        return context.reader.sample(side.device_id)
    except (OutputError, RawFormatError):
        return {}


def event_codes(text: object) -> list[int]:
    """Return the numbers of a comma list such as ``0x8a,0x8c``; none where it is no such list."""
    try:
        return [int(code, 16) for code in str(text or "").split(",") if code.strip()]
    except ValueError:
        return []
