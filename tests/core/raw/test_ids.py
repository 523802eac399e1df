"""Packed fields: the STARS header, stream and task ids, batches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu import RawFormatError
from drynpu.raw import (
    CONTEXT_ID_NONE,
    EVENT_FLAG,
    HOST_MAGIC,
    MODEL_ID_NONE,
    STARS_MAGIC,
    STREAM_DESTROYED,
    decode_stream_task,
    encode_stream_task,
    join_task_id,
    pack_stars_header,
    split_task_id,
    unpack_stars_header,
)


def test_special_values_are_those_of_the_page() -> None:
    """cann_msprof.md 7.3: magics, and all ones of 64, 32 and 16 bits for an event, for no graph and a dead stream."""
    assert (HOST_MAGIC, STARS_MAGIC) == (0x5A5A, 0x6BD3)
    assert bytes([EVENT_FLAG >> 8 * at & 0xFF for at in range(8)]) == b"\xff" * 8
    assert EVENT_FLAG == 18446744073709551615
    assert CONTEXT_ID_NONE == MODEL_ID_NONE == 4294967295  # 4.2 "Model ID"
    assert STREAM_DESTROYED == 65535


@given(st.lists(st.tuples(st.integers(0, 63), st.integers(0, 15), st.integers(0, 63)), min_size=1))
def test_header_round_trip(rows: list[tuple[int, int, int]]) -> None:
    columns = np.array(rows).T
    header = pack_stars_header(*columns)
    assert header.dtype == np.uint16
    assert np.array_equal(np.stack(unpack_stars_header(header)), columns)


def test_header_bit_positions() -> None:
    assert pack_stars_header(0x3F, 0, 0) == 0x003F
    assert pack_stars_header(0, 0xF, 0) == 0x03C0
    assert pack_stars_header(0, 0, 0x3F) == 0xFC00
    assert pack_stars_header(0x22, 5) == 0x0162  # no SQE type is type 0
    assert pack_stars_header(0, 17, 0) == 1 << 6  # the counter runs on, its low four bits stand


def test_header_refuses_what_does_not_fit() -> None:
    with pytest.raises(RawFormatError, match=r"function 64 .* 0 to 63"):
        pack_stars_header(64, 0, 0)
    with pytest.raises(RawFormatError, match="SQE type -1"):
        pack_stars_header(0, 0, [3, -1])
    with pytest.raises(RawFormatError, match=r"SQE type 64 .* 0 to 63"):
        pack_stars_header(0, 0, 64)


@given(st.lists(st.tuples(st.integers(0, 2047), st.integers(0, 65535)), min_size=1))
def test_plain_stream_ids_round_trip(rows: list[tuple[int, int]]) -> None:
    streams, tasks = np.array(rows).T
    decoded = decode_stream_task(*encode_stream_task(streams, tasks))
    assert np.array_equal(decoded[0], streams)
    assert np.array_equal(decoded[1], tasks)


def test_decoding_of_marked_fields() -> None:
    # bit 12: high task bits stand in the stream field; bit 13: low 12 bits exchanged; neither: modulo 2048.
    streams, tasks = decode_stream_task([0x7005, 0x2123, 0x0805, 0x2122], [0xE00A, 0x5007, 9, 0xA007])
    assert streams.tolist() == [0x7005 % 2048, 0x007, 5, 0x007]
    assert tasks.tolist() == [0x600A, 0x5123, 9, 0xA122]


def test_stream_ids_above_the_plain_range_are_refused() -> None:
    with pytest.raises(RawFormatError, match=r"stream id 2048 .* 0 to 2047"):
        encode_stream_task([1, 2048], [0, 0])
    with pytest.raises(RawFormatError, match="task id 65536"):
        encode_stream_task([1], [65536])


@given(st.lists(st.integers(0, 2**32 - 1)))
def test_task_numbers_split_into_id_and_batch(numbers: list[int]) -> None:
    task_id, batch = split_task_id(np.array(numbers, np.int64))
    assert join_task_id(task_id, batch).tolist() == numbers
    assert batch.tolist() == [n // 65536 for n in numbers]


def test_task_numbers_have_32_bits() -> None:
    with pytest.raises(RawFormatError, match="task number 4294967296"):
        split_task_id([2**32])
