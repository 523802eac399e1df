"""
Special values of the records and the fields that hold several numbers at once.

Source: cann_msprof.md 7.2 to 7.4.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from drynpu._errors import RawFormatError
from drynpu.arrays import I64, U16, Array

HOST_MAGIC = 0x5A5A
STARS_MAGIC = 0x6BD3
EVENT_FLAG = 0xFFFF_FFFF_FFFF_FFFF
"""The ``end`` of an api_event record that is an event rather than a whole call."""
CONTEXT_ID_NONE = 0xFFFF_FFFF
MODEL_ID_NONE = 0xFFFF_FFFF
STREAM_DESTROYED = 0xFFFF
"""Flip number that says a stream was destroyed, so that its id may be used again."""
MAX_PLAIN_STREAM_ID = 2047
LAST_TASK_ID = 0xFFFF
"""After it the ids of a stream begin again."""

_BIT12, _BIT13 = 0x1000, 0x2000


def pack_stars_header(function: npt.ArrayLike, counter: npt.ArrayLike, sqe_type: npt.ArrayLike = 0) -> U16:
    """
    Pack the first field of stars_soc and ffts_profile records (cann_msprof.md 7.4).

    Parameters
    ----------
    function:
        `StarsFunction` values, 6 bits.
    counter:
        Running number of the record; its low 4 bits are kept.
    sqe_type:
        `SqeType` values, 6 bits.

    Raises
    ------
    RawFormatError
        If a function or SQE type does not fit its 6 bits.
    """
    functions = _bounded("function", function, 63)
    sqe_types = _bounded("SQE type", sqe_type, 63)
    counters = np.asarray(counter).astype(np.int64) & 0xF
    return np.asarray(functions | counters << 6 | sqe_types << 10).astype(np.uint16)


def unpack_stars_header(
    header: npt.ArrayLike,
) -> tuple[U16, U16, U16]:
    """Return function (6 bits), running counter (4 bits) and SQE type (6 bits) of each header."""
    bits: U16 = np.asarray(header).astype(np.uint16)
    return np.asarray(bits & 0x3F), np.asarray(bits >> 6 & 0xF), np.asarray(bits >> 10)


def encode_stream_task(stream_id: npt.ArrayLike, task_id: npt.ArrayLike) -> tuple[U16, U16]:
    """
    Return the two id fields of a device record for plain streams: ids stand as they are, no marker bit is set.

    Raises
    ------
    RawFormatError
        If a stream id is above 2047 (it would need the expanded layout) or a task id above 65535
        (it needs a batch, see `split_task_id`).
    """
    streams = _bounded("stream id", stream_id, MAX_PLAIN_STREAM_ID)
    tasks = _bounded("task id", task_id, LAST_TASK_ID)
    return streams.astype(np.uint16), tasks.astype(np.uint16)


def decode_stream_task(stream_field: npt.ArrayLike, task_field: npt.ArrayLike) -> tuple[U16, U16]:
    """
    Return stream and task id of device records (cann_msprof.md 7.4).

    Bit 12 of the stream field: the high three bits of the task id are kept in the stream field.
    Otherwise bit 13: the low 12 bits of the two fields are exchanged. A stream id is the rest modulo 2048.
    Expanded-spec records (bit 15) cannot be told from these without the profile's expand_stream_spec record and
    are not decoded here.
    """
    stream = np.asarray(stream_field).astype(np.uint16)
    task = np.asarray(task_field).astype(np.uint16)
    bit12 = (stream & _BIT12) != 0
    bit13 = ~bit12 & ((stream & _BIT13) != 0)
    stream_out = np.where(bit13, task & 0x0FFF, stream) % 2048
    task_out = np.where(bit12, task & 0x1FFF | stream & 0xE000, task)
    task_out = np.where(bit13, stream & 0x0FFF | task & 0xF000, task_out)
    return stream_out.astype(np.uint16), task_out.astype(np.uint16)


def split_task_id(number: npt.ArrayLike) -> tuple[U16, U16]:
    """
    Return (task_id, batch_id) of the n-th task of a stream, n from 0.

    Task ids have 16 bits; whenever they begin again the batch goes up by one and a ts_track_flip record
    (``flip_number`` = new batch, ``tick`` not after the batch's first task) tells the device side's reader.
    task_track holds both numbers itself.

    Raises
    ------
    RawFormatError
        If a number is negative or above 2**32 - 1.
    """
    numbers = _bounded("task number", number, 0xFFFF_FFFF)
    return (numbers & 0xFFFF).astype(np.uint16), (numbers >> 16).astype(np.uint16)


def join_task_id(task_id: npt.ArrayLike, batch_id: npt.ArrayLike) -> I64:
    """Undo `split_task_id`."""
    return np.asarray(np.asarray(batch_id).astype(np.int64) << 16 | np.asarray(task_id).astype(np.int64))


def _bounded(what: str, values: npt.ArrayLike, largest: int) -> I64:
    numbers: Array = np.asarray(values)
    if numbers.size and (int(numbers.min()) < 0 or int(numbers.max()) > largest):
        worst = int(numbers.max()) if int(numbers.max()) > largest else int(numbers.min())
        message = f"{what} {worst} does not fit: allowed are 0 to {largest}"
        raise RawFormatError(message)
    return numbers.astype(np.int64)
