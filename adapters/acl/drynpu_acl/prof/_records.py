"""
The records of a subscription (pyacl_prof.md 8).

80 bytes each, little endian with natural alignment. The first field is CRC-32C of the rest: the reflected polynomial
0x82F63B78, started with all ones and not inverted at the end.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from drynpu.arrays import U8, Records

RECORD = np.dtype(
    {
        "names": [
            "signature",
            "model_id",
            "flag",
            "thread_id",
            "op_index",
            "duration_us",
            "start_us",
            "end_us",
            "execution_us",
            "cube_flops",
            "vector_flops",
            "device_id",
        ],
        "formats": ["<u4"] * 4 + ["<u8"] * 7 + ["<u4"],
        "offsets": [0, 4, 8, 12, 16, 24, 32, 40, 48, 56, 64, 72],
        "itemsize": 80,
    }
)
"""One operator; ``op_index`` is the key of its name and type, which are not in the record."""
RECORD_BYTES = RECORD.itemsize
_SIGNED_FROM = 4
_POLYNOMIAL = 0x82F63B78


def _crc_table() -> npt.NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> np.uint32(1)) ^ np.where(table & np.uint32(1), np.uint32(_POLYNOMIAL), np.uint32(0))
    # Shared by all threads.
    table.setflags(write=False)
    return table


_CRC = _crc_table()


def crc32c(data: U8) -> npt.NDArray[np.uint32]:
    """Return the checksum of every row, uint32 ``[n]``, of bytes of shape ``[n, length]``."""
    crc = np.full(len(data), 0xFFFF_FFFF, np.uint32)
    for column in data.T:
        crc = _CRC[(crc ^ column) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    return crc


def _bytes(records: Records) -> U8:
    return np.frombuffer(records.tobytes(), np.uint8).reshape(-1, RECORD_BYTES)


def signed(records: Records) -> bytes:
    """Return the bytes of records of the dtype `RECORD`, their signatures filled in and their padding zero."""
    clean = np.zeros(len(records), RECORD)
    for name in RECORD.names or ():
        clean[name] = records[name]
    clean["signature"] = crc32c(_bytes(clean)[:, _SIGNED_FROM:])
    return clean.tobytes()


def read_records(data: bytes) -> Records | None:
    """Return the records in *data*; ``None`` if their number is not whole or any of them is damaged."""
    if not data or len(data) % RECORD_BYTES:
        return None
    records = np.frombuffer(data, RECORD)
    rows = np.frombuffer(data, np.uint8).reshape(-1, RECORD_BYTES)
    good = bool((crc32c(rows[:, _SIGNED_FROM:]) == records["signature"]).all())
    return records if good else None
