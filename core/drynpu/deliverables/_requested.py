"""Which of an option's deliverables a chip has, and a line for each that is requested but not modelled."""

from __future__ import annotations

from collections.abc import Collection

from drynpu._errors import OptionError
from drynpu.deliverables.record_context import RecordContext
from drynpu.options import known_deliverables
from drynpu.platforms import resolve_series


def _series(context: RecordContext) -> str:
    try:
        return resolve_series(context.chip.name)
    except OptionError:  # a chip that only the user has, known by its platform
        return resolve_series(context.chip.platform_version)


def requested_deliverables(context: RecordContext, option: str) -> frozenset[str]:
    """Return the names of the files and layers that *option* leaves on the chip; none if it is off."""
    here = _series(context)
    rows = (row for row in known_deliverables() if row.option == option and here in row.chips)
    return frozenset(row.name for row in rows if row.when(context.request))


def unmodelled(names: Collection[str], reasons: dict[str, str]) -> tuple[str, ...]:
    """Return a readable line for each of *names* that has a reason for not being written."""
    return tuple(f"{name} is not written: {reasons[name]}" for name in sorted(names) if name in reasons)
