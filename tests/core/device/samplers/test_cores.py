"""What each core counted: kernels dealt out block by block, and read at times."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drynpu.device.samplers.cores import block_shares, core_counts


@given(
    st.lists(st.integers(0, 2**50), min_size=1, max_size=4),
    st.integers(1, 70_000),
    st.integers(1, 64),
)
def test_blocks_are_dealt_out_without_loss(total: list[int], blocks: int, cores: int) -> None:
    shares = block_shares(np.array(total), blocks, cores)
    assert shares.sum(axis=0).tolist() == total
    assert (shares >= 0).all()
    assert not shares[blocks:].any()


KERNELS = st.lists(
    st.tuples(st.integers(0, 900), st.integers(1, 300), st.integers(0, 50), st.integers(0, 10**9)), max_size=12
)


@given(KERNELS, st.integers(1, 30), st.lists(st.integers(0, 1200), min_size=1, max_size=9))
def test_samples_add_up_to_what_kernels_counted(
    kernels: list[tuple[int, int, int, int]], cores: int, times: list[int]
) -> None:
    start, length, blocks, counts = (np.array([kernel[i] for kernel in kernels], np.int64) for i in range(4))
    edges = np.array([*sorted(times), 1201])
    found = core_counts(start, start + length, blocks, counts[:, None], cores=cores, times_ns=edges)
    assert found.shape == (len(edges), cores, 1)
    assert (found >= 0).all()
    assert found.sum() == counts[blocks > 0].sum()
    twice = core_counts(start, start + length, blocks, counts[:, None], cores=cores, times_ns=edges[-1:])
    assert (found.sum(axis=0) == twice.sum(axis=0)).all()


def test_blocks_go_to_cores_in_turn_and_the_rest_to_later_blocks() -> None:
    """Seven blocks on three cores: 3, 2 and 2. Of 24 counts each block has 3; the last three have one more."""
    assert block_shares(np.array([21, 24]), 7, 3).tolist() == [[9, 10], [6, 7], [6, 7]]
    assert block_shares(np.array([10]), 2, 4).tolist() == [[5], [5], [0], [0]]


def test_counters_rise_evenly_while_kernels_run() -> None:
    """A kernel of one block from 100 to 200 and one of four from 150 to 350, on two cores, two counters."""
    found = core_counts(
        [100, 150],
        [200, 350],
        np.array([1, 4]),
        np.array([[1000, 0], [800, 40]]),
        cores=2,
        times_ns=[100, 150, 250, 400],
    )
    assert found[:, 0].tolist() == [[0, 0], [500, 0], [500 + 200, 10], [200, 10]]
    assert found[:, 1].tolist() == [[0, 0], [0, 0], [200, 10], [200, 10]]


def test_a_reading_is_the_nearest_whole_count() -> None:
    read = core_counts([0], [300], np.array([1]), np.array([[1000]]), cores=1, times_ns=[100, 200, 300])
    assert read.ravel().tolist() == [333, 334, 333]
