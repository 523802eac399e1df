"""Device memory: every pointer is checked, nothing is reached that was not asked for."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu_acl.runtime import Memory

MIB = 2**20
H2H, H2D, D2H, D2D, DEFAULT = range(5)


@pytest.fixture
def memory():
    return Memory(MIB)


def test_what_is_copied_there_and_back_is_the_same(memory):
    payload, back = bytes(range(200)), bytes(200)
    device, code = memory.allocate(200, 0)
    assert code == 0
    assert memory.copy(device, 200, memory.lend(payload), 200, H2D) == 0
    assert memory.copy(memory.lend(back), 200, device, 200, D2H) == 0
    assert back == payload


@pytest.mark.parametrize(
    ("target_off", "room", "source_off", "count", "code"),
    [
        (0, 64, 0, 64, 0),
        (10, 54, 0, 54, 0),
        (0, 64, 0, 65, 100000),  # more than the caller says there is room for
        (0, 1000, 0, 65, 107000),  # more than there is
        (1, 64, 0, 64, 107000),
        (0, 64, 1, 64, 107000),
        (-1, 64, 0, 8, 107000),
    ],
)
def test_copies_beyond_a_block_give_codes(memory, target_off, room, source_off, count, code):
    (target, _), (source, _) = memory.allocate(64, 0), memory.allocate(64, 0)
    assert memory.copy(target + target_off, room, source + source_off, count, D2D) == code


def test_null_pointers_and_unknown_kinds_are_invalid_parameters(memory):
    device, _ = memory.allocate(64, 0)
    assert memory.copy(0, 64, device, 64, D2D) == 100000
    assert memory.copy(device, 64, 0, 64, D2D) == 100000
    assert memory.copy(device, 64, device, 64, 5) == 100000
    assert memory.fill(0, 64, 0, 64) == 100000


def test_the_kind_has_to_fit_where_both_ends_lie(memory):
    (device, _), (host, _) = memory.allocate(64, 0), memory.allocate(64, None)
    assert [memory.copy(device, 64, host, 64, kind) for kind in range(5)] == [107000, 0, 107000, 107000, 0]
    assert memory.kind(device, host, DEFAULT) == H2D
    assert memory.kind(host, device, DEFAULT) == D2H


def test_freed_memory_is_gone(memory):
    device, _ = memory.allocate(64, 0)
    assert memory.free(device + 8, on_device=True) == 107000
    assert memory.free(device, on_device=False) == 107000
    assert memory.free(device, on_device=True) == 0
    assert memory.free(device, on_device=True) == 107000
    assert memory.free(0, on_device=True) == 100000
    assert memory.read(device, 1) is None
    assert memory.fill(device, 64, 0, 64) == 107000


def test_a_device_has_as_much_memory_as_its_chip(memory):
    first, code = memory.allocate(MIB - 100, 0)
    assert code == 0
    assert memory.allocate(101, 0) == (0, 207001)
    assert memory.allocate(101, 1)[1] == 0
    assert memory.used_bytes(0) == MIB - 100
    memory.free(first, on_device=True)
    assert memory.allocate(MIB, 0)[1] == 0
    assert memory.allocate(0, 0) == (0, 100000)
    assert memory.allocate(2**63, None) == (0, 207001)


def test_a_view_outlives_its_block(memory):
    device, _ = memory.allocate(4096, 0)
    view = memory.view(device, 4096)
    memory.fill(device, 4096, 7, 4096)
    memory.free(device, on_device=True)
    gc.collect()
    assert view.sum() == 7 * 4096


def test_lent_objects_are_reached_as_long_as_the_program_keeps_them(memory):
    kept = [bytes([n % 256]) * 100 for n in range(50)]
    pointers = [memory.lend(value) for value in kept]
    for n in range(2000):
        memory.lend(n.to_bytes(2, "little") * 50)  # dropped at once
    assert [memory.read(pointer, 100) for pointer in pointers] == kept
    assert len(memory._lent) < 1000


def test_a_temporary_object_can_still_be_read(memory):
    pointer = memory.lend(b"temporary" * 10)
    assert memory.read(pointer, 90) == b"temporary" * 10


def test_objects_of_the_interpreter_are_not_written(memory):
    device, _ = memory.allocate(1, 0)
    memory.fill(device, 1, 65, 1)
    assert memory.copy(memory.lend(b"\0"), 1, device, 1, D2H) == 107000
    assert bytes(1) == b"\0"
    locked = np.zeros(4, np.uint8)
    locked.flags.writeable = False
    assert memory.fill(memory.lend(locked), 4, 1, 4) == 107000


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), max_size=30))
def test_only_ranges_inside_one_block_are_found(ranges):
    memory = Memory(MIB)
    starts = [memory.allocate(64, 0)[0] for _ in range(3)]
    for offset, size in ranges:
        inside = any(start <= starts[0] + offset and starts[0] + offset + size <= start + 64 for start in starts)
        assert (memory.find(starts[0] + offset, size) is not None) == inside


@pytest.mark.parametrize(
    ("view", "behind"),
    [
        (lambda a: a, 48),
        (lambda a: a.T, 48),
        (lambda a: a[::-1], 24),
        (lambda a: a.reshape(-1)[::-1], 8),
        (lambda a: np.broadcast_to(a[0, :1], (1000, 1)), 8),
        (lambda a: a[:0], 0),
    ],
)
def test_of_a_view_no_more_is_lent_than_lies_behind_its_address(memory, view, behind):
    array = view(np.arange(6, dtype=np.int64).reshape(2, 3))
    pointer = memory.lend(array)
    assert memory.read(pointer, behind) is not None
    assert memory.read(pointer, behind + 1) is None
