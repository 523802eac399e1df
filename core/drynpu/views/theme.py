"""How numbers look, the same wherever they are shown: units and decimals."""

from __future__ import annotations

from drynpu.writers.number_text import UNKNOWN


def time_text(time_us: float | None) -> str:
    """Return a time with the unit that leaves one to four digits before the point: ``12.35 ms``."""
    if time_us is None:
        return UNKNOWN
    for limit, unit, factor in ((1e3, "us", 1.0), (1e6, "ms", 1e3), (6e7, "s", 1e6)):
        if abs(time_us) < limit:
            return f"{time_us / factor:.{_decimals(time_us / factor)}f} {unit}"
    return f"{time_us / 6e7:.1f} min"


def size_text(size_bytes: float | None) -> str:
    """Return a size in binary units: ``28.8 MiB``."""
    if size_bytes is None:
        return UNKNOWN
    value = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.{_decimals(value)}f} {unit}"
        value /= 1024
    return f"{value:.{_decimals(value)}f} TiB"


def share_text(share: float | None) -> str:
    """Return a share of 0 to 1 in per cent: ``12.3 %``."""
    return UNKNOWN if share is None else f"{share * 100:.1f} %"


def count_text(count: int | None) -> str:
    """Return a count with thin spaces between thousands, as the rest of the page has them."""
    return UNKNOWN if count is None else f"{count:,}".replace(",", "\u202f")


def _decimals(value: float) -> int:
    """Return how many decimals give about four digits."""
    size = abs(value)
    return 3 if size < 1 else 2 if size < 100 else 1
