"""Device memory accounting."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drynpu.device import BEST_FIT_POOL, account, block_bytes, pair


def test_blocks_are_rounded_as_measured_on_the_device() -> None:
    # Sizes in KiB of genuine operator_memory rows: 16 KiB -> 16.5, 32 KiB -> 32.5, a scalar -> 0.5.
    assert (block_bytes(np.array([16 << 10, 32 << 10, 4])) / 1024).tolist() == [16.5, 32.5, 0.5]


@st.composite
def allocations(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Addresses and signed sizes in time order: every release follows its allocation, addresses are used again."""
    live: dict[int, int] = {}
    addresses, sizes = [], []
    for _ in range(draw(st.integers(0, 40))):
        if live and draw(st.booleans()):
            address = draw(st.sampled_from(sorted(live)))
            sizes.append(-live.pop(address))
        else:
            address = draw(st.sampled_from([a for a in range(1, 12) if a not in live] or [99]))
            if address == 99:
                continue
            live[address] = draw(st.integers(1, 8 << 20))
            sizes.append(live[address])
        addresses.append(address)
    return np.array(addresses, np.uint64), np.array(sizes, np.int64)


@given(allocations(), st.integers(0, 1 << 24))
def test_totals_add_up(case: tuple[np.ndarray, np.ndarray], before: int) -> None:
    address, size = case
    times = np.arange(len(size), dtype=np.int64)
    timeline = account(times, times, address, size, live_before_bytes=before)
    held = before + np.cumsum(np.sign(size) * block_bytes(np.abs(size)))
    assert timeline.allocated_bytes.tolist() == held.tolist()
    assert (timeline.reserved_bytes >= timeline.allocated_bytes).all()
    assert (np.diff(timeline.reserved_bytes) >= 0).all()


def test_the_pool_of_mindspore_grows_by_gigabytes_and_holds_parameters_apart() -> None:
    gib = 1 << 30
    size = np.array([64, gib, -64, -gib, 512], np.int64)
    address = np.array([1, 2, 1, 2, 1], np.uint64)
    times = np.arange(len(size), dtype=np.int64)
    timeline = account(times, times, address, size, live_before_bytes=gib + 512, pool=BEST_FIT_POOL)
    assert timeline.reserved_before_bytes == 2 * gib
    # 512 bytes beside a gigabyte, which as a block is 512 more, need a second segment; nothing is given back.
    assert (timeline.reserved_bytes // gib).tolist() == [3, 4, 4, 4, 4]
    assert timeline.allocated_bytes.tolist()[-1] == gib + 512 + 1024


@given(allocations())
def test_pairs_are_mutual_and_name_one_life(case: tuple[np.ndarray, np.ndarray]) -> None:
    address, size = case
    partner = pair(address, size)
    open_at: dict[int, int] = {}
    expected = np.full(len(size), -1)
    for row, (where, signed) in enumerate(zip(address.tolist(), size.tolist(), strict=True)):
        if signed > 0:
            open_at[where] = row
        else:
            expected[row], expected[open_at[where]] = open_at[where], row
    assert partner.tolist() == expected.tolist()
