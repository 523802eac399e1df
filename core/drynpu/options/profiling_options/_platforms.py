"""Platforms as the option table names them: by the text of a class of chips."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from drynpu.options.profiling_options._chips import ChipClass, ChipFamily


def chip_classes(
    platforms: Collection[Any] | None = None, not_platforms: Collection[Any] | None = None
) -> frozenset[ChipClass]:
    """Return the classes among *platforms*, or all but *not_platforms*; without either, all."""
    # YAML reads 310 as a number.
    if platforms is not None:
        return frozenset(ChipClass(str(name)) for name in platforms)
    return frozenset(ChipClass) - {ChipClass(str(name)) for name in not_platforms or ()}


def chip_families(
    platforms: Collection[Any] | None = None, not_platforms: Collection[Any] | None = None
) -> frozenset[ChipFamily] | None:
    """Return the families of `chip_classes`; ``None`` for all."""
    if platforms is None and not_platforms is None:
        return None
    return frozenset(member.family for member in chip_classes(platforms, not_platforms))
