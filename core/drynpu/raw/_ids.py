"""
The numbers inside the records: levels, types, functions, and the packed fields around them.

Source: cann_msprof.md 1.7, 7.2 to 7.4. Type ids that the reference leaves open (the type dictionary of a profile
gives every type its name) follow the numbering of CANN's public headers.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import numpy.typing as npt

from drynpu._errors import RawFormatError

__all__ = [
    "CONTEXT_ID_NONE",
    "EVENT_FLAG",
    "HOST_MAGIC",
    "MAX_PLAIN_STREAM_ID",
    "MODEL_ID_NONE",
    "STARS_MAGIC",
    "STREAM_DESTROYED",
    "FrameworkRecord",
    "GeTaskType",
    "Level",
    "NodeType",
    "OpRangeField",
    "RuntimeType",
    "SqeType",
    "StarsFunction",
    "TsFunction",
    "decode_stream_task",
    "encode_stream_task",
    "join_task_id",
    "pack_stars_header",
    "split_task_id",
    "unpack_stars_header",
]

HOST_MAGIC = 0x5A5A
STARS_MAGIC = 0x6BD3
EVENT_FLAG = 0xFFFF_FFFF_FFFF_FFFF
"""The ``end`` of an api_event record that is an event rather than a whole call."""
CONTEXT_ID_NONE = 0xFFFF_FFFF
MODEL_ID_NONE = 0xFFFF_FFFF
STREAM_DESTROYED = 0xFFFF
"""Flip number that says a stream was destroyed, so that its id may be used again."""
MAX_PLAIN_STREAM_ID = 2047

_BIT12, _BIT13 = 0x1000, 0x2000


class Level(enum.IntEnum):
    """Level of a host record."""

    RUNTIME = 5000
    COMMUNICATION = 5500
    NODE = 10000
    MODEL = 15000
    ACL = 20000


class NodeType(enum.IntEnum):
    """Type ids of the node level."""

    BASIC_INFO = 0
    TENSOR_INFO = 1
    FUSION_OP_INFO = 2
    CONTEXT_ID_INFO = 4
    LAUNCH = 5
    TASK_MEMORY_INFO = 6
    ATTR_INFO = 9
    HCCL_OP_INFO = 10


class RuntimeType(enum.IntEnum):
    """Type ids of the runtime level: task types lie below 800, API names begin at 1000."""

    MEMCPY_INFO = 801
    TASK_TRACK = 802
    FIRST_API = 1000


class GeTaskType(enum.IntEnum):
    """Task type of an operator in node_basic_info (AIV is shown as ``AI_VECTOR_CORE``)."""

    AI_CORE = 0
    AI_CPU = 1
    AIV = 2
    WRITE_BACK = 3
    MIX_AIC = 4
    MIX_AIV = 5
    FFTS_PLUS = 6
    DSA = 7
    DVPP = 8
    HCCL = 9
    FUSION = 10
    INVALID = 11


class SqeType(enum.IntEnum):
    """What kind of queue entry a device task is."""

    AI_CORE = 0
    AI_CPU = 1
    AIV = 2
    PLACE_HOLDER = 3
    EVENT_RECORD = 4
    EVENT_WAIT = 5
    NOTIFY_RECORD = 6
    NOTIFY_WAIT = 7
    WRITE_VALUE = 8
    SDMA = 11
    VPC = 12
    JPEGE = 13
    JPEGD = 14
    DSA = 15
    ROCCE = 16
    PCIE_DMA = 17
    HOST_CPU = 18
    CDQM = 19
    C_CORE = 20


class StarsFunction(enum.IntEnum):
    """Function field of the header that stars_soc and ffts_profile records share."""

    TASK_START = 0x00
    TASK_END = 0x01
    SUB_TASK_START = 0x22
    SUB_TASK_END = 0x23
    CONTEXT_PMU = 0x28
    BLOCK_PMU = 0x29


class TsFunction(enum.IntEnum):
    """Function byte of a ts_track record."""

    STEP_TRACE = 0x0A
    MEMCPY = 0x0B
    TASK_TYPE = 0x0C
    FLIP = 0x0E
    BLOCK_NUMBER = 0x0F


class FrameworkRecord(enum.IntEnum):
    """Record type of the TLV files in ``FRAMEWORK`` (torch_npu_profiler.md 3.7)."""

    OP_RANGE = 1
    OP_MARK = 2
    MEMORY_USAGE = 3
    PYTHON_HASH = 4
    PARAM_INFO = 5


class OpRangeField(enum.IntEnum):
    """Text fields of torch.op_range (torch_npu_profiler.md 3.7)."""

    NAME = 2
    INPUT_DTYPES = 3
    INPUT_SHAPES = 4
    INPUT_TENSORS = 5
    TENSOR_LISTS = 6
    SCALARS = 7
    CALL_STACK = 8
    MODULE_HIERARCHY = 9
    EXTRA_ARGS = 10


def pack_stars_header(
    function: npt.ArrayLike, counter: npt.ArrayLike, sqe_type: npt.ArrayLike = 0
) -> npt.NDArray[np.uint16]:
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
) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16], npt.NDArray[np.uint16]]:
    """Return function (6 bits), running counter (4 bits) and SQE type (6 bits) of each header."""
    bits: npt.NDArray[np.uint16] = np.asarray(header).astype(np.uint16)
    return np.asarray(bits & 0x3F), np.asarray(bits >> 6 & 0xF), np.asarray(bits >> 10)


def encode_stream_task(
    stream_id: npt.ArrayLike, task_id: npt.ArrayLike
) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16]]:
    """
    Return the two id fields of a device record for plain streams: ids stand as they are, no marker bit is set.

    Raises
    ------
    RawFormatError
        If a stream id is above 2047 (it would need the expanded layout) or a task id above 65535
        (it needs a batch, see `split_task_id`).
    """
    streams = _bounded("stream id", stream_id, MAX_PLAIN_STREAM_ID)
    tasks = _bounded("task id", task_id, 0xFFFF)
    return streams.astype(np.uint16), tasks.astype(np.uint16)


def decode_stream_task(
    stream_field: npt.ArrayLike, task_field: npt.ArrayLike
) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16]]:
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


def split_task_id(number: npt.ArrayLike) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16]]:
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


def join_task_id(task_id: npt.ArrayLike, batch_id: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Undo `split_task_id`."""
    return np.asarray(np.asarray(batch_id).astype(np.int64) << 16 | np.asarray(task_id).astype(np.int64))


def _bounded(what: str, values: npt.ArrayLike, largest: int) -> npt.NDArray[np.int64]:
    numbers: npt.NDArray[Any] = np.asarray(values)
    if numbers.size and (int(numbers.min()) < 0 or int(numbers.max()) > largest):
        worst = int(numbers.max()) if int(numbers.max()) > largest else int(numbers.min())
        message = f"{what} {worst} does not fit: allowed are 0 to {largest}"
        raise RawFormatError(message)
    return numbers.astype(np.int64)
