"""TLV files that may be absent."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from drynpu.raw import TlvRecords, read_tlv


def read_tlv_file(path: Path, dtype: np.dtype[np.void], notes: list[str]) -> TlvRecords | None:
    """Return the records of a file, ``None`` where it is absent; what was tolerated is added to *notes*."""
    if not path.is_file():
        return None
    records = read_tlv(path, dtype)
    notes.extend(records.notes)
    return records
