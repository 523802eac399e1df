"""How a record layout is declared."""

from __future__ import annotations

import numpy as np

__all__ = ["Spec", "behind_header", "layout"]

Spec = tuple[str, object, int]
"""Name, format and offset of a field."""


def layout(size: int, *fields: Spec) -> np.dtype[np.void]:
    """Describe a packed record of ``size`` bytes by (name, format, offset) triples."""
    names, formats, offsets = zip(*fields, strict=True)
    return np.dtype({"names": list(names), "formats": list(formats), "offsets": list(offsets), "itemsize": size})


def behind_header(size: int, *fields: Spec) -> np.dtype[np.void]:
    """Describe a record behind the 24-byte header that compact (64 B) and additional (256 B) information share."""
    header: tuple[Spec, ...] = (
        ("magic", "<u2", 0),
        ("level", "<u2", 2),
        ("type", "<u4", 4),
        ("thread_id", "<u4", 8),
        ("data_len", "<u4", 12),
        ("timestamp", "<u8", 16),
    )
    return layout(size, *header, *fields)
