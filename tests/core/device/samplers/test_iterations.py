"""Key points of iterations against a loop over the kernels."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drynpu.device.samplers.iterations import key_points, within

KERNEL = st.tuples(st.integers(-1, 4), st.integers(0, 1000), st.integers(1, 100), st.booleans(), st.booleans())


@given(st.lists(KERNEL, max_size=30))
def test_points_are_those_of_a_loop(kernels: list[tuple[int, int, int, bool, bool]]) -> None:
    columns = np.array([kernel[:3] for kernel in kernels], np.int64).reshape(-1, 3).T
    iteration, start, length = columns
    flags = np.array([kernel[3:] for kernel in kernels], bool).reshape(-1, 2).T
    points = key_points(iteration, start, start + length, forward=flags[0], backward=flags[1])
    last_end = -1
    expected = []
    for number in sorted({kernel[0] for kernel in kernels} - {-1}):
        own = [kernel for kernel in kernels if kernel[0] == number]
        end = max(last_end, max(begin + ticks for _, begin, ticks, _, _ in own))
        begin = max(last_end, min(kernel[1] for kernel in own))
        forward = [kernel[1] for kernel in own if kernel[3]]
        backward = [kernel[1] + kernel[2] for kernel in own if kernel[4]]
        expected.append(
            (
                number,
                begin,
                min(max(min(forward), begin), end) if forward else -1,
                min(max(max(backward), begin), end) if backward else -1,
                end,
            )
        )
        last_end = end
    found = zip(points.iteration, points.start, points.forward, points.backward, points.end, strict=True)
    assert [tuple(map(int, row)) for row in found] == expected


def test_graphs_follow_themselves_only() -> None:
    points = key_points(
        np.array([0, 1, 2]),
        np.array([0, 10, 20]),
        np.array([100, 15, 30]),
        forward=np.zeros(3, bool),
        backward=np.zeros(3, bool),
        graph=[0, 1, 0],
    )
    assert points.start.tolist() == [0, 10, 100]
    assert points.end.tolist() == [100, 15, 100]


def test_a_time_lies_in_the_half_open_interval_around_it() -> None:
    starts, ends = np.array([0, 10, 30]), np.array([10, 20, 40])
    assert within(np.array([-1, 0, 9, 10, 20, 35, 40]), starts, ends).tolist() == [-1, 0, 0, 1, -1, 2, -1]
    assert within(np.array([5]), starts[:0], ends[:0]).tolist() == [-1]
